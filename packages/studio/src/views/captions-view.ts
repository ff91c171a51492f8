import { clock, clockOf, gapSentence } from '../state/sentences.js'
import type { StudioState } from '../state/state.js'
import type { TranscriptDocument, TranscriptLine } from '../state/transcript.js'
import type { WordAt } from '../state/word-cursor.js'
import type { CaptionWord } from '../state/words.js'
import { create, element, setText } from './page.js'

/** Announced texts that a screen reader may still read. */
const keptAnnouncements = 8

/** What a person does with the text. */
export interface CaptionActions {
  readonly play: (word: WordAt) => void
  readonly correct: (word: WordAt, at: HTMLElement) => void
  readonly renameSpeaker: (channel: number, at: HTMLElement) => void
}

interface Rendered {
  readonly line: TranscriptLine
  readonly name: string
  readonly paragraph: HTMLElement
}

/**
 * The definitive text as paragraphs, and below it one line for each channel with the text that can still change. A
 * paragraph in or near the view has an element for each word; one that is far away is plain text, so that hours of
 * speech stay light.
 */
export class CaptionsView {
  readonly #lines = element('lines')
  readonly #live = element('live')
  readonly #announcer = element('announcer')
  readonly #newest = element('newest')
  readonly #placeholder = element('placeholder')
  readonly #rendered = new Map<number, Rendered>()
  readonly #near = new Set<Element>()
  readonly #observer: IntersectionObserver
  #document: TranscriptDocument | undefined
  #state: StudioState | undefined
  /** Whether the newest text stays in sight; a person who scrolls back is left alone. */
  #isFollowing = true
  #scrolledToMs = 0
  /** How many milestones have been announced. */
  #announced = 0

  constructor({ play, correct, renameSpeaker }: CaptionActions) {
    this.#observer = new IntersectionObserver((entries) => this.#fill(entries), {
      root: this.#lines,
      rootMargin: '400px',
    })
    this.#lines.addEventListener('scroll', () => {
      const rest = this.#lines.scrollHeight - this.#lines.scrollTop - this.#lines.clientHeight
      // The page scrolls by itself, too, while it follows.
      if (performance.now() - this.#scrolledToMs > 100) this.#isFollowing = rest < 48
      this.#showNewest()
    })
    this.#newest.addEventListener('click', () => {
      this.#isFollowing = true
      this.#scrollToEnd()
    })
    new ResizeObserver(() => this.#scrollToEnd()).observe(this.#lines)
    this.#lines.addEventListener('click', ({ target }) => {
      const word = wordAt(target)
      if (word !== undefined) play(word)
      const speaker = target instanceof HTMLElement ? target.closest<HTMLElement>('button.name') : null
      if (speaker !== null) renameSpeaker(Number(speaker.dataset['channel']), speaker)
    })
    this.#lines.addEventListener('dblclick', ({ target }) => {
      const word = wordAt(target)
      if (word !== undefined && target instanceof HTMLElement) correct(word, target)
    })
    this.#lines.addEventListener('pointerover', ({ target }) => {
      const at = wordAt(target)
      const word = at === undefined ? undefined : this.#rendered.get(at.line)?.line.words[at.word]
      if (word !== undefined && target instanceof HTMLElement) target.title = titleOf(word)
    })
  }

  /**
   * @param placeholder what is shown while there is no text
   * @param marks the word at the cursor, and the one that is played
   */
  render(document: TranscriptDocument, state: StudioState, placeholder: string, marks: Marks): void {
    const isEmpty = document.lines.length === 0 && state.partials.every((text) => text === '')
    setText(this.#placeholder, isEmpty ? placeholder : '')
    if (document.id !== this.#document?.id) this.#clear(state)
    if (document !== this.#document) this.#renderLines(document)
    // Each partial makes a new list of them.
    if (state.partials !== this.#state?.partials || document.speakers !== this.#document?.speakers)
      this.#renderLive(document, state)
    this.#document = document
    this.#state = state
    this.#announce(state)
    this.#mark('current', marks.current)
    this.#mark('playing', marks.playing)
  }

  /** The element of a word, which is made if the word is far from the view. */
  elementOf({ line, word }: WordAt): HTMLElement | undefined {
    const rendered = this.#rendered.get(line)
    if (rendered === undefined) return undefined
    this.#near.add(rendered.paragraph)
    fill(rendered)
    return rendered.paragraph.querySelector<HTMLElement>(`[data-word="${word}"]`) ?? rendered.paragraph
  }

  /** Scrolls to a word or a line. */
  reveal(at: WordAt): void {
    this.#isFollowing = false
    this.elementOf(at)?.scrollIntoView({ block: 'center' })
    this.#showNewest()
  }

  #clear(state: StudioState): void {
    for (const { paragraph } of this.#rendered.values()) this.#observer.unobserve(paragraph)
    this.#rendered.clear()
    this.#near.clear()
    this.#lines.replaceChildren()
    this.#announcer.replaceChildren()
    // What is there already was announced, or is old.
    this.#announced = state.milestones.length
    this.#state = undefined
    this.#isFollowing = state.phase !== 'ended'
  }

  #renderLines({ lines, speakers }: TranscriptDocument): void {
    this.#lines.classList.toggle(
      'nameless',
      speakers.every((name) => name === ''),
    )
    const ids = new Set(lines.map(({ id }) => id))
    for (const [id, { paragraph }] of this.#rendered) if (!ids.has(id)) this.#remove(id, paragraph)
    let next: Element | null = this.#lines.firstElementChild
    for (const line of lines) {
      const name = speakers[line.channel] ?? ''
      const known = this.#rendered.get(line.id)
      if (known?.line === line && known.name === name) {
        if (known.paragraph !== next) this.#lines.insertBefore(known.paragraph, next)
        next = known.paragraph.nextElementSibling
        continue
      }
      const paragraph = paragraphOf(line, name)
      const rendered = { line, name, paragraph }
      if (known !== undefined) {
        if (next === known.paragraph) next = next.nextElementSibling
        if (this.#near.has(known.paragraph)) fill(rendered)
        this.#remove(line.id, known.paragraph)
      }
      this.#lines.insertBefore(paragraph, next)
      this.#observer.observe(paragraph)
      this.#rendered.set(line.id, rendered)
    }
    this.#scrollToEnd()
  }

  #remove(id: number, paragraph: HTMLElement): void {
    this.#observer.unobserve(paragraph)
    this.#near.delete(paragraph)
    paragraph.remove()
    this.#rendered.delete(id)
  }

  #fill(entries: readonly IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of entries) {
      const rendered = this.#rendered.get(Number((target as HTMLElement).dataset['line']))
      if (rendered?.paragraph !== target) continue
      if (isIntersecting) this.#near.add(target)
      else this.#near.delete(target)
      if (isIntersecting) fill(rendered)
      else empty(rendered)
    }
  }

  #scrollToEnd(): void {
    this.#showNewest()
    if (!this.#isFollowing) return
    this.#scrolledToMs = performance.now()
    this.#lines.scrollTop = this.#lines.scrollHeight
  }

  #showNewest(): void {
    const isLong = this.#lines.scrollHeight > this.#lines.clientHeight
    this.#newest.hidden = this.#isFollowing || !isLong || this.#state === undefined || isOver(this.#state)
  }

  #announce({ milestones }: StudioState): void {
    const added = milestones.slice(this.#announced)
    this.#announced = milestones.length
    for (const { text } of added) if (text !== '') this.#announcer.append(create('p', { text }))
    while (this.#announcer.children.length > keptAnnouncements) this.#announcer.firstElementChild?.remove()
  }

  #renderLive({ speakers }: TranscriptDocument, state: StudioState): void {
    const { partials, stableLengths } = state
    const rows = isOver(state) ? [] : speakers
    if (this.#live.children.length !== rows.length) {
      this.#live.replaceChildren(
        ...rows.map((name) =>
          create(
            'p',
            {},
            create('span', { className: 'name', text: name }),
            create('span', { className: 'text' }, create('span')),
          ),
        ),
      )
    }
    for (const [channel, row] of [...this.#live.children].entries()) {
      const [name, text] = row.children
      if (name !== undefined) name.textContent = rows[channel] ?? ''
      const partial = partials[channel] ?? ''
      const stable = partial.slice(0, stableLengths[channel])
      text?.firstElementChild?.replaceChildren(create('b', { text: stable }), partial.slice(stable.length))
    }
  }

  #mark(className: 'current' | 'playing', word: WordAt | undefined): void {
    const marked = this.#lines.querySelector(`.word.${className}`)
    const target = word === undefined ? null : (this.elementOf(word) ?? null)
    if (marked === target || target?.matches('.word') === false) return
    marked?.classList.remove(className)
    target?.classList.add(className)
    target?.scrollIntoView({ block: 'nearest' })
  }
}

