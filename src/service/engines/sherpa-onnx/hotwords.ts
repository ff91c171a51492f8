import { readFileSync } from 'node:fs'
import type { PhraseFault } from '../engine.js'
import { wordFaults } from '../models/word-faults.js'
import type { SherpaConfig } from './package.js'

/** What pieces write at the beginning of a word. */
const wordStart = '\u2581'

/** The first two fields of each line: a name and a number. A number alone is that of a space. */
const readTable = (file: string): ReadonlyMap<string, number> =>
  new Map(
    readFileSync(file, 'utf8')
      .split('\n')
      .map((line): [string, number] => {
        const [name = '', value] = line.trim().split(/\s+/)
        return value === undefined ? [' ', Number(name)] : [name, Number(value)]
      }),
  )

/**
 * How the library writes phrases with the tokens of a model. It leaves out what it finds no token for and does not report it, so
 * every word is split here as the library splits it.
 */
export class Hotwords {
  readonly #unit: string | undefined
  readonly #tokens: ReadonlyMap<string, number>
  /** Pieces of words and their scores. */
  readonly #pieces: ReadonlyMap<string, number>
  readonly #maxPiece: number
  readonly #isUpperCase: boolean

  constructor({ tokens, modelingUnit, bpeVocab }: SherpaConfig['modelConfig']) {
    this.#unit = modelingUnit
    this.#tokens = readTable(tokens)
    this.#pieces = bpeVocab === undefined ? new Map<string, number>() : readTable(bpeVocab)
    this.#maxPiece = Math.max(0, ...[...this.#pieces.keys()].map(({ length }) => length))
    // Names in angle brackets, such as <unk>, are no text.
    this.#isUpperCase = ![...this.#tokens.keys()].some((token) => !token.startsWith('<') && /\p{Ll}/u.test(token))
  }

  faultsOf(phrases: readonly string[]): readonly PhraseFault[] {
    const isKnown = (word: string): boolean => this.#canWrite(this.#inCase(word))
    return wordFaults(phrases, isKnown, () => 'which cannot be written with the tokens of the model')
  }

  /** One phrase per line, with the letter case of the tokens. */
  textOf(phrases: readonly string[]): string {
    return this.#inCase(phrases.join('\n'))
  }

  #inCase(text: string): string {
    return this.#isUpperCase ? text.toUpperCase() : text
  }

  #canWrite(word: string): boolean {
    if (this.#unit === 'bpe') return this.#canSplit(word)
    const parts = word.match(/[\p{Script=Latin}0-9']+|[^]/gu) ?? []
    return parts.every((part) =>
      this.#unit === 'cjkchar+bpe' && /^[a-z]/i.test(part) ? this.#canSplit(part) : this.#tokens.has(part),
    )
  }

  /** The split with the best sum of scores, from the end on; where no piece begins, the sum is 0. */
  #canSplit(word: string): boolean {
    const text = wordStart + word
    const sums = new Float32Array(text.length + 1)
    const next: (number | undefined)[] = []
    for (let from = text.length - 1; from >= 0; from -= 1) {
      let best = -Infinity
      for (let to = from + 1; to <= Math.min(from + this.#maxPiece, text.length); to += 1) {
        const score = this.#pieces.get(text.slice(from, to))
        const sum = score === undefined ? NaN : Math.fround(Math.fround(score) + (sums[to] ?? 0))
        if (!(sum >= best)) continue
        best = sum
        next[from] = to
      }
      if (next[from] !== undefined) sums[from] = best
    }
    let at = 0
    while (at < text.length) {
      const to = next[at]
      if (to === undefined || !this.#tokens.has(text.slice(at, to))) return false
      at = to
    }
    return true
  }
}
