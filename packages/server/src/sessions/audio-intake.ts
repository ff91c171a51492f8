import type { SchedulerLike } from 'rxjs'
import type { ModelRegistry } from 'rxspeech-engines/models/model-registry'
import type { SoundCheck } from 'rxspeech/internal/audio/sound-check/sound-check'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { SessionWatch } from '../monitor/session-watch.js'
import type { HeldAudio } from './held-audio.js'
import { minAudioMs } from './request-limit.js'

export interface AudioIntakeOptions {
  readonly frameBytes: number
  readonly sampleRateHz: number
  readonly pace: PaceLimit
  readonly watch?: SessionWatch | undefined
  readonly audio: HeldAudio
  /** Made with the first audio, because it has memory for it. */
  readonly openSoundCheck: () => SoundCheck
}

/** Passes the audio of a client to its session: one call per message. */
export class AudioIntake {
  readonly #frameBytes: number
  readonly #minBytes: number
  readonly #pace: PaceLimit
  readonly #watch: SessionWatch | undefined
  readonly #audio: HeldAudio
  readonly #openSoundCheck: () => SoundCheck
  #sound: SoundCheck | undefined

  constructor({ frameBytes, sampleRateHz, pace, watch, audio, openSoundCheck }: AudioIntakeOptions) {
    this.#frameBytes = frameBytes
    this.#minBytes = (frameBytes * sampleRateHz * minAudioMs) / 1000
    this.#pace = pace
    this.#watch = watch
    this.#audio = audio
    this.#openSoundCheck = openSoundCheck
  }

  /** Whether a message has so little audio that it counts as a request in part. */
  isShort({ length }: Uint8Array): boolean {
    return length < this.#minBytes
  }

  /** Passes the audio to the session; returns the refusal if it cuts a frame or arrives too fast. */
  take(bytes: Uint8Array): SpeechError | undefined {
    const frameCount = bytes.length / this.#frameBytes
    if (!Number.isInteger(frameCount)) {
      const text = `An audio message of ${bytes.length} bytes cuts a sample; send a multiple of ${this.#frameBytes} bytes.`
      return new SpeechError('cut-sample', text)
    }
    const tooFast = this.#pace.take(frameCount)
    // An empty message does not reset the idle timer.
    if (tooFast !== undefined || frameCount === 0) return tooFast
    this.#watch?.audio(frameCount)
    this.#audio.add(bytes, frameCount)
    this.#sound ??= this.#openSoundCheck()
    this.#sound.push(bytes)
    return undefined
  }
}

export interface PaceLimits {
  /** How fast audio may arrive, in percent of real time; 0 is without a limit. @default 125 */
  readonly maxPacePercent: number
  /** How much audio may arrive ahead of that pace, in milliseconds. @default 5000 */
  readonly paceBurstMs: number
}

export interface PaceOptions {
  readonly limits: PaceLimits
  readonly scheduler: SchedulerLike
  readonly sampleRateHz: number
  /**
   * When the client requested the session, by the scheduler's clock: audio from then until it was ready may arrive at
   * once.
   */
  readonly requestedAtMs: number
  /** Whether the models of the session allow any pace; called only when audio is too fast. */
  readonly allowBatch: () => boolean
}

/**
 * Limits how fast audio arrives (PROTOCOL 8): all audio since the first message may be at most the burst, and the pace
 * times the time since then. The sum counts, so a client that sends in real time is never too fast, however long its
 * network was blocked.
 */
export class PaceLimit {
  readonly #options: PaceOptions
  readonly #readyAtMs: number
  #startedAtMs: number | undefined
  #sampleCount = 0
  /** So many samples cannot be too much, however fast they arrive, by the last look at the clock. */
  #allowedSamples = 0

  constructor(options: PaceOptions) {
    this.#options = options
    this.#readyAtMs = options.scheduler.now()
  }

  /** Counts samples of each channel: returns `too-fast` if that is too much by now. */
  take(sampleCount: number): SpeechError | undefined {
    const { limits, scheduler, sampleRateHz, requestedAtMs, allowBatch } = this.#options
    const { maxPacePercent, paceBurstMs } = limits
    if (maxPacePercent === 0) return undefined
    this.#sampleCount += sampleCount
    if (this.#sampleCount <= this.#allowedSamples) return undefined
    this.#startedAtMs ??= scheduler.now()
    const elapsedMs = scheduler.now() - this.#startedAtMs + this.#readyAtMs - requestedAtMs
    const aheadMs = (this.#sampleCount * 1000) / sampleRateHz - (elapsedMs * maxPacePercent) / 100
    this.#allowedSamples = this.#sampleCount + ((paceBurstMs - aheadMs) * sampleRateHz) / 1000
    return aheadMs <= paceBurstMs || allowBatch() ? undefined : tooFast(limits)
  }
}

const tooFast = ({ maxPacePercent, paceBurstMs }: PaceLimits): SpeechError =>
  new SpeechError(
    'too-fast',
    `Audio arrived faster than ${maxPacePercent / 100} times real time after a burst of ${paceBurstMs / 1000} s; send it at the pace of real time.`,
  )

export interface BatchModels {
  /** The registry, which counts the models that are opened through it. */
  readonly models: ModelRegistry
  /** Whether a model was opened, and every opened model allows audio that is faster than real time. */
  readonly allowBatch: () => boolean
}

/** Tracks which models a session opens: `"batch": true` in the `model.json` of all of them disables the pace limit. */
export const batchModels = (models: ModelRegistry): BatchModels => {
  let opened = 0
  let batch = 0
  return {
    models: {
      ...models,
      engine: async (model) => {
        const engine = await models.engine(model)
        opened += 1
        if (model.options['batch'] === true) batch += 1
        return engine
      },
    },
    allowBatch: () => opened > 0 && opened === batch,
  }
}
