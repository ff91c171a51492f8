import { SpeechError } from '../../errors/speech-error.js'
import type { SessionEvent } from '../../protocol/session-event.js'
import type { StreamEnd } from '../end-with-rest.js'

export interface EventQueueOptions {
  /** How many events may wait for their reader, 1 to 1 000 000; default 1000. */
  readonly maxQueued?: number
}

type Result = IteratorResult<SessionEvent, undefined>

interface Reader {
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

const over: Result = { done: true, value: undefined }

/** Throws `invalid-options`. */
export const maxQueuedOf = ({ maxQueued = 1000 }: EventQueueOptions): number => {
  if (Number.isInteger(maxQueued) && maxQueued >= 1 && maxQueued <= 1_000_000) return maxQueued
  throw new SpeechError('invalid-options', 'maxQueued must be a whole number from 1 to 1000000.')
}

/**
 * Events that wait for a reader who asks for one at a time. When it is full, partials go first, those that a later
 * result of their channel has superseded; when that makes no room, the end is `overloaded`, behind all that waits.
 */
export class EventQueue {
  readonly #most: number
  #waiting: SessionEvent[] = []
  #readers: Reader[] = []
  #end: StreamEnd | undefined

  constructor(most: number) {
    this.#most = most
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
    if (this.#waiting.length <= this.#most) return
    this.#waiting = withoutSuperseded(this.#waiting)
    if (this.#waiting.length <= this.#most) return
    this.#waiting.pop()
    const error = new SpeechError(
      'overloaded',
      `More than ${this.#most} events wait to be read; read faster, or raise maxQueued.`,
    )
    this.finish({ type: 'failed', error })
  }

  /** Nothing more comes; what waits is still read, and then the end. The first end counts. */
  finish(end: StreamEnd): void {
    if (this.#end !== undefined) return
    this.#end = end
    const [first, ...others] = this.#readers
    this.#readers = []
    if (first !== undefined) this.#tellEnd(first)
    for (const reader of others) reader.resolve(over)
  }

  /** Nobody reads any more: what waits is gone, and whoever asks is told that it is over. */
  leave(): void {
    this.#waiting = []
    this.#end = { type: 'completed' }
    for (const reader of this.#readers.splice(0)) reader.resolve(over)
  }

  next(): Promise<Result> {
    return new Promise((resolve, reject) => {
      const event = this.#waiting.shift()
      if (event !== undefined) resolve({ done: false, value: event })
      else if (this.#end === undefined) this.#readers.push({ resolve, reject })
      else this.#tellEnd({ resolve, reject })
    })
  }

  /** An error is told once, as iterators do. */
  #tellEnd({ resolve, reject }: Reader): void {
    const end = this.#end
    this.#end = { type: 'completed' }
    if (end?.type === 'failed') reject(end.error)
    else resolve(over)
  }
}

/** Without the partials that a later result of their channel replaces (service.md 4.2 rule 4). */
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
