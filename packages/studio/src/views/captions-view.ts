import type { StudioState } from '../state/state.js'
import type { TranscriptDocument } from '../state/transcript.js'
import type { WordAt } from '../state/word-cursor.js'
import { CaptionLine } from './caption-line.js'
import { create, element, setText } from './page.js'

/** Announced texts that a screen reader may still read. */
const keptAnnouncements = 8

/** What a person does with the text. */
export interface CaptionActions {
  readonly play: (word: WordAt) => void
  readonly correct: (word: WordAt, at: HTMLElement) => void
  readonly renameSpeaker: (channel: number, at: HTMLElement) => void
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
  readonly #rendered = new Map<number, CaptionLine>()
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
      if (at !== undefined && target instanceof HTMLElement)
        target.title = this.#rendered.get(at.line)?.titleOf(at.word) ?? ''
    })
  }

  /**
   * @param placeholder what is shown while there is no text
   * @param marks the word at the cursor, and the one that is played
   */
  render(document: TranscriptDocument, state: StudioState, placeholder: string, marks: Marks): void {
    const isEmpty = document.lines.length === 0 && state.partials.every((text) => text === '')
    setText(this.#placeholder, isEmpty ? placeholder : '')
    if (document.id !== this.#document?.id) this.#clear(document, state)
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
    return this.#rendered.get(line)?.elementOf(word)
  }

  /** Scrolls to a word or a line. */
  reveal(at: WordAt): void {
    this.#isFollowing = false
    this.elementOf(at)?.scrollIntoView({ block: 'center' })
    this.#showNewest()
  }

  #clear({ origin }: TranscriptDocument, state: StudioState): void {
    for (const { paragraph } of this.#rendered.values()) this.#observer.unobserve(paragraph)
    this.#rendered.clear()
    this.#lines.replaceChildren()
    this.#announcer.replaceChildren()
    // What is there already was announced, or is old.
    this.#announced = state.milestones.length
    this.#state = undefined
    // A file is transcribed faster than anyone reads: it is read from its beginning.
    this.#isFollowing = state.phase !== 'ended' && origin !== 'file'
  }

  #renderLines({ lines, speakers }: TranscriptDocument): void {
    this.#lines.classList.toggle(
      'nameless',
      speakers.every((name) => name === ''),
    )
    const ids = new Set(lines.map(({ id }) => id))
    for (const [id, { paragraph }] of this.#rendered) {
      if (ids.has(id)) continue
      this.#observer.unobserve(paragraph)
      paragraph.remove()
      this.#rendered.delete(id)
    }
    let next: Element | null = this.#lines.firstElementChild
    for (const line of lines) {
      const name = speakers[line.channel] ?? ''
      let shown = this.#rendered.get(line.id)
      if (shown === undefined) {
        shown = new CaptionLine(line, name)
        this.#observer.observe(shown.paragraph)
        this.#rendered.set(line.id, shown)
      }
      shown.show(line, name)
      if (shown.paragraph !== next) this.#lines.insertBefore(shown.paragraph, next)
      next = shown.paragraph.nextElementSibling
    }
    this.#scrollToEnd()
  }

  #fill(entries: readonly IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of entries) {
      const shown = this.#rendered.get(Number((target as HTMLElement).dataset['line']))
      if (shown?.paragraph !== target) continue
      if (isIntersecting) shown.fill()
      else shown.empty()
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
      if (name instanceof HTMLElement) setText(name, rows[channel] ?? '')
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

const wordAt = (target: EventTarget | null): WordAt | undefined => {
  if (!(target instanceof HTMLElement)) return undefined
  const word = target.dataset['word']
  const line = target.closest<HTMLElement>('[data-line]')?.dataset['line']
  return word === undefined || line === undefined ? undefined : { line: Number(line), word: Number(word) }
}
