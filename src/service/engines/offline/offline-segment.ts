import { isSpeechError, SpeechError } from '../../../errors/speech-error.js'
import type { EngineSegment, SegmentListener } from '../engine.js'
import type { Reader, Reading } from './reader.js'

export interface OfflineSegmentOptions {
  readonly startMs: number
  readonly listener: SegmentListener
  readonly read: Reader['read']
  readonly sampleRateHz: number
  readonly language?: string | undefined
  readonly phrases?: readonly string[] | undefined
}

/** One segment, which is read at its end. */
export class OfflineSegment implements EngineSegment {
  readonly #options: OfflineSegmentOptions
  readonly #abort = new AbortController()
  readonly #chunks: Int16Array[] = []

  constructor(options: OfflineSegmentOptions) {
    this.#options = options
  }

  write(samples: Int16Array): void {
    this.#chunks.push(samples)
    this.#options.listener.progress(samples.length)
  }

  close(endMs: number): void {
    const samples = joined(this.#chunks)
    const { read, listener, language, phrases } = this.#options
    read({ samples, purpose: 'final', language, phrases }, this.#abort.signal).then(
      (reading) => {
        if (!this.#abort.signal.aborted) this.#decide(reading, endMs)
      },
      (error: unknown) => {
        if (!this.#abort.signal.aborted) listener.failed(failure(error))
      },
    )
  }

  abort(): void {
    this.#abort.abort()
  }

  #decide({ text, confidence, words = [] }: Reading, endMs: number): void {
    const { startMs, listener } = this.#options
    const clip = (ms: number): number => Math.min(startMs + Math.max(ms, 0), endMs)
    listener.decided(
      words.map((word) => ({
        text: word.text,
        startMs: clip(word.startMs),
        endMs: clip(word.endMs),
        confidence: word.confidence ?? confidence ?? 0,
      })),
      { text, ...(confidence !== undefined && { confidence }) },
    )
  }
}

const joined = (chunks: readonly Int16Array[]): Int16Array => {
  const all = new Int16Array(chunks.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}

const failure = (error: unknown): SpeechError =>
  isSpeechError(error)
    ? error
    : new SpeechError('engine-failed', 'The recognition engine failed; try again.', { cause: error })
