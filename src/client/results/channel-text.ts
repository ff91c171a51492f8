import { unspacedScript } from '../../protocol/unspaced-script.js'

/** The maximum length of the whole text in a final, in UTF-16 units. */
const maxTextLength = 4 * 1_048_576

/**
 * The definitive text of one channel over all connections and recognitions of a session, which finds the new part of
 * each further text. The concatenation of milestones is the whole text (PROTOCOL 4.2). The first milestone of another
 * connection has no separator, because it begins another recognition of the service, so it gets one here.
 */
export class ChannelText {
  /** The text of all recognitions. */
  #all = ''
  /** The position in it at which the current recognition begins. */
  #from = 0
  /** The text of the service on this connection. */
  #own = ''
  /** The words that another connection may repeat; empty if all of its words are new. */
  #repeatable: readonly string[] = []
  #separator: string | undefined

  /** The text of the current recognition. */
  get text(): string {
    const text = this.#all.slice(this.#from)
    return this.#from === 0 ? text : text.trimStart()
  }

  /** The recognition has its final; later text belongs to another one. */
  close(): void {
    this.#from = this.#all.length
    this.#own = ''
  }

  /** Another connection may repeat these words, the last ones. */
  begin(repeatable: readonly string[]): void {
    this.#own = ''
    this.#repeatable = repeatable
  }

  get isRepeating(): boolean {
    return this.#repeatable.length > 0
  }

  /** The new part of a text; '' if nothing is new. */
  newPart(text: string): string {
    if (!this.isRepeating) return text
    const words = wordsOf(text)
    const repeated = repeatedWords(this.#repeatable, words)
    return repeated === 0 ? text : words.slice(repeated).join(' ')
  }

  /** Adds a definitive text of the service with its new part; returns the text to emit. */
  commit(text: string, fresh: string): string {
    if (this.#own !== '' && text !== '') this.#separator ??= /^\s/u.test(text) ? ' ' : ''
    const isFirst = this.#own === ''
    this.#own += text
    this.#consume(text, fresh)
    if (fresh.trim() === '') return ''
    const added = isFirst || fresh !== text ? this.#separated(fresh) : fresh
    this.#append(added)
    return added
  }

  /** Adds the text of a final; returns the new part of its text beyond the milestones of its connection. */
  commitFinal(text: string): string {
    const added = this.addedBy(text)
    const fresh = this.newPart(added)
    if (fresh.trim() === '') return ''
    this.#append(fresh === added && this.#own !== '' ? fresh : this.#separated(fresh))
    return fresh
  }

  /** The text of a final beyond the milestones of its connection. */
  addedBy(text: string): string {
    return text.startsWith(this.#own) ? text.slice(this.#own.length) : ''
  }

  #append(text: string): void {
    const isTooLong = this.#all.length + text.length > maxTextLength
    if (isTooLong) this.#from = 0
    this.#all = isTooLong ? text : this.#all + text
  }

  #consume(text: string, fresh: string): void {
    if (!this.isRepeating) return
    // After new words all later words are new. Words are repeated at most once.
    this.#repeatable = fresh.trim() === '' ? this.#repeatable.slice(wordsOf(text).length) : []
  }

  #separated(text: string): string {
    if (this.#all === '' || /\s$/u.test(this.#all) || /^\s/u.test(text)) return text
    const isUnspaced = unspacedScript.test(this.#all.slice(-1)) || unspacedScript.test(text.slice(0, 1))
    return (this.#separator ?? (isUnspaced ? '' : ' ')) + text
  }
}

/** The words for comparison: lower case, without punctuation. */
const plain = (word: string): string => word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')

export const wordsOf = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== '')

/** The share of words that must be equal, because some are recognized differently the second time. */
const minLikeness = 0.75

/**
 * The number of words at the beginning of `later` that repeat the end of `earlier`. When audio is recognized again from
 * a position within `earlier`, the text begins with the last words of `earlier` and continues with new ones. The first
 * word may be cut and recognized as another one. The longest repetition counts. `later` may end within `earlier`, as a
 * partial does.
 */
export const repeatedWords = (earlier: readonly string[], later: readonly string[]): number => {
  const before = earlier.map(plain)
  const after = later.map(plain)
  // If the first word was cut, the word that was recognized instead is omitted too.
  for (const cut of [0, 1]) {
    for (let start = cut; start < before.length; start++) {
      const count = Math.min(before.length - start, after.length - cut)
      if (count > 0 && isLike(count, (at) => before[start + at] === after[cut + at])) return count + cut
    }
  }
  return 0
}

const isLike = (count: number, isEqualAt: (at: number) => boolean): boolean => {
  let left = Math.floor(count * (1 - minLikeness))
  for (let at = 0; at < count && left >= 0; at++) if (!isEqualAt(at)) left -= 1
  return left >= 0
}
