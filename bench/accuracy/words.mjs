// How many words are read right by the engine alone and through a service over both transports, on clean and noisy
// lines; how soon after its end a sentence is decided, and how often one is cut or something is heard where nobody
// speaks.
import wordErrors from '../../packages/engines/dist/word-errors.js'
import { plusNoise, withNoise } from './noises.mjs'
import { withWays } from './ways.mjs'

const { alignWords, comparedWords, countErrors, wordErrorRate } = wordErrors

/** A clean line has noise at -60 dBFS, as a telephone has. */
const lines = {
  clean: (samples, seed) => plusNoise(samples, 'white', 30, seed),
  'without noise': (samples) => samples,
  'white noise': (samples, seed) => withNoise(samples, 'white', 20, seed),
  'pink noise': (samples, seed) => withNoise(samples, 'pink', 20, seed),
}

export const transports = ['WebSocket', 'gRPC']

/** The segments that belong to an utterance: their middle is within it, or close. */
const segmentsOf = ({ channel, fromMs, toMs }, segments) =>
  segments.filter((segment) => {
    const middleMs = (segment.startMs + segment.endMs) / 2
    return segment.channel === channel && middleMs > fromMs - 400 && middleMs < toMs + 400
  })

/** What one way made of one talk. */
const scoreTalk = ({ channels, utterances }, segments) => {
  const aligned = channels.flatMap((_samples, channel) => {
    const textOf = (items) => items.filter((item) => item.channel === channel).map(({ text }) => text)
    const inOrder = segments.toSorted((a, b) => a.startMs - b.startMs)
    return alignWords(comparedWords(textOf(utterances).join(' ')), comparedWords(textOf(inOrder).join(' ')))
  })
  const heard = utterances.map((utterance) => ({ ...utterance, segments: segmentsOf(utterance, segments) }))
  const known = new Set(heard.flatMap((utterance) => utterance.segments))
  const readRight = heard.filter(
    ({ text, segments: own }) =>
      own
        .map((item) => item.text)
        .join(' ')
        .trim() === text,
  )
  return {
    ...countErrors(aligned),
    utterances: utterances.length,
    cut: heard.filter((utterance) => utterance.segments.length > 1).length,
    unheard: heard.filter((utterance) => utterance.segments.length === 0).length,
    false: segments.filter((segment) => !known.has(segment)).length,
    // From the last sound of a sentence that was read right.
    decidedMs: readRight.map(({ toMs, segments: own }) => own.at(-1).endMs - toMs),
    receivedMs: readRight.map(({ toMs, segments: own }) => own.at(-1).atMs - toMs),
  }
}

/** The sum of counts, and all values of lists; texts are left out. */
export const sumOf = (scores) => {
  const sum = {}
  for (const [key, value] of scores.flatMap((score) => Object.entries(score))) {
    if (Array.isArray(value)) sum[key] = [...(sum[key] ?? []), ...value]
    else if (typeof value === 'number') sum[key] = (sum[key] ?? 0) + value
  }
  return sum
}

/** In points, that is hundredths of the words that were said. */
export const errorRate = (score) => 100 * wordErrorRate(score)

export const quantile = (values, share) =>
  values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * share) - 1)]

/** A row for each set, line and way: `{ set, line, way, ...score }`. */
export const measureWords = async (sets, lineCount, progress) => {
  const rows = []
  for (const set of sets) {
    await withWays(set, async (ways) => {
      for (const [line, change] of Object.entries(lines).slice(0, lineCount)) {
        const talks = set.talks.map((talk, number) => ({
          ...talk,
          channels: talk.channels.map((samples, channel) => change(samples, 10 * number + channel + 1)),
        }))
        for (const [way, read] of Object.entries(ways)) {
          const heard = await read(talks)
          rows.push({ set: set.name, line, way, ...sumOf(talks.map((talk, number) => scoreTalk(talk, heard[number]))) })
          progress(rows.at(-1))
        }
      }
    })
  }
  return rows
}

/**
 * How long after its last sound a sentence is received, of talks that are sent at the pace of speech: a row for each
 * transport.
 */
export const measurePacedDelays = (set, talkCount, progress) =>
  withWays(set, async (ways) => {
    const talks = set.talks.slice(0, talkCount)
    const rows = []
    for (const way of transports) {
      const read = ways[way]
      // Decoders are created and compiled by the first sentences.
      await read(talks.slice(0, 1))
      const heard = await read(talks, true)
      rows.push({ way, sessions: talks.length, ...sumOf(talks.map((talk, number) => scoreTalk(talk, heard[number]))) })
      progress(rows.at(-1))
    }
    return rows
  })
