import type { TranscriptDocument, TranscriptLine } from '../../src/state/transcript.js'

/** A line whose words have half a second each, from `startMs` on; a word can be of the service or estimated. */
export const lineOf = (id: number, channel: number, text: string, startMs: number): TranscriptLine => {
  const words = text.split(' ').map((word, at) => ({
    text: word,
    startMs: startMs + at * 500,
    endMs: startMs + (at + 1) * 500,
    times: 'service' as const,
  }))
  return { id, channel, startMs, endMs: startMs + words.length * 500, status: 'recognized', words, starts: [0] }
}

export const documentOf = (fields: Partial<TranscriptDocument> = {}): TranscriptDocument => ({
  id: 'call',
  title: 'Call.wav',
  origin: 'file',
  startedAtMs: Date.UTC(2026, 4, 1, 9),
  durationMs: 10_000,
  model: 'any English speech',
  speakers: ['Agent', 'Customer'],
  lines: [lineOf(1, 0, 'Good morning, how can I help?', 500), lineOf(2, 1, 'Hello there', 4000)],
  ...fields,
})
