import { clock, clockOf, gapSentence } from '../state/sentences.js'
import type { TranscriptLine } from '../state/transcript.js'
import type { CaptionWord } from '../state/words.js'
import { create, setText } from './page.js'

/**
 * A line of the transcript as a paragraph, with an element for each word while it is in or near the view. Elements stay
 * as long as what they show does not change: a person may be about to click one, or have selected its text.
 */
export class CaptionLine {
  readonly #speaker = create('button')
  readonly #start = create('time')
  readonly #text = create('span', { className: 'text' })
  readonly paragraph = create('p', {}, create('span', { className: 'who' }, this.#speaker, this.#start), this.#text)
  #line: TranscriptLine
  #name: string

  constructor(line: TranscriptLine, name: string) {
    this.#speaker.type = 'button'
    this.#speaker.title = 'Name the speaker'
    this.#line = line
    this.#name = name
    this.#draw([])
  }

  show(line: TranscriptLine, name: string): void {
    if (line === this.#line && name === this.#name) return
    const { words } = this.#line
    this.#line = line
    this.#name = name
    this.#draw(words)
  }

  titleOf(index: number): string {
    const word = this.#line.words[index]
    return word === undefined ? '' : titleOf(word)
  }

  /** Makes the elements of its words. */
  fill(): void {
    if (this.#line.status !== 'recognized' || this.#isFilled) return
    this.#text.textContent = ''
    this.#drawWords([])
  }

  /** The same text without an element for each word. */
  empty(): void {
    if (this.#isFilled && this.#text.querySelector('.current, .playing') === null)
      this.#text.textContent = textOf(this.#line)
  }

  /** The element of a word, or the whole line where it has none. */
  elementOf(index: number): HTMLElement {
    this.fill()
    return this.#text.querySelector<HTMLElement>(`[data-word="${index}"]`) ?? this.paragraph
  }

  get #isFilled(): boolean {
    return this.#text.childElementCount > 0
  }

  #draw(before: readonly CaptionWord[]): void {
    const { id, channel, status, startMs } = this.#line
    const isRecognized = status === 'recognized'
    this.paragraph.className = isRecognized ? 'line' : `line ${status}`
    this.paragraph.dataset['line'] = String(id)
    this.#speaker.dataset['channel'] = String(channel)
    this.#speaker.className = this.#name === '' ? 'name unnamed' : 'name'
    setText(this.#speaker, this.#name === '' ? 'Name' : this.#name)
    setText(this.#start, clockOf(startMs))
    this.#text.title = status === 'rejected' ? rejectedTitle(this.#line) : ''
    if (isRecognized && this.#isFilled) this.#drawWords(before)
    else setText(this.#text, isRecognized ? textOf(this.#line) : wordlessText(this.#line))
  }

  /** An element and a space for each word. */
  #drawWords(before: readonly CaptionWord[]): void {
    const { words } = this.#line
    for (const [index, word] of words.entries()) {
      const known = this.#text.children[index]
      if (known === undefined) this.#text.append(wordElement(word, index), ' ')
      else if (!isShownAlike(word, before[index])) known.replaceWith(wordElement(word, index))
    }
    while (this.#text.childNodes.length > 2 * words.length) this.#text.lastChild?.remove()
  }
}

const isShownAlike = (one: CaptionWord, other: CaptionWord | undefined): boolean =>
  one.text === other?.text && one.recognized === other.recognized && one.confidence === other.confidence

const textOf = ({ words }: TranscriptLine): string =>
  words.map(({ text, recognized }) => `${text === '' ? (recognized ?? '') : text} `).join('')

const wordElement = (word: CaptionWord, index: number): HTMLElement => {
  const { text, confidence, recognized } = word
  const corrected = recognized === undefined ? '' : ' corrected'
  const shown =
    text === '' && recognized !== undefined
      ? create('s', { className: 'word removed', text: recognized })
      : create('span', { className: `word${corrected || sureness(confidence)}`, text })
  shown.dataset['word'] = String(index)
  return shown
}

const wordlessText = ({ status, cause, startMs, endMs }: TranscriptLine): string =>
  status === 'gap' ? gapSentence(cause, endMs - startMs) : 'not in this model'

const rejectedTitle = ({ startMs, endMs }: TranscriptLine): string =>
  `${clock(startMs)} to ${clock(endMs)}: sound that matches nothing that the model knows`

const sureness = (confidence = 1): string => (confidence < 0.6 ? ' doubtful' : confidence < 0.85 ? ' unsure' : '')

const titleOf = ({ startMs, endMs, confidence, times, recognized }: CaptionWord): string =>
  [
    `${clock(startMs)} to ${clock(endMs)}${times === 'estimate' ? ', estimated from the partial results' : ''}`,
    ...(confidence === undefined ? [] : [`confidence ${Math.round(confidence * 100)} %`]),
    ...(recognized === undefined ? [] : [`recognized as "${recognized}"`]),
    'click to hear it, double click to correct it',
  ].join(' · ')
