import { defer, finalize, tap } from 'rxjs'
import { isSpeechError } from '../../errors/speech-error.js'
import type { Engine, Hypothesis, SegmentPart } from '../engines/engine.js'

/** A segment without a result. */
interface OpenSegment {
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

const noSums: UseSums = { opened: 0, failed: 0, audioMs: 0 }

/** Measures the engine of one model from outside: counts its inputs and outputs. */
export class EngineUse {
  channels = 0
  segments = 0
  #queuedSamples = 0
  #sampleRateHz = 8000
  #sums: UseSums = noSums
  #busyMs: (() => number | undefined) | undefined
  #reportedBusyMs = 0

  get queuedMs(): number {
    return (this.#queuedSamples * 1000) / this.#sampleRateHz
  }

  sinceLast(): UseSums {
    const sums = this.#sums
    this.#sums = noSums
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
          const channel: OpenSegment[] = []
          this.channels += 1
          return part$.pipe(
            tap((part) => {
              this.#countInput(channel, part)
            }),
            engine.recognize(),
            tap({
              next: (hypothesis) => {
                this.#countOutput(channel, hypothesis)
                if (hypothesis.type === 'segment') health?.worked()
                else if (hypothesis.type === 'fault') health?.faulted()
              },
              // An overloaded engine still works.
              error: (error: unknown) => {
                if (isSpeechError(error) && error.code === 'engine-failed') health?.faulted()
              },
            }),
            finalize(() => {
              this.channels -= 1
              for (const segment of channel) this.#remove(segment)
            }),
          )
        }),
    }
  }

  #countInput(channel: OpenSegment[], part: SegmentPart): void {
    if (part.type === 'open') {
      channel.push({ samples: 0, taken: 0 })
      this.segments += 1
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
    this.#sums = { ...this.#sums, audioMs: this.#sums.audioMs + (samples * 1000) / this.#sampleRateHz }
  }

  #remove({ samples, taken }: OpenSegment): void {
    this.segments -= 1
    this.#queuedSamples -= samples - taken
  }
}
