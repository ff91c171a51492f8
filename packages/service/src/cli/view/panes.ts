import { interval, type Subscription } from 'rxjs'
import type { LiveScreen } from './live-screen.js'

/** What changes while a recording runs. It is asked for whenever it is painted; no progress is wider than `columns`. */
interface PaneContent {
  /** Words that may still change, and lines that wait for their turn; together they may take `rows`. */
  readonly live?: (columns: number, rows: number) => readonly string[]
  readonly progress?: (columns: number) => string
}

/** Where one recording is shown: its text on stdout, what is said about it on stderr, and what changes below both. */
export interface Pane {
  /** Whether anything that changes can be shown. */
  readonly isLive: boolean
  /** Writes whole lines to stdout. */
  readonly write: (lines: string) => void
  /** Writes whole lines about the recording to stderr. */
  readonly note: (lines: string) => void
  /** Adds to what changes. */
  readonly show: (content: PaneContent) => void
  /** Paints what has changed, rather than a moment later. */
  readonly refresh: () => void
  /** Nothing more is written. Idempotent. */
  readonly end: () => void
}

interface OpenPane {
  content: PaneContent
  isEnded: boolean
  /** What was written before its turn. */
  readonly waiting: (() => void)[]
}

export interface PanesOptions {
  readonly screen: LiveScreen
  /** A last line below the progress of several recordings. `hidden`: how many of them have no space on the screen. */
  readonly status?: ((hidden: number, columns: number) => string) | undefined
}

/** How often lines that change are painted again. */
export const refreshMs = 100
/** If stdout is a pipe, its reader may print to the same terminal: pause before the progress appears again. */
const pipePauseMs = 150

/**
 * The panes of recordings that run at the same time, on one screen. What they write appears in the order in which they
 * were opened: a pane waits until those before it have ended. Below are the words of the pane whose turn it is, and the
 * progress of all, as far as the screen has rows.
 */
export class Panes {
  readonly #screen: LiveScreen
  readonly #status: PanesOptions['status']
  /** The open ones; it is the turn of the first. */
  #panes: readonly OpenPane[] = []
  #refreshing: Subscription | undefined
  #pausedUntilMs = 0

  constructor({ screen, status }: PanesOptions) {
    this.#screen = screen
    this.#status = status
  }

  open(): Pane {
    const pane: OpenPane = { content: {}, isEnded: false, waiting: [] }
    this.#panes = [...this.#panes, pane]
    const isLive = this.#screen.showsLive || this.#screen.showsProgress
    if (isLive) this.#refreshing ??= interval(refreshMs).subscribe(() => this.#paint())
    const inTurn = (work: () => void): void => {
      if (this.#panes[0] === pane) work()
      else pane.waiting.push(work)
    }
    return {
      isLive,
      write: (lines) => inTurn(() => this.#print(lines)),
      note: (lines) => inTurn(() => this.#screen.note(lines)),
      show: (content) => {
        pane.content = { ...pane.content, ...content }
      },
      refresh: () => {
        if (isLive) this.#paint()
      },
      end: () => {
        if (pane.isEnded) return
        pane.isEnded = true
        this.#advance()
      },
    }
  }

  /** Removes what changes. Idempotent. */
  end(): void {
    this.#refreshing?.unsubscribe()
    this.#refreshing = undefined
    this.#screen.clear()
  }

  #advance(): void {
    while (this.#panes[0]?.isEnded === true) {
      this.#panes = this.#panes.slice(1)
      for (const work of this.#panes[0]?.waiting.splice(0) ?? []) work()
    }
  }

  #print(lines: string): void {
    this.#screen.print(lines)
    if (!this.#screen.showsLive) this.#pausedUntilMs = performance.now() + pipePauseMs
  }

  #paint(): void {
    if (this.#refreshing === undefined || performance.now() < this.#pausedUntilMs) return
    const { columns, rows } = this.#screen
    const running = this.#panes.filter(({ isEnded }) => !isEnded)
    const bars = running.flatMap(({ content }) => content.progress?.(columns) ?? [])
    const barRows = Math.min(bars.length, rows - (this.#status === undefined ? 0 : 1))
    const progress = bars.slice(0, barRows)
    if (this.#status !== undefined) progress.push(this.#status(bars.length - barRows, columns))
    const liveRows = rows - progress.length
    const live = this.#panes[0]?.content.live?.(columns, liveRows) ?? []
    this.#screen.paint(liveRows === 0 ? [] : live.slice(-liveRows), progress)
  }
}
