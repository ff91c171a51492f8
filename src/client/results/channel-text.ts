import { unspacedScript } from '../../protocol/unspaced-script.js'

/** Words that are kept for the comparison with what another connection reads again. */
const maxTailWords = 256

/** A text that grew longer than this is not put into the final as a whole, in UTF-16 units. */
const maxTextLength = 4 * 1_048_576

/**
 * The definitive text of one channel over all connections and recognitions of a session; finds the new part of a further
 * text. Milestones concatenate to the whole text (PROTOCOL 4.2), so the first milestone of another connection, which begins
 * a recognition of its own, gets the separator that it would otherwise have had.
 */
export class ChannelText {
  /** The text of all recognitions. */
  #all = ''
  /** Where the present recognition begins in it. */
  #from = 0
  /** The text of the service on this connection. */
  #own = ''
  #tail: readonly string[] = []
  /** The words that another connection may read again; empty if all of its words are new. */
  #repeatable: readonly string[] = []
  #separator: string | undefined

  /** The text of the present recognition. */
  get text(): string {
    const text = this.#all.slice(this.#from)
    return this.#from === 0 ? text : text.trimStart()
  }

  /** The recognition has its final; what follows belongs to another one. */
  close(): void {
    this.#from = this.#all.length
    this.#own = ''
  }

  /** Another connection may read the last `wordCount` words again. */
  begin(wordCount: number): void {
    this.#own = ''
    this.#repeatable = wordCount === 0 ? [] : this.#tail.slice(-wordCount)
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

  /** Takes a definitive text of the service and its new part; returns the text to emit. */
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

  /** Takes the text of a final; returns the new part of what it adds to the milestones of its connection. */
  commitFinal(text: string): string {
    const added = this.addedBy(text)
    const fresh = this.newPart(added)
    if (fresh.trim() === '') return ''
    this.#append(fresh === added && this.#own !== '' ? fresh : this.#separated(fresh))
    return fresh
  }

  /** What a final adds to the milestones of its connection. */
  addedBy(text: string): string {
    return text.startsWith(this.#own) ? text.slice(this.#own.length) : ''
  }

  #append(text: string): void {
    const isTooLong = this.#all.length + text.length > maxTextLength
    if (isTooLong) this.#from = 0
    this.#all = isTooLong ? text : this.#all + text
    this.#tail = [...this.#tail, ...wordsOf(text)].slice(-maxTailWords)
  }

  #consume(text: string, fresh: string): void {
    if (!this.isRepeating) return
    // After new words all that follows is new. Repeated words are not repeated twice.
    this.#repeatable = fresh.trim() === '' ? this.#repeatable.slice(this.#consumedBy(text)) : []
  }

  #consumedBy(text: string): number {
    const words = wordsOf(text)
    const at = this.#repeatable.findIndex((_word, index) => repeatedWords(this.#repeatable.slice(index), words) > 0)
    return at === -1 ? this.#repeatable.length : at + words.length
  }

  #separated(text: string): string {
    if (this.#all === '' || /\s$/u.test(this.#all) || /^\s/u.test(text)) return text
    const isUnspaced = unspacedScript.test(this.#all.slice(-1)) || unspacedScript.test(text.slice(0, 1))
    return (this.#separator ?? (isUnspaced ? '' : ' ')) + text
  }
}

/** Words as they are compared: without letter case and punctuation. */
const plain = (word: string): string => word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')

export const wordsOf = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== '')

/** The share of the words that must be equal: some are read differently the second time. */
const minLikeness = 0.75

/**
 * How many words at the beginning of `later` only repeat the end of `earlier`. The same audio, read again from somewhere
 * within `earlier`, begins with some of its last words and continues with new ones; its first word may be cut and read as
 * another one. The longest repetition counts. `later` may itself end within `earlier`, as a partial does.
 */
export const repeatedWords = (earlier: readonly string[], later: readonly string[]): number => {
  const before = earlier.map(plain)
  const after = later.map(plain)
  for (let start = 0; start < before.length; start++) {
    const whole = likeness(before.slice(start), after)
    if (whole > 0) return whole
  }
  if (after.length < 2) return 0
  // The first word was cut: what was read instead is left out as well.
  for (let start = 1; start < before.length; start++) {
    const rest = likeness(before.slice(start), after.slice(1))
    if (rest > 0) return rest + 1
  }
  return 0
}

/** The number of words that both begin with, to the end of the shorter one; 0 if too few are equal. */
const likeness = (before: readonly string[], after: readonly string[]): number => {
  const length = Math.min(before.length, after.length)
  const equal = before.slice(0, length).filter((word, index) => word === after[index]).length
  return equal / length >= minLikeness ? length : 0
}
