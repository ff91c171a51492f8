import type { StudioState } from './state.js'

/** A word of the definitive text: the `id` of its turn, and its index there. */
export interface WordAt {
  readonly turn: number
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

type Turns = Pick<StudioState, 'turns'>

/** The word that is spoken at a position. */
export const wordAtMs = (state: Turns, ms: number): WordAt | undefined =>
  wordsInOrder(state).find(({ startMs, endMs }) => startMs <= ms && ms < endMs)

/** The next word in time, or the previous one for `step` -1; without a current word the first or the last. */
export const neighborOf = (
  state: Turns,
  current: WordAt | undefined,
  step: 1 | -1,
): (WordAt & { readonly startMs: number }) | undefined => {
  const all = wordsInOrder(state)
  const at = all.findIndex(({ turn, word }) => turn === current?.turn && word === current.word)
  return all[at === -1 ? (step === 1 ? 0 : all.length - 1) : at + step]
}

/** The audio in which a word is spoken. */
export const audioOf = ({ turns }: Turns, { turn: id, word: index }: WordAt): AudioPart | undefined => {
  const turn = turns.find((other) => other.id === id)
  const word = turn?.words[index]
  if (turn === undefined || word === undefined) return undefined
  const marginMs = word.times === 'estimate' ? estimateMarginMs : 0
  return { channel: turn.channel, fromMs: Math.max(0, word.startMs - marginMs), toMs: word.endMs + marginMs }
}

const wordsInOrder = ({ turns }: Turns) =>
  turns
    .flatMap(({ id, words }) => words.map(({ startMs, endMs }, word) => ({ turn: id, word, startMs, endMs })))
    .sort((a, b) => a.startMs - b.startMs)
