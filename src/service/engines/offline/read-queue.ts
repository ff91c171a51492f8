import type { SchedulerLike, Unsubscribable } from 'rxjs'
import { SpeechError } from '../../../errors/speech-error.js'
import { schedule } from '../../../kernel/timers.js'
import type { ReadRequest, Reader, Reading } from './reader.js'

/** Readings for partials begin only while the places of the reader were busy for less than this share of the last seconds. */
const maxUseForPartials = 0.75
const useWindowMs = 3_000
/** A reader that has not answered by then does not work. */
const maxReadingMs = 120_000

/** What a partial is read of: asked when the reading begins, so that it has all audio by then. */
export interface PartialSource {
  /** Undefined if nothing is to be read any more. */
  request(): ReadRequest | undefined
  /** The reading, and how long it took in milliseconds; undefined if there is none. */
  done(reading: Reading | undefined, tookMs: number): void
}

interface WaitingFinal {
  readonly request: ReadRequest
  readonly signal: AbortSignal
  readonly sinceMs: number
  readonly resolve: (reading: Reading) => void
  readonly reject: (error: unknown) => void
}

interface Running {
  readonly purpose: ReadRequest['purpose']
  readonly beganAtMs: number
  readonly lengthMs: number
  readonly abort: AbortController
}

/**
 * The readings of one engine. Those of results come first, in the order in which their segments closed; a partial is read only when
 * no result waits and the reader has had time to spare. A source waits at most once, so there are at most as many readings as
 * open segments.
 */
export class ReadQueue {
  readonly #reader: Reader
  readonly #sampleRateHz: number
  readonly #scheduler: SchedulerLike
  readonly #finals: WaitingFinal[] = []
  readonly #partials = new Set<PartialSource>()
  readonly #running = new Set<Running>()
  /** How long a reading of a result takes for each millisecond of its audio. */
  #costPerMs = 0
  #use = 0
  #useAtMs: number

  constructor(reader: Reader, sampleRateHz: number, scheduler: SchedulerLike) {
    this.#reader = reader
    this.#sampleRateHz = sampleRateHz
    this.#scheduler = scheduler
    this.#useAtMs = scheduler.now()
  }

  /** Reads for a result. Rejects if the signal is aborted. */
  readFinal(request: ReadRequest, signal: AbortSignal): Promise<Reading> {
    return new Promise((resolve, reject) => {
      const final = { request, signal, sinceMs: this.#scheduler.now(), resolve, reject }
      this.#finals.push(final)
      signal.addEventListener('abort', () => this.#leave(final), { once: true })
      this.#startNext()
    })
  }

  /** Reads for a partial when there is time; has no effect while the source waits. */
  readPartial(source: PartialSource): void {
    this.#partials.add(source)
    this.#startNext()
  }

  /** The source does not wait any more. */
  cancelPartial(source: PartialSource): void {
    this.#partials.delete(source)
  }

  /** See `Engine.waitMs`: for how long the first result waits, or how long the work takes that comes before a further one. */
  get waitMs(): number {
    const nowMs = this.#scheduler.now()
    let workMs = 0
    for (const { request } of this.#finals) workMs += this.#costPerMs * this.#lengthMs(request)
    for (const { purpose, beganAtMs, lengthMs } of this.#running) {
      if (purpose === 'final') workMs += Math.max(this.#costPerMs * lengthMs - (nowMs - beganAtMs), 0)
    }
    const oldestMs = this.#finals[0]?.sinceMs ?? nowMs
    return this.#isFree ? 0 : Math.max(nowMs - oldestMs, workMs / this.#reader.readsAtOnce)
  }

  get #isFree(): boolean {
    return this.#running.size < this.#reader.readsAtOnce
  }

  #lengthMs({ samples }: ReadRequest): number {
    return (samples.length * 1000) / this.#sampleRateHz
  }

  #leave(final: WaitingFinal): void {
    const index = this.#finals.indexOf(final)
    if (index < 0) return
    this.#finals.splice(index, 1)
    final.reject(aborted())
  }

  #startNext(): void {
    while (this.#isFree) {
      const final = this.#finals.shift()
      if (final !== undefined) void this.#run(final.request, final.signal).then(final.resolve, final.reject)
      else if (!this.#startPartial()) return
    }
    if (this.#finals.length > 0 && this.#reader.stops === true) this.#stopPartial()
  }

  /** Returns whether one began, or left the queue. */
  #startPartial(): boolean {
    const [source] = this.#partials
    if (source === undefined || this.#measureUse() >= maxUseForPartials) return false
    this.#partials.delete(source)
    const request = source.request()
    if (request === undefined) return true
    const beganAtMs = this.#scheduler.now()
    void this.#run(request, new AbortController().signal)
      .catch(() => undefined)
      .then((reading) => source.done(reading, this.#scheduler.now() - beganAtMs))
    return true
  }

  /** A result needs the place of a partial. */
  #stopPartial(): void {
    for (const { purpose, abort } of this.#running) {
      if (purpose === 'final' || abort.signal.aborted) continue
      abort.abort()
      return
    }
  }

  async #run(request: ReadRequest, signal: AbortSignal): Promise<Reading> {
    this.#measureUse()
    const { purpose } = request
    const running = {
      purpose,
      beganAtMs: this.#scheduler.now(),
      lengthMs: this.#lengthMs(request),
      abort: new AbortController(),
    }
    const forward = (): void => running.abort.abort()
    signal.addEventListener('abort', forward, { once: true })
    this.#running.add(running)
    let deadline: Unsubscribable | undefined
    try {
      return await Promise.race([
        this.#reader.read(request, running.abort.signal),
        new Promise<never>((_resolve, reject) => {
          deadline = schedule(this.#scheduler, maxReadingMs, () => {
            running.abort.abort()
            reject(unanswered())
          })
        }),
      ])
    } finally {
      deadline?.unsubscribe()
      signal.removeEventListener('abort', forward)
      this.#measureUse()
      this.#running.delete(running)
      if (purpose === 'final' && !running.abort.signal.aborted) this.#learn(running)
      this.#startNext()
    }
  }

  #learn({ beganAtMs, lengthMs }: Running): void {
    const cost = (this.#scheduler.now() - beganAtMs) / Math.max(lengthMs, 1)
    this.#costPerMs = this.#costPerMs === 0 ? cost : 0.8 * this.#costPerMs + 0.2 * cost
  }

  /** The share of the places that were busy, which fades as time passes. */
  #measureUse(): number {
    const nowMs = this.#scheduler.now()
    const kept = Math.exp((this.#useAtMs - nowMs) / useWindowMs)
    this.#use = this.#use * kept + (this.#running.size / this.#reader.readsAtOnce) * (1 - kept)
    this.#useAtMs = nowMs
    return this.#use
  }
}

const aborted = (): SpeechError => new SpeechError('engine-failed', 'The reading is not needed any more.')

const unanswered = (): SpeechError =>
  new SpeechError('engine-failed', `The recognizer has not answered for ${maxReadingMs / 1000} s; try again.`)
