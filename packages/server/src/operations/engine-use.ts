import { Observable, tap } from 'rxjs'
import { type Engine, type Hypothesis, type SegmentPart, withRecognize } from 'rxspeech-engines/engine'
import { type EngineWork, isBehind } from 'rxspeech-engines/lag'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import { reserveOf } from '../sessions/tenant-shares.js'

/** A segment without a result. */
interface OpenSegment {
  readonly openedAtMs: number
  samples: number
  taken: number
  /** Of those that have a result. */
  decided: number
  closedAtMs: number | undefined
}

/** Sums since they were last read. */
export interface UseSums {
  readonly opened: number
  readonly failed: number
  /** Attempts of segments that failed. */
  readonly faults: number
  /** Audio that the engine has read. */
  readonly audioMs: number
  /** How long its threads worked on it; undefined if the engine does not report it. */
  readonly busyMs?: number | undefined
  /** Speech for which there was no time for all partials. */
  readonly thinnedMs: number
}

/** Called with the health of an engine. */
export interface EngineHealth {
  /** It returned a result, or reported that it can recognize. */
  readonly worked: (by: 'result' | 'report') => void
  /** It failed for a segment, whether that is retried or not. */
  readonly faulted: () => void
  /** It reported that it cannot recognize. */
  readonly died: () => void
}

const noSums = { opened: 0, failed: 0, faults: 0, thinnedMs: 0 }
/** The interval of `sample`. */
const sampleMs = 100

/** The lag is the largest of so many samples of 100 ms, so that it is seen between segments too. */
const samplesInWindow = 50
/** Speech is averaged over this many samples, and begins with that many channels that speak half of the time. */
const samplesOfMeans = 600
const assumedChannels = 2
const assumedSpeech = 0.5
/** An engine that has read and decided nothing for this long does not work. */
const workingMs = 5_000

/** Measures the engine of one model from outside: counts its inputs and outputs. */
export class EngineUse implements EngineWork {
  channels = 0
  progress = 0
  /** How far the engine is behind its speakers, at the worst moment of the last 5 s, in milliseconds. */
  lagMs = 0
  readonly #now: () => number
  readonly #open = new Set<OpenSegment>()
  #queuedSamples = 0
  #sampleRateHz = 8000
  #progressedAtMs = -Infinity
  #lagNowMs = 0
  readonly #lagsMs: number[] = []
  #isBehind = false
  #sums: Pick<UseSums, 'opened' | 'failed' | 'faults' | 'thinnedMs'> = noSums
  /** Samples that the engine has read since the sums were last read. */
  #readSamples = 0
  #busyMs: (() => number | undefined) | undefined
  #isLoaded: () => boolean = () => false
  #memoryBytes: () => number | undefined = () => undefined
  #reportedBusyMs = 0
  #waitMs: NonNullable<Engine['waitMs']> = () => 0
  #partialIntervalMs = (): number => 0
  #maxLagMs = 0
  #meanChannels = 0
  #meanSpeakers = 0

  /** @param now the clock, in milliseconds */
  constructor(now: () => number) {
    this.#now = now
  }

  /** While no channel is open, no partial is missed. */
  get partialIntervalMs(): number {
    return this.channels === 0 ? 0 : this.#partialIntervalMs()
  }

  get isLoaded(): boolean {
    return this.#isLoaded()
  }

  /** See `Engine.memoryBytes`. */
  get memoryBytes(): number | undefined {
    return this.#memoryBytes()
  }

  /** Segments that are open or have no result yet. */
  get segments(): number {
    return this.#open.size
  }

  /** Whether the lag exceeds the limit that is sampled; see `isBehind`. */
  get isBehind(): boolean {
    return this.#isBehind
  }

