import { filter, fromEvent, Subscription } from 'rxjs'
import type { TranscriptDocument } from '../state/transcript.js'
import type { WordAt } from '../state/word-cursor.js'
import { remember, remembered } from '../views/memory.js'
import { element, setText } from '../views/page.js'
import { NoLibraryError, openDatabase } from './database.js'
import {
  applyEdit,
  defaultTitle,
  EditedTranscript,
  inverseOf,
  noEdits,
  wordKey,
  type Edit,
  type Edits,
} from './edits.js'
import { Keeper, type KeeperOptions } from './keeper.js'
import { ListView, type ListEntry } from './list-view.js'
import { matchIn, normalized, type SearchText } from './search.js'
import { defaultLimits, LibraryStore, type ListedSession, type SessionContent } from './store.js'
import { Tabs } from './tabs.js'
import { TextEditor } from './text-editor.js'
import { Toast } from './toast.js'
import { ToolsView, type ShownSession } from './tools-view.js'

/** What the page does for the library. */
export interface LibraryHost {
  /** The session that it shows; `document` is without corrections. */
  readonly shown: () => ShownSession | undefined
  readonly current: () => WordAt | undefined
  readonly reveal: (at: WordAt) => void
  /** Corrections or names have changed: draws again. */
  readonly changed: () => void
  /** A session was deleted. */
  readonly removed: (id: string) => void
}

/** A session that is being kept. */
export interface Following {
  /** Returns whether the list has it. */
  readonly end: () => Promise<boolean>
  /** The page removes it. */
  readonly drop: () => Promise<void>
}

/** A deleted session can be put back this long. */
const deletedMs = 15_000

/** The sessions that this browser keeps, and what a person changes of them. */
export class Library {
  readonly #host: LibraryHost
  /** As long as the page. */
  readonly #living = new Subscription()
  readonly #tabs = new Tabs()
  readonly #toast = new Toast()
  readonly #editor = new TextEditor()
  readonly #edited = new EditedTranscript()
  readonly #tools: ToolsView
  readonly #list: ListView
  /** Undefined where the browser keeps nothing, and until it is open. */
  #store: LibraryStore | undefined
  #fault: string | undefined
  #sessions: readonly ListedSession[] = []
  #texts: ReadonlyMap<string, SearchText> = new Map()
  /** They are read again with the next search, not with each change of a session that runs. */
  #areTextsStale = true
  #held: ReadonlySet<string> = new Set()
  /** What runs in this tab. */
  readonly #running = new Set<string>()
  readonly #edits = new Map<string, Edits>()
  /** How many changes of a session are being written. */
  readonly #writing = new Map<string, number>()
  #query = ''
  #isKeeping = remembered('keeping') !== 'off'
  readonly #opened: Promise<void>

