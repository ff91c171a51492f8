import type { TranscriptDocument } from '../state/transcript.js'
import type { WordAt } from '../state/word-cursor.js'
import { create, element, elementOf, setText } from '../views/page.js'
import { remember, remembered } from '../views/memory.js'
import { copyText, selectedParts, textOfParts, type LinePart } from './copy.js'
import { hasCorrections } from './edits.js'
import { exportFormats, fileName, fileOf, type ExportFormat, type ExportOptions } from './export.js'
import { Highlights } from './highlights.js'
import { hitsIn, type Hit } from './search.js'
import type { SessionContent } from './store.js'

/** The session that the page shows. */
export interface ShownSession {
  /** With the corrections. */
  readonly document: TranscriptDocument
  readonly content: () => SessionContent | Promise<SessionContent>
}

export interface ToolsHost {
  readonly shown: () => ShownSession | undefined
  /** The word at the cursor. */
  readonly current: () => WordAt | undefined
  readonly reveal: (at: WordAt) => void
  /** Says what was done, or why it was not. */
  readonly say: (sentence: string) => void
}

const optionNames = ['hasTimes', 'hasSpeakers', 'isCorrected'] as const

/** The search within the text that is shown, and the ways out of the page: the clipboard and files. */
export class ToolsView {
  readonly #host: ToolsHost
  readonly #captions = element('lines')
  readonly #highlights = new Highlights(this.#captions)
  readonly #find = elementOf(HTMLInputElement, 'find')
  readonly #menu = elementOf(HTMLDetailsElement, 'export')
  #document: TranscriptDocument | undefined
  #hits: readonly Hit[] = []
  #at = 0
  #query = ''

