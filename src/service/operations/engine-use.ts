import { defer, finalize, tap } from 'rxjs'
import { isSpeechError } from '../../errors/speech-error.js'
import type { Engine, Hypothesis, SegmentPart } from '../engine/engine.js'

/** A segment that is not decided yet. */
interface OpenSegment {
  samples: number
  taken: number
}

/** Sums since they were last asked for. */
export interface UseSums {
  readonly opened: number
  readonly failed: number
  /** Audio that it has read. */
  readonly audioMs: number
  /** How long its threads worked for that; absent where it does not know. */
  readonly busyMs?: number
}

/** Told how an engine fares. */
export interface EngineHealth {
  /** It decided a segment, or said that it can recognize. */
  readonly worked: () => void
  /** A reading failed, whether the segment is read again or not. */
  readonly faulted: () => void
  /** It says itself that it cannot recognize. */
  readonly died: () => void
}

const noSums: UseSums = { opened: 0, failed: 0, audioMs: 0 }

/** What one model's engine is given and what it gives back, counted from outside: an engine need do nothing for it. */
export class EngineUse {
  lanes = 0
  segments = 0
  #queuedSamples = 0
  #sampleRateHz = 8000
  #sums: UseSums = noSums
  #busyMs: (() => number | undefined) | undefined
  #toldBusyMs = 0

  get queuedMs(): number {
    return (this.#queuedSamples * 1000) / this.#sampleRateHz
  }

  sinceLast(): UseSums {
    const sums = this.#sums
    this.#sums = noSums
    const nowMs = this.#busyMs?.()
    if (nowMs === undefined) return sums
    const busyMs = nowMs - this.#toldBusyMs
    this.#toldBusyMs = nowMs
    return { ...sums, busyMs }
  }

  failed(): void {
    this.#sums = { ...this.#sums, failed: this.#sums.failed + 1 }
  }

  /** The engine itself, whose lanes are counted. */
  watch(engine: Engine, health?: EngineHealth): Engine {
    this.#sums = { ...this.#sums, opened: this.#sums.opened + 1 }
    this.#sampleRateHz = engine.capabilities.sampleRateHz
    this.#busyMs = () => engine.busyMs?.()
    this.#toldBusyMs = 0
    return {
      capabilities: engine.capabilities,
      ready: async () => {
        await engine.ready().catch((error: unknown) => {
          health?.died()
          throw error
        })
        health?.worked()
      },
      busyMs: () => engine.busyMs?.(),
      close: () => engine.close(),
      recognize: () => (part$) =>
        defer(() => {
          const lane: OpenSegment[] = []
          this.lanes += 1
          return part$.pipe(
            tap((part) => {
              this.#given(lane, part)
            }),
            engine.recognize(),
            tap({
              next: (hypothesis) => {
                this.#taken(lane, hypothesis)
                if (hypothesis.type === 'segment') health?.worked()
                else if (hypothesis.type === 'fault') health?.faulted()
              },
              // One that is overloaded lives.
              error: (error: unknown) => {
                if (isSpeechError(error) && error.code === 'engine-failed') health?.faulted()
              },
            }),
            finalize(() => {
              this.lanes -= 1
              for (const segment of lane) this.#leave(segment)
            }),
          )
        }),
    }
  }

  #given(lane: OpenSegment[], part: SegmentPart): void {
    if (part.type === 'open') {
      lane.push({ samples: 0, taken: 0 })
      this.segments += 1
    } else if (part.type === 'audio') {
      const segment = lane.at(-1)
      if (segment === undefined) return
      segment.samples += part.samples.length
      this.#queuedSamples += part.samples.length
    }
  }

  /** What is taken in belongs to the oldest segment that has some left. */
  #taken(lane: OpenSegment[], hypothesis: Hypothesis): void {
    if (hypothesis.type === 'progress') {
      const segment = lane.find(({ samples, taken }) => taken < samples)
      if (segment === undefined) return
      this.#read(segment, Math.min(hypothesis.sampleCount, segment.samples - segment.taken))
    } else if (hypothesis.type === 'segment') {
      const segment = lane.shift()
      if (segment === undefined) return
      this.#read(segment, segment.samples - segment.taken)
      this.#leave(segment)
    }
  }

  #read(segment: OpenSegment, samples: number): void {
    segment.taken += samples
    this.#queuedSamples -= samples
    this.#sums = { ...this.#sums, audioMs: this.#sums.audioMs + (samples * 1000) / this.#sampleRateHz }
  }

  #leave({ samples, taken }: OpenSegment): void {
    this.segments -= 1
    this.#queuedSamples -= samples - taken
  }
}
