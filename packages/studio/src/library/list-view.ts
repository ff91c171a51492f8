import { clockOf } from '../state/sentences.js'
import { create, element, elementOf, setText } from '../views/page.js'
import type { Match } from './search.js'
import type { ListedSession } from './store.js'

/** What a person does with the sessions of the list. */
export interface ListActions {
  readonly search: (query: string) => void
  readonly rename: (session: ListedSession, at: HTMLElement) => void
  readonly pin: (session: ListedSession) => void
  readonly remove: (session: ListedSession) => void
  readonly removeAll: () => void
  readonly setKeeping: (isKeeping: boolean) => void
}

/** A session of the list, and why it is there. */
export interface ListEntry {
  readonly session: ListedSession
  readonly title: string
  /** It runs in another tab, or its tab closed while it ran. */
  readonly note?: string | undefined
  /** What the search found in it. */
  readonly match?: Match | undefined
}

export interface ListState {
  readonly entries: readonly ListEntry[]
  /** How many sessions there are besides those that the search left out. */
  readonly count: number
  readonly bytes: number
  readonly maxBytes: number
  readonly query: string
  readonly shown: string | undefined
  readonly isKeeping: boolean
  /** Why nothing can be kept. */
  readonly fault: string | undefined
}

/** The list of the sessions that this browser keeps. One entry is in the order of the Tab key, the arrows move in it. */
export class ListView {
  readonly #list = element('kept')
  readonly #actions: ListActions
  readonly #items = new Map<string, HTMLElement>()
  #entries: readonly ListEntry[] = []

  constructor(actions: ListActions) {
    this.#actions = actions
    const search = elementOf(HTMLInputElement, 'library-search')
    search.addEventListener('input', () => actions.search(search.value))
    const keeping = elementOf(HTMLInputElement, 'keeping')
    keeping.addEventListener('change', () => actions.setKeeping(keeping.checked))
    const dialog = elementOf(HTMLDialogElement, 'delete-all')
    element('delete-all-open').addEventListener('click', () => dialog.showModal())
    dialog.addEventListener('close', () => {
      if (dialog.returnValue === 'delete') actions.removeAll()
      dialog.returnValue = ''
    })
    this.#list.addEventListener('keydown', (event) => this.#onKey(event))
    this.#list.addEventListener('click', ({ target }) => {
      const button = target instanceof HTMLElement ? target.closest<HTMLElement>('button[data-act]') : null
      if (button !== null) this.#onClick(button)
    })
  }

  render(state: ListState): void {
    const { entries, count, bytes, maxBytes, query, shown, isKeeping, fault } = state
    this.#entries = entries
    this.#renderItems(entries, shown)
    elementOf(HTMLInputElement, 'keeping').checked = isKeeping
    setText(element('library-empty'), emptySentence(state))
    setText(
      element('library-facts'),
      count === 0
        ? ''
        : `${transcripts(count)}, ${megabytes(bytes)} of ${megabytes(maxBytes)}. They stay in this browser.`,
    )
    element('library-search-label').hidden = count === 0 && query === ''
    element('delete-all-open').hidden = count === 0
    element('keeping-label').hidden = fault !== undefined
    setText(
      element('delete-all-text'),
      `Delete ${transcripts(count)} with the recordings from this browser, also what is pinned? This cannot be undone.`,
    )
  }

  #renderItems(entries: readonly ListEntry[], shown: string | undefined): void {
    const ids = new Set(entries.map(({ session }) => session.id))
    const focused = this.#list.contains(document.activeElement) ? document.activeElement : null
    for (const [id, item] of this.#items) {
      if (ids.has(id)) continue
      item.remove()
      this.#items.delete(id)
    }
    for (const [index, entry] of entries.entries()) {
      const { id } = entry.session
      const item = this.#items.get(id) ?? itemOf(id)
      this.#items.set(id, item)
      if (this.#list.children[index] !== item) this.#list.insertBefore(item, this.#list.children[index] ?? null)
      showEntry(item, entry)
      const link = item.firstElementChild
      if (link !== null) link.ariaCurrent = id === shown ? 'true' : null
    }
    this.#list.hidden = entries.length === 0
    const links = this.#links()
    // An entry that moves, or is removed, loses it.
    if (focused instanceof HTMLElement && focused !== document.activeElement)
      (focused.isConnected ? focused : links[0])?.focus()
    const inOrder =
      links.find((link) => link === document.activeElement) ?? links.find((link) => link.ariaCurrent !== null)
    this.#putInOrder(inOrder ?? links[0])
  }

  #links(): readonly HTMLElement[] {
    return [...this.#list.querySelectorAll<HTMLElement>('a[data-act=open]')]
  }

  /** Makes one entry and its buttons reachable by the Tab key. */
  #putInOrder(link: HTMLElement | undefined): void {
    for (const target of this.#list.querySelectorAll<HTMLElement>('[data-act]')) {
      const isInOrder = target.closest('[data-session]') === link?.closest('[data-session]')
      target.tabIndex = isInOrder ? 0 : -1
    }
  }

  #onKey(event: KeyboardEvent): void {
    const { key, target } = event
    if (!(target instanceof HTMLElement)) return
    const links = this.#links()
    const at = links.findIndex((link) => link.closest('[data-session]') === target.closest('[data-session]'))
    const places: Readonly<Record<string, number>> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      Home: 0,
      End: links.length - 1,
    }
    const next = links[places[key] ?? -1]
    const entry = this.#entries[at]
    if (next !== undefined) {
      this.#putInOrder(next)
      next.focus()
    } else if (key === 'Delete' && entry !== undefined) {
      ;(links[at + 1] ?? links[at - 1])?.focus()
      this.#actions.remove(entry.session)
    } else if (key === 'F2' && entry !== undefined) this.#actions.rename(entry.session, links[at] ?? target)
    else return
    event.preventDefault()
    event.stopPropagation()
  }

  /** The buttons of an entry. */
  #onClick(button: HTMLElement): void {
    const id = button.closest<HTMLElement>('[data-session]')?.dataset['session']
    const session = this.#entries.find((entry) => entry.session.id === id)?.session
    if (session === undefined) return
    const { rename, pin, remove } = this.#actions
    if (button.dataset['act'] === 'rename') rename(session, button)
    if (button.dataset['act'] === 'pin') pin(session)
    if (button.dataset['act'] === 'remove') remove(session)
    if (button.dataset['act'] === 'more') button.ariaExpanded = String(button.ariaExpanded !== 'true')
  }
}