  constructor(host: LibraryHost) {
    this.#host = host
    this.#tools = new ToolsView({ ...host, say: (sentence) => this.#toast.show(sentence), shown: () => this.#shown })
    this.#list = new ListView({
      search: (query) => void this.#search(query),
      rename: (session, at) => this.#rename(session, at),
      pin: (session) => void this.#change(() => this.#store?.pin(session.id, !session.isPinned)),
      remove: (session) => void this.#remove(session),
      removeAll: () => void this.#removeAll(),
      setKeeping: (isKeeping) => {
        this.#isKeeping = isKeeping
        remember('keeping', isKeeping ? 'on' : 'off')
        this.#render()
      },
    })
    element('title-edit').addEventListener('click', ({ currentTarget }) => {
      const { document: { id } = { id: '' } } = this.#shown ?? {}
      if (currentTarget instanceof HTMLElement) this.#editTitle(id, this.#shown?.document.title ?? '', currentTarget)
    })
    this.#living.add(this.#tabs.changed$.subscribe(() => void this.#refresh()))
    element('library-notice-close').addEventListener('click', () => {
      element('library-notice').hidden = true
    })
    document.addEventListener('keydown', (event) => this.#onKey(event))
    this.#opened = this.#open()
  }

  async #open(): Promise<void> {
    try {
      const database = await openDatabase((sentence) => this.#close(sentence))
      this.#store = new LibraryStore(database)
      // What another tab deleted and closed before it was gone for good.
      await this.#purge()
    } catch (error) {
      this.#close(error instanceof NoLibraryError ? error.message : 'The transcripts of this browser cannot be read.')
    }
    await this.#refresh()
  }

  #close(sentence: string): void {
    this.#store = undefined
    this.#fault = sentence
    this.#sessions = []
    this.#render()
  }

  // What the page asks for

  /** Keeps a session while it runs. */
  follow(id: string, { content, movedToDisk }: Pick<KeeperOptions, 'content' | 'movedToDisk'>): Following {
    const release = this.#tabs.hold(id)
    this.#running.add(id)
    const keeper = this.#opened.then(() => {
      if (this.#store === undefined || !this.#isKeeping) return undefined
      return new Keeper({
        store: this.#store,
        content,
        movedToDisk,
        edits: () => this.#edits.get(id) ?? noEdits,
        isInUse: (other) => other === id || this.#held.has(other) || this.#running.has(other),
        report: (sentence) => this.#report(sentence),
        written: () => void this.#changed(),
        hidden$: fromEvent(document, 'visibilitychange').pipe(filter(() => document.hidden)),
      })
    })
    const stop = async (end: (keeper: Keeper | undefined) => Promise<boolean> | undefined): Promise<boolean> => {
      const isKept = (await end(await keeper)) === true
      this.#running.delete(id)
      release()
      await this.#refresh()
      return isKept
    }
    return {
      end: () => stop((running) => running?.end()),
      drop: async () => {
        await stop((running) => {
          running?.stop()
          return undefined
        })
        await this.#change(() => this.#store?.purge((sessions) => sessions.filter((session) => session.id === id)))
      },
    }
  }

  /** A session that is kept; undefined if it is not, or was deleted. */
  async find(id: string): Promise<SessionContent | undefined> {
    await this.#opened
    if (this.#sessions.find((session) => session.id === id)?.deletedAtMs !== undefined) return undefined
    return this.#store?.find(id).catch(() => undefined)
  }

  /** A transcript with the corrections and names; cheap to ask for each drawing. */
  edited(document: TranscriptDocument): TranscriptDocument {
    return this.#edited.of(document, this.#edits.get(document.id) ?? noEdits)
  }

  titleOf(document: TranscriptDocument): string {
    return this.#edits.get(document.id)?.title ?? defaultTitle(document)
  }

  /** Called after each drawing. */
  drawn(): void {
    this.#tools.drawn()
  }

  /** Called when another session is shown. */
  opened(): void {
    this.#render()
    // What was found in it is found again within it.
    if (this.#query.trim() !== '') this.#tools.openFind(this.#query)
  }

  openFind(): void {
    this.#tools.openFind()
  }

  copyLine(): void {
    this.#tools.copyLine()
  }

  /** Lets a person correct a word. */
  correct({ line: lineId, word: index }: WordAt, at: HTMLElement): void {
    const { document } = this.#shown ?? {}
    const line = document?.lines.find(({ id }) => id === lineId)
    const word = line?.words[index]
    if (document === undefined || line === undefined || word === undefined) return
    const key = wordKey(line, index, word)
    const { recognized } = word
    this.#editor.open({
      label: `Correct “${recognized ?? word.text}”`,
      value: word.text,
      hint:
        recognized === undefined
          ? 'Leave it empty to remove the word. What was recognized is kept beside it.'
          : `Recognized: “${recognized}”`,
      at,
      save: (text) => {
        // What was recognized is no correction.
        const isSame = text.trim() === (recognized ?? word.text)
        const sentence = text.trim() === '' ? `“${word.text}” is removed.` : `“${word.text}” is now “${text.trim()}”.`
        this.#edit(document.id, { type: 'word', key, text: isSame ? undefined : text }, sentence)
      },
      putBack:
        recognized === undefined
          ? undefined
          : {
              text: `Put “${recognized}” back`,
              act: () => this.#edit(document.id, { type: 'word', key }, `“${recognized}” is back.`),
            },
    })
  }

  /** Lets a person name the speaker of a channel. */
  renameSpeaker(channel: number, at: HTMLElement): void {
    const { document } = this.#shown ?? {}
    if (document === undefined) return
    const name = document.speakers[channel] ?? ''
    this.#editor.open({
      label: 'Name of the speaker',
      value: name,
      hint: 'On all lines of this channel, and in exports.',
      at,
      save: (text) =>
        this.#edit(document.id, { type: 'speaker', channel, name: text }, `“${name}” is now “${text.trim()}”.`),
      putBack:
        this.#edits.get(document.id)?.speakers[channel] === undefined
          ? undefined
          : {
              text: 'Take the first name back',
              act: () => this.#edit(document.id, { type: 'speaker', channel }, 'The speaker has the first name again.'),
            },
    })
  }

  // What a person changes

  get #shown(): ShownSession | undefined {
    const shown = this.#host.shown()
    return shown && { ...shown, document: this.edited(shown.document) }
  }

  #rename(session: ListedSession, at: HTMLElement): void {
    this.#editTitle(session.id, titleOf(session), at)
  }

  #editTitle(id: string, title: string, at: HTMLElement): void {
    this.#editor.open({
      label: 'Title',
      value: title,
      hint: 'Leave it empty to have the first title again.',
      at,
      save: (text) => this.#edit(id, { type: 'title', title: text }, 'The title is changed.'),
    })
  }

  #edit(id: string, edit: Edit, sentence: string): void {
    const inverse = inverseOf(this.#edits.get(id) ?? noEdits, edit)
    this.#toast.show(sentence, () => this.#apply(id, inverse))
    this.#apply(id, edit)
  }

  /** Shows a change at once, then keeps it. */
  #apply(id: string, edit: Edit): void {
    this.#edits.set(id, applyEdit(this.#edits.get(id) ?? noEdits, edit))
    this.#writing.set(id, (this.#writing.get(id) ?? 0) + 1)
    this.#host.changed()
    void this.#change(async () => {
      try {
        await this.#store?.edit(id, edit)
      } finally {
        const rest = (this.#writing.get(id) ?? 1) - 1
        if (rest > 0) this.#writing.set(id, rest)
        else this.#writing.delete(id)
      }
    })
  }

  async #remove(session: ListedSession): Promise<void> {
    const { id } = session
    await this.#change(() => this.#store?.remove(id, Date.now()))
    this.#host.removed(id)
    setTimeout(() => void this.#purge(), deletedMs + 1000)
    this.#toast.show(`“${titleOf(session)}” is deleted.`, () => void this.#change(() => this.#store?.restore(id)))
  }

  async #removeAll(): Promise<void> {
    const ids = this.#sessions.map(({ id }) => id)
    await this.#change(() => this.#store?.purge((sessions) => sessions))
    for (const id of ids) this.#host.removed(id)
    this.#toast.show('All transcripts are deleted.')
  }

  /** What was deleted and can no longer be put back. */
  async #purge(): Promise<void> {
    const untilMs = Date.now() - deletedMs
    await this.#change(() =>
      this.#store?.purge((sessions) => sessions.filter(({ deletedAtMs = Infinity }) => deletedAtMs <= untilMs)),
    )
  }

  /** Changes what is kept, and shows it here and in other tabs. */
  async #change(change: () => Promise<unknown> | undefined): Promise<void> {
    try {
      await change()
    } catch {
      this.#report('The browser could not keep the change.')
    }
    await this.#changed()
  }

  #changed(): Promise<void> {
    this.#tabs.announce()
    return this.#refresh()
  }

  // The list

  async #refresh(): Promise<void> {
    this.#held = await this.#tabs.held()
    try {
      this.#sessions = (await this.#store?.list()) ?? []
    } catch {
      this.#close('The transcripts of this browser cannot be read.')
      return
    }
    for (const { id, edits } of this.#sessions) {
      // Lines whose corrections are the same are not drawn again; what is still being written is newer.
      const isSame = JSON.stringify(edits) === JSON.stringify(this.#edits.get(id))
      if (!isSame && !this.#writing.has(id)) this.#edits.set(id, edits)
    }
    this.#areTextsStale = true
    this.#host.changed()
    this.#render()
  }

  async #search(query: string): Promise<void> {
    this.#query = query
    if (query.trim() !== '' && this.#areTextsStale) {
      this.#areTextsStale = false
      const texts = (await this.#store?.texts().catch(() => [])) ?? []
      this.#texts = new Map(texts.map((text) => [text.id, text]))
    }
    this.#render()
  }

  #render(): void {
    const there = this.#sessions.filter(({ id, deletedAtMs }) => deletedAtMs === undefined && !this.#running.has(id))
    const isSearched = normalized(this.#query) !== ''
    const entries = there.flatMap((session): readonly ListEntry[] => {
      const title = titleOf(session)
      const note = session.hasEnded
        ? undefined
        : this.#held.has(session.id)
          ? 'running in another tab'
          : 'as far as it came'
      if (!isSearched) return [{ session, title, note }]
      const text = this.#texts.get(session.id)
      const match = text && matchIn(text, this.#query)
      const isTitle = normalized(title).includes(normalized(this.#query))
      return match === undefined && !isTitle ? [] : [{ session, title, note, match }]
    })
    this.#list.render({
      entries,
      count: there.length,
      bytes: there.reduce((sum, { bytes }) => sum + bytes, 0),
      maxBytes: defaultLimits.maxBytes,
      query: this.#query,
      shown: this.#host.shown()?.document.id,
      isKeeping: this.#isKeeping,
      fault: this.#fault,
    })
  }

  #report(sentence: string): void {
    element('library-notice').hidden = false
    setText(element('library-notice-text'), sentence)
  }

  /** Undo, unless the browser undoes what is typed. */
  #onKey(event: KeyboardEvent): void {
    const { key, target, ctrlKey, metaKey, shiftKey } = event
    if (key.toLowerCase() !== 'z' || !(ctrlKey || metaKey) || shiftKey) return
    if (target instanceof HTMLElement && target.matches('input, textarea')) return
    if (this.#toast.undo()) event.preventDefault()
  }
}

const titleOf = ({ title, edits }: ListedSession): string => edits.title ?? title
