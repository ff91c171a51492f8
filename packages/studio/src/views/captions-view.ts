import { clock } from '../state/sentences.js'
import { gapSentence } from '../state/sentences.js'
import type { StudioState } from '../state/state.js'
import type { TranscriptLine } from '../state/transcript.js'
import type { WordAt } from '../state/word-cursor.js'
import type { CaptionWord } from '../state/words.js'
import { create, element } from './page.js'

/** How many turns the page has at first, and how many "Show earlier" adds. */
const shownLines = 60
/** Announced texts that a screen reader may still read. */
const keptAnnouncements = 8

/** The definitive text as paragraphs, and below it one line for each channel with the text that can still change. */
export class CaptionsView {
  readonly #turns = element('turns')
  readonly #live = element('live')
  readonly #announcer = element('announcer')
  readonly #earlier = element('earlier')
  readonly #empty = element('empty')
  readonly #rendered = new Map<number, { readonly line: TranscriptLine; readonly element: HTMLElement }>()
  #state: StudioState | undefined
  #limit = shownLines
  /** Whether the newest text stays in sight; a person who scrolls back is left alone. */
  #isFollowing = true
  /** How many results have been announced. */
  #announced = 0

  constructor(changed: () => void, play: (word: WordAt) => void) {
    this.#earlier.addEventListener('click', () => {
      this.#limit += shownLines
      changed()
    })
    this.#turns.addEventListener('scroll', () => {
      this.#isFollowing = this.#turns.scrollHeight - this.#turns.scrollTop - this.#turns.clientHeight < 48
    })
    new ResizeObserver(() => this.#scrollToEnd()).observe(this.#turns)
    this.#turns.addEventListener('click', ({ target }) => {
      const word = wordAt(target)
      if (word !== undefined) play(word)
    })
    this.#turns.addEventListener('pointerover', ({ target }) => {
      const at = wordAt(target)
      const line = at === undefined ? undefined : this.#rendered.get(at.line)?.line
      const word = line?.words[at?.word ?? 0]
      if (word !== undefined && target instanceof HTMLElement) target.title = titleOf(word)
    })
  }

  render(state: StudioState, current: WordAt | undefined, playing: WordAt | undefined): void {
    this.#empty.hidden = state.phase !== 'idle' && !(state.phase === 'ended' && state.lines.length === 0)
    if (state.phase === 'connecting') this.#isFollowing = true
    if (state.lines !== this.#state?.lines) this.#renderLines(state)
    // Each partial makes a new list of them.
    if (state.partials !== this.#state?.partials || state.channels !== this.#state.channels) this.#renderLive(state)
    this.#state = state
    this.#mark('current', current)
    this.#mark('playing', playing)
  }

  #renderLines(state: StudioState): void {
    const { lines, channels } = state
    const shown = lines.slice(-this.#limit)
    const ids = new Set(shown.map(({ id }) => id))
    for (const [id, { element: paragraph }] of this.#rendered) {
      if (ids.has(id)) continue
      paragraph.remove()
      this.#rendered.delete(id)
    }
    for (const [index, line] of shown.entries()) {
      const rendered = this.#rendered.get(line.id)
      if (rendered?.line === line) continue
      const paragraph = paragraphOf(line, channels)
      const next = rendered ?? this.#nextRendered(shown, index)
      if (rendered !== undefined) rendered.element.replaceWith(paragraph)
      else if (next === undefined) this.#turns.append(paragraph)
      else next.element.before(paragraph)
      this.#rendered.set(line.id, { line, element: paragraph })
    }
    this.#earlier.hidden = lines.length <= shown.length
    this.#announce(state)
    this.#scrollToEnd()
  }

  #scrollToEnd(): void {
    if (this.#isFollowing) this.#turns.scrollTop = this.#turns.scrollHeight
  }

  #nextRendered(shown: readonly TranscriptLine[], index: number) {
    for (const { id } of shown.slice(index + 1)) {
      const rendered = this.#rendered.get(id)
      if (rendered !== undefined) return rendered
    }
    return undefined
  }

  #announce({ results }: StudioState): void {
    const added = results.slice(this.#announced)
    this.#announced = results.length
    for (const result of added) {
      const text = result.type === 'milestone' ? result.text.trim() : ''
      if (text !== '') this.#announcer.append(create('p', { text }))
    }
    while (this.#announcer.children.length > keptAnnouncements) this.#announcer.firstElementChild?.remove()
  }

  #renderLive({ partials, stableLengths, channels, phase }: StudioState): void {
    const rows = phase === 'idle' ? [] : channels
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

  #mark(className: string, word: WordAt | undefined): void {
    const marked = this.#turns.querySelector(`.word.${className}`)
    const target =
      word === undefined
        ? null
        : (this.#rendered.get(word.line)?.element.querySelector(`[data-word="${word.word}"]`) ?? null)
    if (marked === target) return
    marked?.classList.remove(className)
    target?.classList.add(className)
    if (className === 'current') target?.scrollIntoView({ block: 'nearest' })
  }
}

const paragraphOf = (line: TranscriptLine, channels: readonly string[]): HTMLElement => {
  const text = create('span', line.status === 'recognized' ? {} : { text: wordlessText(line) })
  if (line.status === 'rejected') text.title = rejectedTitle(line)
  for (const [index, word] of line.words.entries()) {
    const shown = create('span', { className: `word${sureness(word.confidence)}`, text: word.text })
    shown.dataset['word'] = String(index)
    text.append(shown, ' ')
  }
  const paragraph = create(
    'p',
    { className: line.status === 'recognized' ? 'turn' : `turn ${line.status}` },
    create('span', { className: 'name', text: channels[line.channel] ?? '' }),
    text,
  )
  paragraph.dataset['line'] = String(line.id)
  return paragraph
}

const wordlessText = ({ status, cause, startMs, endMs }: TranscriptLine): string =>
  status === 'gap' ? gapSentence(cause, endMs - startMs) : 'not in this model'

const rejectedTitle = ({ startMs, endMs }: TranscriptLine): string =>
  `${clock(startMs)} to ${clock(endMs)}: sound that matches nothing that the model knows`

const sureness = (confidence = 1): string => (confidence < 0.6 ? ' doubtful' : confidence < 0.85 ? ' unsure' : '')

const titleOf = ({ startMs, endMs, confidence, times }: CaptionWord): string =>
  [
    `${clock(startMs)} to ${clock(endMs)}${times === 'estimate' ? ', estimated from the partial results' : ''}`,
    ...(confidence === undefined ? [] : [`confidence ${Math.round(confidence * 100)} %`]),
    'click to hear it',
  ].join(' · ')

const wordAt = (target: EventTarget | null): WordAt | undefined => {
  if (!(target instanceof HTMLElement)) return undefined
  const word = target.dataset['word']
  const line = target.closest<HTMLElement>('[data-line]')?.dataset['line']
  return word === undefined || line === undefined ? undefined : { line: Number(line), word: Number(word) }
}
