import type { TranscriptDocument, TranscriptLine } from './transcript.js'

/** A word of the definitive text: the `id` of its line, and its index there. */
export interface WordAt {
  readonly line: number
  readonly word: number
}

/** A part of the audio of a channel. */
export interface AudioPart {
  readonly channel: number
  readonly fromMs: number
  readonly toMs: number
}

/** Estimated times of words are a little late or early. */
const estimateMarginMs = 120

type Lines = Pick<TranscriptDocument, 'lines'>

/** The word that is spoken at a position: of several the one that began last. */
export const wordAtMs = ({ lines }: Lines, ms: number): WordAt | undefined => {
  const all = wordsInOrder(lines)
  let [from, to] = [0, all.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((all[middle]?.startMs ?? 0) <= ms) from = middle + 1
    else to = middle
  }
  // Words of speakers that interrupt each other.
  for (let at = from - 1; at >= Math.max(0, from - maxOverlap); at -= 1) {
    const word = all[at]
    if (word !== undefined && ms < word.endMs) return word
  }
  return undefined
}
const maxOverlap = 32

/** The next word in time, or the previous one for `step` -1; without a current word the first or the last. */
export const neighborOf = (
  state: Lines,
  current: WordAt | undefined,
  step: 1 | -1,
): (WordAt & { readonly startMs: number }) | undefined => {
  const all = wordsInOrder(state.lines)
  const at = all.findIndex(({ line, word }) => line === current?.line && word === current.word)
  return all[at === -1 ? (step === 1 ? 0 : all.length - 1) : at + step]
}

/** The audio in which a word is spoken. */
export const audioOf = ({ lines }: Lines, { line: id, word: index }: WordAt): AudioPart | undefined => {
  const line = lines.find((other) => other.id === id)
  const word = line?.words[index]
  if (line === undefined || word === undefined) return undefined
  const marginMs = word.times === 'estimate' ? estimateMarginMs : 0
  return { channel: line.channel, fromMs: Math.max(0, word.startMs - marginMs), toMs: word.endMs + marginMs }
}

interface TimedWord extends WordAt {
  readonly startMs: number
  readonly endMs: number
}

/** Made once for each list, because the playback asks in each frame. */
const wordsInOrder = (lines: readonly TranscriptLine[]): readonly TimedWord[] => {
  const known = orders.get(lines)
  if (known !== undefined) return known
  const order = lines
    .flatMap(({ id, words }) => words.map(({ startMs, endMs }, word) => ({ line: id, word, startMs, endMs })))
    .sort((a, b) => a.startMs - b.startMs)
  orders.set(lines, order)
  return order
}
const orders = new WeakMap<readonly TranscriptLine[], readonly TimedWord[]>()
