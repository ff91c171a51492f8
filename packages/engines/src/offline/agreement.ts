import { joinWords, type TextWord } from './text-words.js'

/** A word, and whether two readings of its audio had it. */
export interface AgreedWord extends TextWord {
  readonly isAgreed: boolean
}

/** What a partial shows: the first `stableLength` UTF-16 code units of the text will not change. */
export interface StableText {
  readonly text: string
  readonly stableLength: number
}

/**
 * The words of a segment that is read again and again. Words that two readings in a row have in common are committed
 * (LocalAgreement-2, Macháček et al. 2023): they begin all later partials of the segment, as they were written then,
 * and stay in its result. The last word of a reading is not, because its end may not have been spoken, nor its
 * punctuation be known.
 */
export class Agreement {
  #committed: readonly TextWord[]
  /** What the last reading had behind the committed words. */
  #rest: readonly TextWord[] = []
  #isCompared = false

  /** @param committed words that the segment begins with in any case */
  constructor(committed: readonly TextWord[] = []) {
    this.#committed = committed
  }

  /** How many words are committed. */
  get size(): number {
    return this.#committed.length
  }

  /** Whether there was a reading that others are compared with. */
  get isCompared(): boolean {
    return this.#isCompared || this.#committed.length > 0
  }

  /** Takes a reading of the audio so far; one that is not counted is only shown. */
  add(words: readonly TextWord[], isCounted = true): StableText {
    const rest = words.slice(alignEnd(this.#committed, words).after)
    const common = isCounted ? commonLength(rest, this.#rest) : 0
    const agreed = Math.min(common, Math.max(rest.length - 1, 0))
    this.#committed = [...this.#committed, ...rest.slice(0, agreed)]
    if (isCounted) {
      this.#rest = rest.slice(agreed)
      this.#isCompared = true
    }
    const text = joinWords([...this.#committed, ...rest.slice(agreed)])
    return { text, stableLength: joinWords(this.#committed).length }
  }

  /**
   * Takes the reading of all audio. Returns its words, with the committed words in place of those that differ from
   * them. What it has between committed words is added: the readings before have missed it.
   */
  finish(words: readonly TextWord[]): readonly AgreedWord[] {
    const alignment = alignEnd(this.#committed, words)
    return [...merged(this.#committed, words, alignment), ...this.#withAgreement(words.slice(alignment.after))]
  }

  /**
   * Takes the reading of the audio up to a cut. Returns its words as `finish` does, and what the rest of the segment
   * begins with: the committed words behind the cut, with times that begin there.
   */
  cut(words: readonly TextWord[], at: number): { readonly words: readonly AgreedWord[]; readonly next: Agreement } {
    const alignment = alignEnd(this.#committed, words, 'cut')
    const isWhole = alignment.before === this.#committed.length
    return {
      words: [
        ...merged(this.#committed, words, alignment),
        ...(isWhole ? this.#withAgreement(words.slice(alignment.after)) : []),
      ],
      next: new Agreement(this.#committed.slice(alignment.before).map((word) => movedBy(word, at))),
    }
  }

  #withAgreement(rest: readonly TextWord[]): readonly AgreedWord[] {
    const common = commonLength(rest, this.#rest)
    return rest.map((word, index) => ({ ...word, isAgreed: index < common }))
  }
}

const movedBy = (word: TextWord, samples: number): TextWord =>
  word.span === undefined
    ? word
    : { ...word, span: { from: Math.max(word.span.from - samples, 0), to: Math.max(word.span.to - samples, 0) } }

const commonLength = (words: readonly TextWord[], others: readonly TextWord[]): number => {
  const end = words.findIndex(({ key }, index) => key !== others[index]?.key)
  return end < 0 ? words.length : end
}

/** The words of a reading up to the end of an alignment, and committed words where it has others. */
const merged = (
  committed: readonly TextWord[],
  words: readonly TextWord[],
  { before, after, pairs }: Alignment,
): readonly AgreedWord[] => {
  const result: AgreedWord[] = []
  let [i, j] = [0, 0]
  const addUntil = (pairBefore: number, pairAfter: number): void => {
    const isKept = pairBefore > i
    const between = isKept ? committed.slice(i, pairBefore) : words.slice(j, pairAfter)
    result.push(...between.map((word) => ({ ...word, isAgreed: isKept })))
  }
  for (const [pairBefore, pairAfter] of pairs) {
    addUntil(pairBefore, pairAfter)
    result.push(...words.slice(pairAfter, pairAfter + 1).map((word) => ({ ...word, isAgreed: true })))
    i = pairBefore + 1
    j = pairAfter + 1
  }
  addUntil(before, after)
  return result
}

interface Alignment {
  /** How many of the committed words, and of the words of the reading, stand for the same audio. */
  readonly before: number
  readonly after: number
  /** The indexes of equal words, in order. */
  readonly pairs: readonly (readonly [number, number])[]
}

/**
 * Aligns committed words with a reading, by the fewest words that differ. All of the committed ones are in the reading,
 * which may continue behind them; if it was `cut`, they may continue behind it.
 */
const alignEnd = (
  committed: readonly TextWord[],
  words: readonly TextWord[],
  end: 'whole' | 'cut' = 'whole',
): Alignment => {
  const rows = committed.length + 1
  const columns = words.length + 1
  const cost = Array.from({ length: rows }, (_row, i) =>
    Array.from({ length: columns }, (_cell, j) => (i === 0 ? j : j === 0 ? i : 0)),
  )
  const at = (i: number, j: number): number => cost[i]?.[j] ?? Infinity
  const isSame = (i: number, j: number): boolean => committed[i - 1]?.key === words[j - 1]?.key
  for (let i = 1; i < rows; i += 1) {
    const row = cost[i] ?? []
    for (let j = 1; j < columns; j += 1) {
      row[j] = Math.min(at(i - 1, j - 1) + (isSame(i, j) ? 0 : 1), at(i - 1, j) + 1, at(i, j - 1) + 1)
    }
  }
  let best = { before: committed.length, after: 0 }
  const consider = (before: number, after: number): void => {
    const difference = at(before, after) - at(best.before, best.after)
    // Of equal ones the one that takes as many words of both.
    if (difference < 0 || (difference === 0 && Math.abs(before - after) < Math.abs(best.before - best.after)))
      best = { before, after }
  }
  for (let j = 1; j < columns; j += 1) consider(committed.length, j)
  if (end === 'cut') for (let i = 0; i < committed.length; i += 1) consider(i, words.length)
  return { ...best, pairs: pairsOf(best.before, best.after, at, isSame) }
}

const pairsOf = (
  before: number,
  after: number,
  at: (i: number, j: number) => number,
  isSame: (i: number, j: number) => boolean,
): readonly (readonly [number, number])[] => {
  const pairs: [number, number][] = []
  let [i, j] = [before, after]
  while (i > 0 && j > 0) {
    const step = isSame(i, j) ? 0 : 1
    if (at(i, j) === at(i - 1, j - 1) + step) {
      if (step === 0) pairs.unshift([i - 1, j - 1])
      i -= 1
      j -= 1
    } else if (at(i, j) === at(i - 1, j) + 1) i -= 1
    else j -= 1
  }
  return pairs
}
