import { VirtualTimeScheduler } from 'rxjs'
import type { ReadRequest, Reader, Reading } from '../../src/offline/reader.js'

interface Pending {
  readonly request: ReadRequest
  readonly signal: AbortSignal
  resolve(reading: Reading): void
  reject(error: unknown): void
}

/** A reader whose readings the test answers. */
export class FakeReader implements Reader {
  readonly readsAtOnce: number
  readonly stops: boolean
  readonly requests: ReadRequest[] = []
  readonly pending: Pending[] = []
  isClosed = false

  constructor({ readsAtOnce = 1, stops = false } = {}) {
    this.readsAtOnce = readsAtOnce
    this.stops = stops
  }

  read(request: ReadRequest, signal: AbortSignal): Promise<Reading> {
    this.requests.push(request)
    return new Promise((resolve, reject) => this.pending.push({ request, signal, resolve, reject }))
  }

  close(): Promise<void> {
    this.isClosed = true
    return Promise.resolve()
  }

  /** Answers the oldest reading, and lets everything follow that depends on it. */
  async answer(reading: Partial<Reading> | Error = {}): Promise<void> {
    const first = this.pending.shift()
    if (first === undefined) throw new Error('Nothing is read.')
    if (reading instanceof Error) first.reject(reading)
    else first.resolve({ text: '', ...reading })
    await settled()
  }

  /** What is being read: the purpose of each, and its length in milliseconds at 1 kHz. */
  get reading(): readonly string[] {
    return this.pending.map(({ request }) => `${request.purpose} ${request.samples.length}`)
  }
}

/** Everything that follows from settled promises is done. */
export const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve()
}

/** A clock that the test moves; `flush` does what is scheduled. */
export class TestClock extends VirtualTimeScheduler {
  ms = 0

  constructor() {
    super()
    this.now = () => this.ms
  }
}

/** A reading whose words are spoken one after another, each for so long. */
export const spoken = (text: string, wordMs = 300, fromMs = 0): Reading => ({
  text,
  words: text.split(' ').map((word, index) => ({
    text: word,
    startMs: fromMs + index * wordMs,
    endMs: fromMs + (index + 1) * wordMs,
  })),
})
