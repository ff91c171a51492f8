/** Receives the lines of one cassette, without line breaks. If it returns a promise, the next line waits for it. */
export interface LineWriter {
  /** Writes one line. */
  readonly write: (line: string) => void | PromiseLike<void>
  /** Called after the last line. */
  readonly end?: (() => void | PromiseLike<void>) | undefined
}

/** Lines that are missing from the cassette, and why. */
export interface CassetteLoss {
  /** How many lines are missing. */
  readonly lines: number
  /** The length of these lines in UTF-8. */
  readonly bytes: number
  /** `sink-slow`: too many lines were waiting; `sink-failed`: the sink failed, and nothing more is written. */
  readonly cause: 'sink-slow' | 'sink-failed'
  /** The error of the sink. */
  readonly error?: unknown
}

export interface LineQueueOptions {
  /** How many bytes of lines may wait for a slow writer. */
  readonly maxQueueBytes: number
  readonly onLoss: (loss: CassetteLoss) => void
}

interface Dropped {
  readonly lines: number
  readonly bytes: number
}

const nothingDropped: Dropped = { lines: 0, bytes: 0 }

interface QueuedLine {
  readonly text: string
  /** The length in UTF-8. */
  readonly bytes: number
}

const queuedLine = (text: string): QueuedLine => ({ text, bytes: Buffer.byteLength(text) })

/**
 * Decouples a session, which must not wait, from a sink, which may be slow. Lines keep their order. When the queue is
 * full, further lines are dropped until the sink has written everything that waits; then one line states how many are
 * missing.
 */
export class LineQueue {
  readonly #writer: LineWriter
  readonly #options: LineQueueOptions
  #waiting: QueuedLine[] = []
  #waitingBytes = 0
  #dropped: Dropped | undefined
  /** Creates the line that replaces the dropped ones. */
  #lostLine: ((lines: number, bytes: number) => string) | undefined
  #state: 'ready' | 'writing' | 'failed' | 'ended' = 'ready'
  /** The line that the writer has not accepted yet. */
  #writing: QueuedLine | undefined
  /** Called when the last line is written; set when no more lines follow. */
  #onFinished: (() => void) | undefined

  constructor(writer: LineWriter, options: LineQueueOptions) {
    this.#writer = writer
    this.#options = options
  }

  /** @param lostLine creates the line that replaces this one and others if they are dropped */
  push(text: string, lostLine: (lines: number, bytes: number) => string): void {
    const line = queuedLine(text)
    const isFull = this.#waiting.length > 0 && this.#waitingBytes + line.bytes > this.#options.maxQueueBytes
    if (this.#dropped !== undefined || this.#state === 'failed' || isFull) {
      this.#lostLine = lostLine
      this.#drop(line)
    } else {
      this.#waiting.push(line)
      this.#waitingBytes += line.bytes
      if (this.#state === 'ready') this.#write()
    }
  }

  /** Calls back once every line is written or reported as lost; synchronously if the sink is synchronous. */
  finish(onFinished: () => void): void {
    this.#onFinished = onFinished
    if (this.#state === 'ready' || this.#state === 'failed') this.#write()
  }

  /** Stops waiting for the sink: the lines that it has not accepted are lost. */
  abandon(error: unknown): void {
    if (this.#state !== 'ended') this.#fail(error)
  }

  #drop(line: QueuedLine): void {
    const { lines, bytes } = this.#dropped ?? nothingDropped
    this.#dropped = { lines: lines + 1, bytes: bytes + line.bytes }
  }

  /** Writes until the writer returns a promise or no line is left. */
  #write(): void {
    while (this.#state === 'ready') {
      const line = this.#waiting.shift() ?? this.#endLoss()
      if (line === undefined) break
      this.#waitingBytes = Math.max(0, this.#waitingBytes - line.bytes)
      this.#writing = line
      this.#call(() => this.#writer.write(line.text), 'ready')
    }
    if (this.#onFinished === undefined) return
    if (this.#state === 'ready') this.#call(() => this.#writer.end?.(), 'ended')
    if (this.#state === 'failed') this.#reportLateLoss()
    if (this.#state !== 'writing') this.#settle()
  }

  #settle(): void {
    const onFinished = this.#onFinished
    this.#onFinished = undefined
    onFinished?.()
  }

  /** Lines wait while the call runs or its promise is pending: a sink may cause the next line from inside the call. */
  #call(call: () => void | PromiseLike<void>, next: 'ready' | 'ended'): void {
    this.#state = 'writing'
    try {
      const pending = call()
      if (pending === undefined) this.#accepted(next)
      else {
        pending.then(
          () => this.#resume(next),
          (error: unknown) => this.#fail(error),
        )
      }
    } catch (error) {
      this.#fail(error)
    }
  }

  #resume(next: 'ready' | 'ended'): void {
    if (this.#state !== 'writing') return
    this.#accepted(next)
    this.#write()
  }

  #accepted(next: 'ready' | 'ended'): void {
    this.#state = next
    this.#writing = undefined
  }

  /** Reports the dropped lines and returns the line that replaces them. */
  #endLoss(): QueuedLine | undefined {
    const dropped = this.#dropped
    if (dropped === undefined) return undefined
    this.#dropped = undefined
    this.#options.onLoss({ ...dropped, cause: 'sink-slow' })
    const lostLine = this.#lostLine?.(dropped.lines, dropped.bytes)
    return lostLine === undefined ? undefined : queuedLine(lostLine)
  }

  #fail(error: unknown): void {
    if (this.#state === 'failed') return
    this.#state = 'failed'
    const lines = this.#writing === undefined ? this.#waiting : [this.#writing, ...this.#waiting]
    this.#writing = undefined
    this.#waiting = []
    this.#waitingBytes = 0
    for (const line of lines) this.#drop(line)
    const dropped = this.#dropped ?? nothingDropped
    this.#dropped = undefined
    this.#options.onLoss({ ...dropped, cause: 'sink-failed', error })
    this.#settle()
  }

  /** Reports the lines that followed the failure. */
  #reportLateLoss(): void {
    const dropped = this.#dropped
    this.#dropped = undefined
    if (dropped !== undefined) this.#options.onLoss({ ...dropped, cause: 'sink-failed' })
  }
}