interface Marks {
  readonly current: WordAt | undefined
  readonly playing: WordAt | undefined
}

const isOver = ({ phase }: StudioState): boolean => phase === 'idle' || phase === 'ended'

const paragraphOf = (line: TranscriptLine, name: string): HTMLElement => {
  const { id, channel, status, startMs } = line
  const speaker = create(
    'button',
    name === '' ? { className: 'name unnamed', text: 'Name' } : { className: 'name', text: name },
  )
  speaker.type = 'button'
  speaker.dataset['channel'] = String(channel)
  speaker.title = 'Name the speaker'
  const text = create('span', { className: 'text', text: status === 'recognized' ? textOf(line) : wordlessText(line) })
  if (status === 'rejected') text.title = rejectedTitle(line)
  const start = create('time', { text: clockOf(startMs) })
  const who = create('span', { className: 'who' }, speaker, start)
  const paragraph = create('p', { className: status === 'recognized' ? 'line' : `line ${status}` }, who, text)
  paragraph.dataset['line'] = String(id)
  return paragraph
}

const textOf = ({ words }: TranscriptLine): string =>
  words.map(({ text, recognized }) => `${text === '' ? (recognized ?? '') : text} `).join('')

const fill = ({ line, paragraph }: Rendered): void => {
  const text = paragraph.lastElementChild
  if (line.status !== 'recognized' || text === null || text.childElementCount > 0) return
  text.replaceChildren(...line.words.flatMap((word, index) => [wordElement(word, index), ' ']))
}

/** The same text without an element for each word. */
const empty = ({ line, paragraph }: Rendered): void => {
  const text = paragraph.lastElementChild
  if (line.status === 'recognized' && text !== null && text.querySelector('.current, .playing') === null)
    text.textContent = textOf(line)
}

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

const wordAt = (target: EventTarget | null): WordAt | undefined => {
  if (!(target instanceof HTMLElement)) return undefined
  const word = target.dataset['word']
  const line = target.closest<HTMLElement>('[data-line]')?.dataset['line']
  return word === undefined || line === undefined ? undefined : { line: Number(line), word: Number(word) }
}
