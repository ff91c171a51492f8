import { Observable, tap } from 'rxjs'
import { isSpeechError } from '../../errors/speech-error.js'
import { withRecognize, type Engine, type Hypothesis, type SegmentPart } from '../engines/engine.js'

/** A segment without a result. */
interface OpenSegment {
  readonly openedAtMs: number
  samples: number
  taken: number
}

/** Sums since they were last read. */
export interface UseSums {
  readonly opened: number
  readonly failed: number
  /** Audio that the engine has read. */
  readonly audioMs: number
  /** How long its threads worked on it; undefined if the engine does not report it. */
  readonly busyMs?: number | undefined
}

/** Called with the health of an engine. */
export interface EngineHealth {
  /** It returned a result, or reported that it can recognize. */
  readonly worked: () => void
  /** It failed for a segment, whether that is retried or not. */
  readonly faulted: () => void
  /** It reported that it cannot recognize. */
  readonly died: () => void
}

const noSums = { opened: 0, failed: 0 }

/** Measures the engine of one model from outside: counts its inputs and outputs. */
export class EngineUse {
  channels = 0
  readonly #now: () => number
  readonly #open = new Set<OpenSegment>()
  #queuedSamples = 0
  #sampleRateHz = 8000
  #sums: Pick<UseSums, 'opened' | 'failed'> = noSums
  /** Samples that the engine has read since the sums were last read. */
  #readSamples = 0
  #busyMs: (() => number | undefined) | undefined
  #reportedBusyMs = 0

  /** @param now the clock, in milliseconds */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Segments that are open or have no result yet. */
  get segments(): number {
    return this.#open.size
  }

  /**
   * Whether at least two segments, and half of the open ones, wait for the engine longer than this. What a client sent
   * ahead of real time does not count.
   */
  isBehind(limitMs: number): boolean {
    if (limitMs === 0 || this.#open.size < 2) return false
    const nowMs = this.#now()
    let behind = 0
    for (const segment of this.#open) if (this.#delayMs(segment, nowMs) > limitMs) behind += 1
    return behind >= 2 && behind * 2 >= this.#open.size
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
    this.#reportedBusyMs = 0
    const counted = withRecognize(
      engine,
      (settings) => (part$) =>
        new Observable((subscriber) => {
          const channel: OpenSegment[] = []
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
                if (hypothesis.type === 'segment') health?.worked()
                else if (hypothesis.type === 'fault') health?.faulted()
                subscriber.next(hypothesis)
              },
              // An overloaded engine still works.
              error: (error: unknown) => {
                if (isSpeechError(error) && error.code === 'engine-failed') health?.faulted()
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
        health?.worked()
      },
    }
  }

  #countInput(channel: OpenSegment[], part: SegmentPart): void {
    if (part.type === 'open') {
      const segment = { openedAtMs: this.#now(), samples: 0, taken: 0 }
      channel.push(segment)
      this.#open.add(segment)
    } else if (part.type === 'audio') {
      const segment = channel.at(-1)
      if (segment === undefined) return
      segment.samples += part.samples.length
      this.#queuedSamples += part.samples.length
    }
  }

  /** Progress belongs to the oldest segment with unread audio. */
  #countOutput(channel: OpenSegment[], hypothesis: Hypothesis): void {
    if (hypothesis.type === 'progress') {
      const segment = channel.find(({ samples, taken }) => taken < samples)
      if (segment === undefined) return
      this.#countRead(segment, Math.min(hypothesis.sampleCount, segment.samples - segment.taken))
    } else if (hypothesis.type === 'segment') {
      const segment = channel.shift()
      if (segment === undefined) return
      this.#countRead(segment, segment.samples - segment.taken)
      this.#remove(segment)
    }
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

  /** How much of the audio that was spoken by now the engine has not read. */
  #delayMs({ openedAtMs, samples, taken }: OpenSegment, nowMs: number): number {
    const msPerSample = 1000 / this.#sampleRateHz
    return Math.min((samples - taken) * msPerSample, nowMs - openedAtMs - taken * msPerSample)
  }
}
