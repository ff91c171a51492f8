import type { SchedulerLike, Unsubscribable } from 'rxjs'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { schedule } from 'rxspeech/internal/kernel/timers'
import type { ReadRequest, Reader, Reading } from './reader.js'
import { FadingMean, ReadingCosts } from './reading-costs.js'

/**
 * Readings for partials begin only while the places of the reader were busy for less than this share of the last
 * seconds.
 */
const maxUseForPartials = 0.75
const useWindowMs = 3_000
const finalUseWindowMs = 20_000
/** What readings cost is an estimate of one speaker; beside measured speakers it counts as this many. */
const assumedSpeakers = 0.5
/** A result waits no longer for the partials and results that are read before it, but for one in fifty. */
const maxDelayMs = 1_000
/** Partials are thinned while one has waited this long within the last seconds. */
const thinnedIntervalMs = 1_000
const thinnedForMs = 5_000
/** A reader that has not answered by then does not work. */
const maxReadingMs = 120_000

/** The audio of a partial, requested when the reading begins, so that it is complete by then. */
export interface PartialSource {
  /** How long its audio is, in milliseconds. */
  readonly lengthMs: number
  /** Undefined if nothing is to be read any more. */
  request(): ReadRequest | undefined
  /** The reading, or undefined if it failed, and how long it took in milliseconds. */
  done(reading: Reading | undefined, tookMs: number): void
}

interface WaitingFinal {
  readonly request: ReadRequest
  readonly signal: AbortSignal
  readonly sinceMs: number
  readonly resolve: (reading: Reading) => void
  readonly reject: (error: unknown) => void
  /** Called when it no longer waits. */
  readonly forget: () => void
}

interface Running {
  readonly purpose: ReadRequest['purpose']
  readonly beganAtMs: number
  readonly lengthMs: number
  readonly abort: AbortController
}

/**
 * The readings of one engine. Those of results come first, in the order in which their segments closed; a partial is
 * read only when no result waits and the reader has had time to spare. A source waits at most once, so there are at
 * most as many readings as open segments.
 */
export class ReadQueue {
  readonly #reader: Reader
  readonly #sampleRateHz: number
  readonly #scheduler: SchedulerLike
  readonly #finals: WaitingFinal[] = []
  /** Since when each waits; the one that has waited longest comes first. */
  readonly #partials = new Map<PartialSource, number>()
  #lateAtMs = -Infinity
  readonly #running = new Set<Running>()
  readonly #open = new Set<PartialSource>()
  readonly #costs = { final: new ReadingCosts(), partial: new ReadingCosts() }
  readonly #use: FadingMean
  readonly #finalUse: FadingMean
  /** How many segments were open at a time, of the same seconds. */
  readonly #speakers: FadingMean

  constructor(reader: Reader, sampleRateHz: number, scheduler: SchedulerLike) {
    this.#reader = reader
    this.#sampleRateHz = sampleRateHz
    this.#scheduler = scheduler
    this.#use = new FadingMean(useWindowMs, scheduler.now())
    this.#finalUse = new FadingMean(finalUseWindowMs, scheduler.now())
    this.#speakers = new FadingMean(finalUseWindowMs, scheduler.now())
  }

  /** A segment has begun, whose audio is read until it leaves. */
  join(source: PartialSource): void {
    this.#measureSpeakers()
    this.#open.add(source)
  }

  /** The segment has ended: it has no partial any more. */
  leave(source: PartialSource): void {
    this.#measureSpeakers()
    this.#open.delete(source)
    this.#partials.delete(source)
  }

