import { unspacedScript } from '../../protocol/unspaced-script.js'

/** Words that are kept for the comparison with what another connection reads once more. */
const maxTailWords = 256

/** A text that grew longer than this is not put into the final as a whole, in UTF-16 units. */
const maxTextLength = 4 * 1_048_576

/**
 * The definitive text of one channel over all connections and recognitions of a session, and what of a further text is new. Milestones
 * concatenate to the whole text (PROTOCOL 4.2), so the first one of another connection, which begins a
 * recognition of its own, gets the separator that it would have had.
 */
export class ChannelText {
  /** What was told, of all recognitions. */
  #all = ''
  /** Where in that the recognition begins that runs. */
  #from = 0
  /** What the service itself has said on this connection. */
  #own = ''
  #tail: readonly string[] = []
  /** What another connection may read once more; empty where all that it says is new. */
  #repeatable: readonly string[] = []
  #separator: string | undefined

  /** What was told of the recognition that runs. */
  get text(): string {
    const told = this.#all.slice(this.#from)
    return this.#from === 0 ? told : told.trimStart()
  }

  /** Its final was told: what follows is of another recognition. */
  close(): void {
    this.#from = this.#all.length
    this.#own = ''
  }

  /** Another connection reads once more what may have been said in the last `wordCount` words. */
  begin(wordCount: number): void {
    this.#own = ''
    this.#repeatable = wordCount === 0 ? [] : this.#tail.slice(-wordCount)
  }

  get isRepeating(): boolean {
    return this.#repeatable.length > 0
  }

  /** How much of a text is new; '' where nothing is. */
  newPart(text: string): string {
    if (!this.isRepeating) return text
    const words = wordsOf(text)
    const repeated = repeatedWords(this.#repeatable, words)
    return repeated === 0 ? text : words.slice(repeated).join(' ')
  }

  /** Takes a definitive text of the service as it said it, and the part of it that is new; returns what to tell. */
  commit(said: string, fresh: string): string {
    if (this.#own !== '' && said !== '') this.#separator ??= /^\s/u.test(said) ? ' ' : ''
    const isFirst = this.#own === ''
    this.#own += said
    this.#consume(said, fresh)
    if (fresh.trim() === '') return ''
    const told = isFirst || fresh !== said ? this.#separated(fresh) : fresh
    this.#append(told)
    return told
  }

  /** Takes the text of a final: what it adds to the milestones of its connection. Returns what is new of that. */
  commitFinal(said: string): string {
    const added = this.addedBy(said)
    const fresh = this.newPart(added)
    if (fresh.trim() === '') return ''
    this.#append(fresh === added && this.#own !== '' ? fresh : this.#separated(fresh))
    return fresh
  }

  /** What a final adds to the milestones of its connection. */
  addedBy(said: string): string {
    return said.startsWith(this.#own) ? said.slice(this.#own.length) : ''
  }

  #append(told: string): void {
    const isTooLong = this.#all.length + told.length > maxTextLength
    if (isTooLong) this.#from = 0
    this.#all = isTooLong ? told : this.#all + told
    this.#tail = [...this.#tail, ...wordsOf(told)].slice(-maxTailWords)
  }

  #consume(said: string, fresh: string): void {
    if (!this.isRepeating) return
    // New words: what follows is new as well. Else the words that were repeated are not repeated again.
    this.#repeatable = fresh.trim() === '' ? this.#repeatable.slice(this.#consumedBy(said)) : []
  }

  #consumedBy(said: string): number {
    const words = wordsOf(said)
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

/** A word in so many may be read otherwise the second time. */
const leastAlike = 0.75

/**
 * How many words at the beginning of `heard` only repeat what was `said` at its end. The same audio, read once more from
 * somewhere within `said`, begins with some of its last words, then goes on with new ones; its first word may be cut and
 * read as another one. The longest likeness counts. `heard` may itself end within what was said, as a partial does.
 */
export const repeatedWords = (said: readonly string[], heard: readonly string[]): number => {
  const before = said.map(plain)
  const after = heard.map(plain)
  for (let start = 0; start < before.length; start++) {
    const whole = likeness(before.slice(start), after)
    if (whole > 0) return whole
  }
  if (after.length < 2) return 0
  // The first word was cut: what stands for it goes as well.
  for (let start = 1; start < before.length; start++) {
    const rest = likeness(before.slice(start), after.slice(1))
    if (rest > 0) return rest + 1
  }
  return 0
}

/** The number of words that both have in common from their beginning to the end of either; 0 where they are not alike. */
const likeness = (before: readonly string[], after: readonly string[]): number => {
  const length = Math.min(before.length, after.length)
  const equal = before.slice(0, length).filter((word, index) => word === after[index]).length
  return equal / length >= leastAlike ? length : 0
}