  /**
   * Whether the results of one more channel would come late, if all speak as much as those of the last time. It would
   * wait for the results of those that are there, and of as many more as the reserve has.
   */
  isFull(reservePercent = 0): boolean {
    const speech = (this.#meanSpeakers + assumedChannels * assumedSpeech) / (this.#meanChannels + assumedChannels)
    return (
      this.#maxLagMs > 0 &&
      this.#waitMs((this.channels + reserveOf.places(this.channels, reservePercent)) * speech) > this.#maxLagMs
    )
  }

  /** How long all but one in fifty results will wait if the same number of speakers goes on, in milliseconds. */
  get expectedWaitMs(): number {
    return this.#waitMs(this.#meanSpeakers)
  }

  /**
   * Measures the lag and the speech without all partials; call it every 100 ms. With the limit 0 the engine is never
   * behind.
   */
  sample(maxLagMs: number, isThinnedByService = false): void {
    const beforeMs = this.#lagNowMs
    this.#lagNowMs = Math.max(this.#measureLagMs(), this.#waitMs())
    // After a pause of this thread the first sample precedes the answers of that time.
    this.#lagsMs.push(Math.min(beforeMs, this.#lagNowMs))
    if (this.#lagsMs.length > samplesInWindow) this.#lagsMs.shift()
    this.lagMs = Math.max(...this.#lagsMs)
    this.#isBehind = maxLagMs > 0 && isBehind(this.#isBehind, this.lagMs, maxLagMs)
    let speakers = 0
    for (const { closedAtMs } of this.#open) if (closedAtMs === undefined) speakers += 1
    if (speakers > 0 && (isThinnedByService || this.#partialIntervalMs() > 0)) {
      this.#sums = { ...this.#sums, thinnedMs: this.#sums.thinnedMs + speakers * sampleMs }
    }
    this.#meanChannels += (this.channels - this.#meanChannels) / samplesOfMeans
    this.#meanSpeakers += (speakers - this.#meanSpeakers) / samplesOfMeans
    this.#maxLagMs = maxLagMs
  }

  /**
   * At least two segments, and half of the open ones, wait for the engine at least this long. A single one counts while
   * the engine reads on; otherwise its audio may be the cause. What a client sent ahead of real time does not count.
   */
  #measureLagMs(): number {
    const nowMs = this.#now()
    const [first] = this.#open
    if (first === undefined) return 0
    const isRead = first.taken < first.samples && nowMs - this.#progressedAtMs < workingMs
    if (this.#open.size === 1) return isRead ? Math.max(this.#delayMs(first, nowMs), 0) : 0
    const needed = Math.max(2, Math.ceil(this.#open.size / 2))
    const lagsMs = Float64Array.from(this.#open, (segment) => this.#delayMs(segment, nowMs)).sort()
    return Math.max(lagsMs[lagsMs.length - needed] ?? 0, 0)
  }

  get queuedMs(): number {
    return (this.#queuedSamples * 1000) / this.#sampleRateHz
  }

  sinceLast(): UseSums {
    const sums = { ...this.#sums, audioMs: (this.#readSamples * 1000) / this.#sampleRateHz }
    this.#sums = noSums
    this.#readSamples = 0
    const nowMs = this.#busyMs?.()
    if (nowMs === undefined) return sums
    const busyMs = nowMs - this.#reportedBusyMs
    this.#reportedBusyMs = nowMs
    return { ...sums, busyMs }
  }

  failed(): void {
    this.#sums = { ...this.#sums, failed: this.#sums.failed + 1 }
  }

  /** Returns the same engine with its channels counted. */
  watch(engine: Engine, health?: EngineHealth): Engine {
    this.#sums = { ...this.#sums, opened: this.#sums.opened + 1 }
    this.#sampleRateHz = engine.capabilities.sampleRateHz
    this.#busyMs = () => engine.busyMs?.()
    this.#isLoaded = () => engine.isLoaded?.() ?? true
    this.#memoryBytes = () => engine.memoryBytes?.()
    this.#waitMs = (speakers) => engine.waitMs?.(speakers) ?? 0
    this.#partialIntervalMs = () => engine.partialIntervalMs?.() ?? 0
    this.#reportedBusyMs = 0
    const counted = withRecognize(
      engine,
      (settings) => (part$) =>
        new Observable((subscriber) => {
          const channel: OpenSegment[] = []
          // The last attempt of a segment is a fault before it is the error of its channel.
          let isCounted = false
          const countFault = (): void => {
            this.#sums = { ...this.#sums, faults: this.#sums.faults + 1 }
            health?.faulted()
          }
          this.channels += 1
          subscriber.add(() => {
            this.channels -= 1
            for (const segment of channel) this.#remove(segment)
          })
          const counted$ = part$.pipe(tap((part) => this.#countInput(channel, part)))
          subscriber.add(
            counted$.pipe(engine.recognize(settings)).subscribe({
              next: (hypothesis) => {
                this.#countOutput(channel, hypothesis)
                if (hypothesis.type === 'segment') health?.worked('result')
                else if (hypothesis.type === 'fault') {
                  isCounted = !hypothesis.retried
                  countFault()
                }
                subscriber.next(hypothesis)
              },
              // An overloaded engine still works.
              error: (error: unknown) => {
                if (!isCounted && isSpeechError(error) && error.code === 'engine-failed') countFault()
                subscriber.error(error)
              },
              complete: () => subscriber.complete(),
            }),
          )
        }),
    )
    return {
      ...counted,
      ready: async () => {
        await engine.ready().catch((error: unknown) => {
          health?.died()
          throw error
        })
        health?.worked('report')
      },
    }
  }

  #countInput(channel: OpenSegment[], part: SegmentPart): void {
    if (part.type === 'open') {
      const segment = { openedAtMs: this.#now(), samples: 0, taken: 0, decided: 0, closedAtMs: undefined }
      channel.push(segment)
      this.#open.add(segment)
    } else if (part.type === 'audio') {
      const segment = channel.at(-1)
      if (segment === undefined) return
      segment.samples += part.samples.length
      this.#queuedSamples += part.samples.length
    } else if (part.type === 'close') {
      const segment = channel.at(-1)
      if (segment !== undefined) segment.closedAtMs = this.#now()
    }
  }

  /** Progress belongs to the oldest segment with unread audio. */
  #countOutput(channel: OpenSegment[], hypothesis: Hypothesis): void {
    if (hypothesis.type === 'progress') {
      if (hypothesis.sampleCount > 0) this.#progressed()
      const segment = channel.find(({ samples, taken }) => taken < samples)
      if (segment === undefined) return
      this.#countRead(segment, Math.min(hypothesis.sampleCount, segment.samples - segment.taken))
    } else if (hypothesis.type === 'segment') {
      this.#progressed()
      const { decidedSamples } = hypothesis
      const [segment] = channel
      if (segment === undefined) return
      if (decidedSamples !== undefined) {
        segment.decided += decidedSamples
        this.#countRead(segment, Math.max(segment.decided - segment.taken, 0))
        return
      }
      channel.shift()
      this.#countRead(segment, segment.samples - segment.taken)
      this.#remove(segment)
    }
  }

  #progressed(): void {
    this.progress += 1
    this.#progressedAtMs = this.#now()
  }

  #countRead(segment: OpenSegment, samples: number): void {
    segment.taken += samples
    this.#queuedSamples -= samples
    this.#readSamples += samples
  }

  #remove(segment: OpenSegment): void {
    this.#open.delete(segment)
    this.#queuedSamples -= segment.samples - segment.taken
  }

  /** The spoken audio that the engine has not read, and after the end of speech the time without a result. */
  #delayMs({ openedAtMs, samples, taken, closedAtMs }: OpenSegment, nowMs: number): number {
    const msPerSample = 1000 / this.#sampleRateHz
    const unreadMs = (samples - taken) * msPerSample
    const endMs = closedAtMs === undefined ? nowMs : Math.max(closedAtMs, openedAtMs + samples * msPerSample)
    return Math.min(unreadMs + Math.max(nowMs - endMs, 0), nowMs - openedAtMs - taken * msPerSample)
  }
}
