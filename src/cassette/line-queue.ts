/** Takes the lines of one cassette, each without its line break. A promise says that no more should come before it is kept. */
export interface LineWriter {
  readonly write: (line: string) => void | PromiseLike<void>
  /** No line follows. */
  readonly end?: () => void | PromiseLike<void>
}

/** Lines that are not in the cassette, and why. */
export interface CassetteLoss {
  readonly lines: number
  readonly bytes: number
  /** `sink-slow`: more waited than may; `sink-failed`: it threw, and nothing more is written. */
  readonly cause: 'sink-slow' | 'sink-failed'
  readonly error?: unknown
}

export interface LineQueueOptions {
  /** So many bytes of lines may wait for a slow writer. */
  readonly maxQueueBytes: number
  readonly onLoss: (loss: CassetteLoss) => void
}

interface Hole {
  readonly lines: number
  readonly bytes: number
}

/**
 * Between a session that must not wait and a sink that may. Lines keep their order. When more wait than may, the lines
 * that follow are dropped and counted until the sink has taken what waits: one hole, told once it is known how large.
 */
export class LineQueue {
  readonly #writer: LineWriter
  readonly #options: LineQueueOptions
  #waiting: string[] = []
  #waitingBytes = 0
  #hole: Hole | undefined
  /** The line that stands where others are missing. */
  #lineOf: ((lines: number, bytes: number) => string) | undefined
  #state: 'ready' | 'writing' | 'failed' | 'ended' = 'ready'
  /** With the sink, which may still refuse it. */
  #handed: string | undefined
  /** Who waits for the last line to be kept; there when no more may come. */
  #finished: (() => void) | undefined

  constructor(writer: LineWriter, options: LineQueueOptions) {
    this.#writer = writer
    this.#options = options
  }

  /** @param holeLine makes the line that stands where this one and others are missing */
  push(line: string, holeLine: (lines: number, bytes: number) => string): void {
    const isOver = this.#waiting.length > 0 && this.#waitingBytes + line.length > this.#options.maxQueueBytes
    if (this.#hole !== undefined || this.#state === 'failed' || isOver) {
      this.#lineOf = holeLine
      this.#drop(line)
    } else {
      this.#waiting.push(line)
      this.#waitingBytes += line.length
      if (this.#state === 'ready') this.#write()
    }
  }

  /** Calls back once all that was pushed is kept or told as lost; within the call where the sink takes lines at once. */
  finish(done: () => void): void {
    this.#finished = done
    if (this.#state === 'ready' || this.#state === 'failed') this.#write()
  }

  /** Whoever waited waits no more: what the sink has not taken is lost. */
  abandon(error: unknown): void {
    if (this.#state !== 'ended') this.#fail(error)
  }

  #drop(line: string): void {
    const { lines, bytes } = this.#hole ?? { lines: 0, bytes: 0 }
    this.#hole = { lines: lines + 1, bytes: bytes + line.length }
  }

  /** Until the writer asks to wait, or nothing is left. */
  #write(): void {
    while (this.#state === 'ready') {
      const line = this.#waiting.shift() ?? this.#overHole()
      if (line === undefined) break
      this.#waitingBytes = Math.max(0, this.#waitingBytes - line.length)
      this.#handed = line
      this.#hand(() => this.#writer.write(line), 'ready')
    }
    if (this.#finished === undefined) return
    if (this.#state === 'ready') this.#hand(() => this.#writer.end?.(), 'ended')
    if (this.#state === 'failed') this.#tellLost()
    if (this.#state !== 'writing') this.#settle()
  }

  #settle(): void {
    const done = this.#finished
    this.#finished = undefined
    done?.()
  }

  /** While a call runs or is awaited, lines wait: a sink may cause the next line from within. */
  #hand(call: () => void | PromiseLike<void>, then: 'ready' | 'ended'): void {
    this.#state = 'writing'
    try {
      const taken = call()
      if (taken === undefined) this.#taken(then)
      else {
        taken.then(
          () => this.#goOn(then),
          (error: unknown) => this.#fail(error),
        )
      }
    } catch (error) {
      this.#fail(error)
    }
  }

  #goOn(then: 'ready' | 'ended'): void {
    if (this.#state !== 'writing') return
    this.#taken(then)
    this.#write()
  }

  #taken(then: 'ready' | 'ended'): void {
    this.#state = then
    this.#handed = undefined
  }

  #overHole(): string | undefined {
    const hole = this.#hole
    if (hole === undefined) return undefined
    this.#hole = undefined
    this.#options.onLoss({ ...hole, cause: 'sink-slow' })
    return this.#lineOf?.(hole.lines, hole.bytes)
  }

  #fail(error: unknown): void {
    if (this.#state === 'failed') return
    this.#state = 'failed'
    const lines = this.#handed === undefined ? this.#waiting : [this.#handed, ...this.#waiting]
    this.#handed = undefined
    this.#waiting = []
    this.#waitingBytes = 0
    for (const line of lines) this.#drop(line)
    const hole = this.#hole ?? { lines: 0, bytes: 0 }
    this.#hole = undefined
    this.#options.onLoss({ ...hole, cause: 'sink-failed', error })
    this.#settle()
  }

  /** What came after the failure. */
  #tellLost(): void {
    const hole = this.#hole
    this.#hole = undefined
    if (hole !== undefined) this.#options.onLoss({ ...hole, cause: 'sink-failed' })
  }
}