  constructor(host: ToolsHost) {
    this.#host = host
    const formats = Object.entries(exportFormats).map(([format, { name }]) => {
      const button = create('button', { text: name })
      button.type = 'button'
      button.dataset['format'] = format
      button.addEventListener('click', () => void this.#export(format as ExportFormat))
      return button
    })
    element('export-formats').append(...formats)
    for (const name of optionNames) {
      const box = elementOf(HTMLInputElement, name)
      box.checked = remembered(name) !== 'off'
      box.addEventListener('change', () => remember(name, box.checked ? 'on' : 'off'))
    }
    element('copy').addEventListener('click', () => void this.#copyAll())
    element('find-open').addEventListener('click', () => this.openFind())
    element('find-close').addEventListener('click', () => this.#closeFind())
    element('find-next').addEventListener('click', () => this.#step(1))
    element('find-previous').addEventListener('click', () => this.#step(-1))
    this.#find.addEventListener('input', () => this.#search(this.#find.value))
    element('find-bar').addEventListener('keydown', (event) => this.#onFindKey(event))
    this.#captions.addEventListener('copy', (event) => this.#copySelection(event))
    this.#listenToLines()
    listenToMenus()
  }

  /** Called after each drawing: the text may have changed. */
  drawn(): void {
    const document = this.#host.shown()?.document
    const isOther = document?.id !== this.#document?.id
    if (document === this.#document) return
    this.#document = document
    element('corrections').hidden = document === undefined || !hasCorrections(document)
    element('document-tools').hidden =
      document === undefined || (document.lines.length === 0 && document.durationMs === 0)
    for (const id of ['find-open', 'copy']) element(id).hidden = document?.lines.length === 0
    if (isOther) element('copy-line').hidden = true
    if (this.#query !== '') this.#search(this.#query, isOther)
  }

  /** @param query what the search across all transcripts looks for */
  openFind(query = this.#find.value): void {
    element('find-bar').hidden = false
    this.#find.value = query
    this.#search(query)
    this.#find.focus()
    this.#find.select()
  }

  /** Copies the line of the word at the cursor. */
  copyLine(line = this.#host.current()?.line): void {
    if (line === undefined) this.#host.say('Choose a word first: its line is copied.')
    else void this.#copy([{ line, fromWord: 0, toWord: Infinity }], 'The line is copied.')
  }

  #search(query: string, isFresh = query !== this.#query): void {
    this.#query = query
    this.#hits = this.#document === undefined ? [] : hitsIn(this.#document, query)
    this.#at = isFresh ? 0 : Math.max(0, Math.min(this.#at, this.#hits.length - 1))
    this.#showHits(isFresh)
  }

  #step(step: 1 | -1): void {
    const count = this.#hits.length
    if (count === 0) return
    this.#at = (this.#at + step + count) % count
    this.#showHits(true)
  }

  #showHits(isRevealed: boolean): void {
    const hit = this.#hits[this.#at]
    const isEmpty = this.#query.trim() === ''
    setText(
      element('find-count'),
      isEmpty ? '' : hit === undefined ? 'not found' : `${this.#at + 1} of ${this.#hits.length}`,
    )
    for (const id of ['find-next', 'find-previous']) element(id).toggleAttribute('disabled', hit === undefined)
    if (hit !== undefined && isRevealed) this.#host.reveal({ line: hit.line, word: hit.fromWord })
    this.#highlights.show(this.#hits, hit)
  }

  #onFindKey(event: KeyboardEvent): void {
    if (event.key === 'Enter' && event.target === this.#find) this.#step(event.shiftKey ? -1 : 1)
    else if (event.key === 'Escape') this.#closeFind()
    else return
    event.preventDefault()
    event.stopPropagation()
  }

  #closeFind(): void {
    element('find-bar').hidden = true
    this.#search('')
    element('find-open').focus()
  }

  get #options(): ExportOptions {
    const isOn = (name: (typeof optionNames)[number]): boolean => elementOf(HTMLInputElement, name).checked
    return { hasTimes: isOn('hasTimes'), hasSpeakers: isOn('hasSpeakers'), isCorrected: isOn('isCorrected') }
  }

  #copyAll(): Promise<void> {
    const all = this.#document?.lines.map(({ id }): LinePart => ({ line: id, fromWord: 0, toWord: Infinity })) ?? []
    const selected = selectedParts(this.#captions, getSelection())
    return selected.length > 0
      ? this.#copy(selected, 'The selection is copied.')
      : this.#copy(all, 'The transcript is copied.')
  }

  async #copy(parts: readonly LinePart[], sentence: string): Promise<void> {
    if (this.#document === undefined) return
    try {
      await copyText(textOfParts(this.#document, parts, this.#options))
      this.#host.say(sentence)
    } catch (error) {
      this.#host.say(error instanceof Error ? error.message : 'The text could not be copied.')
    }
  }

  /** What the browser would copy has the names and times of lines within the text. */
  #copySelection(event: ClipboardEvent): void {
    const parts = selectedParts(this.#captions, getSelection())
    if (parts.length === 0 || this.#document === undefined) return
    event.clipboardData?.setData('text/plain', textOfParts(this.#document, parts, this.#options))
    event.preventDefault()
  }

  /** One button for all lines, at the one that the pointer is over. */
  #listenToLines(): void {
    const button = element('copy-line')
    let line: number | undefined
    this.#captions.addEventListener('pointerover', ({ target }) => {
      const paragraph = target instanceof HTMLElement ? target.closest<HTMLElement>('.line') : null
      if (paragraph === null) return
      line = Number(paragraph.dataset['line'])
      button.style.top = `${paragraph.offsetTop - this.#captions.scrollTop}px`
      button.hidden = false
    })
    this.#captions.addEventListener('scroll', () => {
      button.hidden = true
    })
    button.addEventListener('click', () => this.copyLine(line))
  }

  async #export(format: ExportFormat): Promise<void> {
    this.#menu.open = false
    element('export-summary').focus()
    const shown = this.#host.shown()
    if (shown === undefined) return
    const { events, cassette } = await shown.content()
    const file = await fileOf(format, { document: shown.document, events, cassette }, this.#options)
    if (file === undefined)
      this.#host.say('There is no cassette of this session: it was too long to keep its messages.')
    else download(file, fileName(shown.document, format))
  }
}

/** Menus close when something else is clicked, and by Escape. */
const listenToMenus = (): void => {
  const close = (target: EventTarget | null): void => {
    for (const menu of document.querySelectorAll<HTMLDetailsElement>('details.menu[open]')) {
      if (!(target instanceof Node && menu.contains(target))) menu.open = false
    }
  }
  document.addEventListener('pointerdown', ({ target }) => close(target))
  document.addEventListener('keydown', ({ key, target }) => {
    if (key !== 'Escape') return
    const menu = target instanceof HTMLElement ? target.closest<HTMLDetailsElement>('details.menu[open]') : null
    close(null)
    menu?.querySelector('summary')?.focus()
  })
}

/** Lets a person save a file. */
const download = (content: Blob, name: string): void => {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
