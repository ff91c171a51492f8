import { SpeechError } from '../../errors/speech-error.js'
import type { SessionEvent } from '../../protocol/session-event.js'
import { wholeNumber } from '../../protocol/validation.js'
import type { StreamEnd } from '../emit-at-end.js'

/** How many events wait for a reader. */
export interface EventQueueOptions {
  /** How many events can wait for the reader, 1 to 1 000 000. @default 1000 */
  readonly maxQueued?: number | undefined
}

type Result = IteratorResult<SessionEvent, undefined>

interface Reader {
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

const over: Result = { done: true, value: undefined }

export const eventQueueCodecs = { maxQueued: wholeNumber({ min: 1, max: 1_000_000 }) }

/** The default of `maxQueued`. */
export const defaultMaxQueued = 1000

/**
 * Events that wait for a reader. When the queue is full, it drops partials that a later result of their channel has
 * replaced; if that frees no space, it ends with `overloaded` after the waiting events.
 */
export class EventQueue {
  readonly #maxQueued: number
  #waiting: SessionEvent[] = []
  #readers: Reader[] = []
  #end: StreamEnd | undefined

  constructor(maxQueued: number) {
    this.#maxQueued = maxQueued
  }

  /** Undefined while more may come. */
  get end(): StreamEnd | undefined {
    return this.#end
  }

  push(event: SessionEvent): void {
    if (this.#end !== undefined) return
    const reader = this.#readers.shift()
    if (reader !== undefined) return reader.resolve({ done: false, value: event })
    this.#waiting.push(event)
    if (this.#waiting.length <= this.#maxQueued) return
    this.#waiting = withoutSuperseded(this.#waiting)
    if (this.#waiting.length <= this.#maxQueued) return
    this.#waiting.pop()
    const error = new SpeechError(
      'overloaded',
      `More than ${this.#maxQueued} events are waiting to be read; read faster, or raise maxQueued.`,
    )
    this.finish({ type: 'failed', error })
  }

  /** Ends the queue after the waiting events. The first end counts. */
  finish(end: StreamEnd): void {
    if (this.#end !== undefined) return
    this.#end = end
    const [first, ...others] = this.#readers
    this.#readers = []
    if (first !== undefined) this.#settleEnd(first)
    for (const reader of others) reader.resolve(over)
  }

  /** Discards the waiting events; further reads are done. */
  close(): void {
    this.#waiting = []
    this.#end = { type: 'completed' }
    for (const reader of this.#readers.splice(0)) reader.resolve(over)
  }

  next(): Promise<Result> {
    return new Promise((resolve, reject) => {
      const event = this.#waiting.shift()
      if (event !== undefined) resolve({ done: false, value: event })
      else if (this.#end === undefined) this.#readers.push({ resolve, reject })
      else this.#settleEnd({ resolve, reject })
    })
  }

  /** Reports an error once, as iterators do. */
  #settleEnd({ resolve, reject }: Reader): void {
    const end = this.#end
    this.#end = { type: 'completed' }
    if (end?.type === 'failed') reject(end.error)
    else resolve(over)
  }
}

/** Removes partials that a later result of their channel replaces (PROTOCOL 4.2). */
const withoutSuperseded = (events: readonly SessionEvent[]): SessionEvent[] => {
  const replaced = new Set<number>()
  const kept: SessionEvent[] = []
  for (const event of events.toReversed()) {
    const isPartial = event.type === 'partial'
    if (isPartial && replaced.has(event.channel ?? 0)) continue
    if (isPartial || event.type === 'milestone' || event.type === 'final') replaced.add(event.channel ?? 0)
    kept.push(event)
  }
  return kept.reverse()
}