  /** Reads for a result. Rejects if the signal is aborted. */
  readFinal(request: ReadRequest, signal: AbortSignal): Promise<Reading> {
    return new Promise((resolve, reject) => {
      const leave = (): void => this.#leave(final)
      // The signal may be there much longer than the audio of this reading.
      const forget = (): void => signal.removeEventListener('abort', leave)
      const final: WaitingFinal = { request, signal, sinceMs: this.#scheduler.now(), resolve, reject, forget }
      this.#finals.push(final)
      signal.addEventListener('abort', leave, { once: true })
      this.#startNext()
    })
  }

  /** Reads for a partial when there is time; has no effect while the source waits. */
  readPartial(source: PartialSource): void {
    if (!this.#partials.has(source)) this.#partials.set(source, this.#scheduler.now())
    this.#startNext()
  }

  /**
   * The interval within which partials come at most once, because there is no time for more; 0 if they come as usual.
   */
  get partialIntervalMs(): number {
    const nowMs = this.#scheduler.now()
    const [oldestMs = nowMs] = this.#partials.values()
    if (nowMs - oldestMs >= thinnedIntervalMs) this.#lateAtMs = nowMs
    return nowMs - this.#lateAtMs < thinnedForMs ? thinnedIntervalMs : 0
  }

  /**
   * See `Engine.waitMs`: for how long the first result waits, or how long the work takes that comes before a further
   * one.
   */
  waitMs(speakers?: number): number {
    const { perMs } = this.#costs.final
    const places = this.#reader.readsAtOnce
    if (speakers !== undefined) {
      // A speaker takes more than the reading of the speech: audio around it is read, too, and some of it again.
      const measured = this.#measureFinalUse() + (assumedSpeakers * perMs) / places
      const use = (speakers * measured) / (this.#measureSpeakers() + assumedSpeakers)
      return this.#costs.final.expectedWaitMs(use, places)
    }
    const nowMs = this.#scheduler.now()
    let workMs = 0
    for (const { request } of this.#finals) workMs += perMs * this.#lengthMs(request)
    for (const { purpose, beganAtMs, lengthMs } of this.#running) {
      if (purpose === 'final') workMs += Math.max(perMs * lengthMs - (nowMs - beganAtMs), 0)
    }
    const oldestMs = this.#finals[0]?.sinceMs ?? nowMs
    return this.#isFree ? 0 : Math.max(nowMs - oldestMs, workMs / places)
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
      if (final !== undefined) {
        final.forget()
        void this.#run(final.request, final.signal).then(final.resolve, final.reject)
      } else if (!this.#startPartial()) return
    }
    if (this.#finals.length > 0 && this.#reader.stops === true) this.#stopPartial()
  }

  /** Returns whether one began, or left the queue. */
  #startPartial(): boolean {
    if (this.#partials.size === 0 || this.#measureUse() >= maxUseForPartials) return false
    const source = [...this.#partials.keys()].find((one) => this.#leavesTime(one))
    if (source === undefined) return false
    this.#partials.delete(source)
    const request = source.request()
    if (request === undefined) return true
    const beganAtMs = this.#scheduler.now()
    void this.#run(request, new AbortController().signal)
      .catch(() => undefined)
      .then((reading) => source.done(reading, this.#scheduler.now() - beganAtMs))
    return true
  }

  /**
   * Whether a result finds a place in time while the source is read. A segment that is alone delays only its own
   * result, by less than that takes itself.
   */
  #leavesTime({ lengthMs }: PartialSource): boolean {
    const places = this.#reader.readsAtOnce
    if (this.#reader.stops === true || this.#open.size < 2 || this.#running.size + 1 < places) return true
    const waitMs = this.#costs.final.expectedWaitMs(this.#measureFinalUse(), places)
    // Bounded, because only a further partial can correct one that was measured too long.
    const perMs = Math.min(this.#costs.partial.perMs, 2 * this.#costs.final.perMs)
    return (perMs * lengthMs) / 2 + waitMs <= maxDelayMs
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
    this.#measure()
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
      const reading = await Promise.race([
        this.#reader.read(request, running.abort.signal),
        new Promise<never>((_resolve, reject) => {
          deadline = schedule(this.#scheduler, maxReadingMs, () => {
            running.abort.abort()
            reject(unanswered())
          })
        }),
      ])
      if (!running.abort.signal.aborted) {
        this.#costs[purpose].add(running.lengthMs, this.#scheduler.now() - running.beganAtMs)
      }
      return reading
    } finally {
      deadline?.unsubscribe()
      signal.removeEventListener('abort', forward)
      this.#measure()
      this.#running.delete(running)
      this.#startNext()
    }
  }

  /** Call it before a reading begins or ends. */
  #measure(): void {
    this.#measureUse()
    this.#measureFinalUse()
  }

  /** The share of the places that were busy, which fades as time passes. */
  #measureUse(): number {
    return this.#use.update(this.#running.size / this.#reader.readsAtOnce, this.#scheduler.now())
  }

  /** The same of results alone. */
  #measureFinalUse(): number {
    let finals = 0
    for (const { purpose } of this.#running) if (purpose === 'final') finals += 1
    return this.#finalUse.update(finals / this.#reader.readsAtOnce, this.#scheduler.now())
  }

  /** Call it before a segment begins or ends. */
  #measureSpeakers(): number {
    return this.#speakers.update(this.#open.size, this.#scheduler.now())
  }
}

const aborted = (): SpeechError => new SpeechError('engine-failed', 'The reading is not needed any more.')

const unanswered = (): SpeechError =>
  new SpeechError('engine-failed', `The recognizer has not answered for ${maxReadingMs / 1000} s; try again.`)