/** The elements of an entry, which stay while it changes: a person may be about to click one. */
const itemOf = (id: string): HTMLElement => {
  const link = create('a', {}, create('b'), create('span', { className: 'facts' }))
  link.href = `#transcript=${id}`
  link.dataset['act'] = 'open'
  const button = (act: string, text: string): HTMLElement => {
    const made = create('button', { className: 'plain', text })
    made.type = 'button'
    made.dataset['act'] = act
    return made
  }
  const more = button('more', '⋯')
  more.ariaExpanded = 'false'
  const actions = [button('rename', 'Rename'), button('pin', 'Pin'), button('remove', 'Delete')]
  const item = create('li', {}, link, more, create('div', { className: 'actions' }, ...actions))
  item.dataset['session'] = id
  return item
}

const showEntry = (item: HTMLElement, { session, title, note, match }: ListEntry): void => {
  const [link] = item.children
  const [name, facts, found] = link?.children ?? []
  if (name instanceof HTMLElement) setText(name, title)
  if (facts instanceof HTMLElement) setText(facts, factsOf(session, note))
  const now = match && matchOf(match)
  if (now?.outerHTML !== found?.outerHTML) {
    found?.remove()
    if (now !== undefined) link?.append(now)
  }
  item.classList.toggle('pinned', session.isPinned)
  for (const button of item.querySelectorAll<HTMLElement>('button')) {
    const { act } = button.dataset
    if (act === 'pin') setText(button, session.isPinned ? 'Unpin' : 'Pin')
    button.ariaLabel = `${act === 'more' ? 'More for' : button.textContent} ${title}`
  }
}

const matchOf = ({ before, found, after, count }: Match): HTMLElement => {
  const match = create('span', { className: 'match' })
  match.append(`${before} `, create('mark', { text: found }), ` ${after}`)
  if (count > 1) match.append(create('i', { text: ` ${count} times` }))
  return match
}

const dates = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' })

const factsOf = ({ startedAtMs, durationMs, isPinned, omitted }: ListedSession, note: string | undefined): string =>
  [
    dates.format(startedAtMs),
    clockOf(durationMs),
    ...(isPinned ? ['pinned'] : []),
    ...(omitted.includes('audio') ? ['without its recording, which is too large'] : []),
    ...(note === undefined ? [] : [note]),
  ].join(' · ')

const emptySentence = ({ fault, entries, count, query, isKeeping }: ListState): string => {
  if (fault !== undefined) return fault
  if (entries.length > 0) return ''
  if (query.trim() !== '' && count > 0) return `No transcript has “${query.trim()}”.`
  return isKeeping
    ? 'Transcripts and their recordings are kept here, in this browser only.'
    : 'Transcripts last until this page closes.'
}

const transcripts = (count: number): string => (count === 1 ? '1 transcript' : `${count} transcripts`)

const megabytes = (bytes: number): string =>
  bytes >= 1_073_741_824
    ? `${(bytes / 1_073_741_824).toFixed(0)} GB`
    : `${(bytes / 1_048_576).toFixed(bytes < 10_485_760 ? 1 : 0)} MB`
