import type { Engine, RecognizeSettings } from 'rxspeech-engines/engine'
import type { ChannelEvent } from 'rxspeech-server/recognition/channel-event'
import { RecognitionChannel } from 'rxspeech-server/recognition/recognition-channel'
import { projectSegmenterParameters } from 'rxspeech-server/recognition/segmenter-parameters'
import { decodeChannels } from 'rxspeech/internal/audio/codec'
import { atTakenRate, type SendableAudio } from '../input/sendable-audio.js'

/** A segment of a recording: its text, or that the model knows none. */
export type Heard = Extract<ChannelEvent, { readonly type: 'milestone' | 'no-match' }> & { readonly channel: number }

/** Audio that a channel may have in the engine before more is read. */
const maxPendingSamples = 80_000

/** The segments of a recording in the order of time. Silence ends nothing. Rejects with the error of the engine. */
export const hear = async (
  engine: Engine,
  recording: SendableAudio,
  signal: AbortSignal,
  settings?: RecognizeSettings,
): Promise<readonly Heard[]> => {
  const heard: Heard[] = []
  const { format, audio } = atTakenRate(recording)
  const channels = Array.from(
    { length: format.channels },
    (_none, channel) =>
      new HeardChannel(engine, settings, format.sampleRateHz, (event) => {
        if (event.type === 'milestone' || event.type === 'no-match') heard.push({ ...event, channel })
      }),
  )
  const abort = (): void => {
    for (const channel of channels) channel.stop(signal.reason)
  }
  signal.addEventListener('abort', abort)
  try {
    for await (const piece of audio) {
      decodeChannels(piece, format).forEach((samples, at) => channels[at]?.push(samples))
      await Promise.all(channels.map((channel) => channel.whenReady()))
    }
    await Promise.all(channels.map((channel) => channel.end()))
  } finally {
    signal.removeEventListener('abort', abort)
    for (const channel of channels) channel.stop()
  }
  return heard.toSorted((a, b) => a.startMs - b.startMs || a.channel - b.channel)
}

/** A channel as promises: `whenReady` bounds what waits for the engine. */
class HeardChannel {
  readonly #channel: RecognitionChannel
  readonly #ended: Promise<void>
  #complete: () => void = () => undefined
  #fail: (error: unknown) => void = () => undefined
  #pendingSamples = 0
  #wake: () => void = () => undefined

  constructor(
    engine: Engine,
    settings: RecognizeSettings | undefined,
    sampleRateHz: number,
    emit: (event: ChannelEvent) => void,
  ) {
    this.#ended = new Promise((resolve, reject) => {
      this.#complete = resolve
      this.#fail = reject
    })
    // It is awaited later; until then its rejection is not unhandled.
    this.#ended.catch(() => undefined)
    const options = {
      engine,
      settings,
      sampleRateHz,
      parameters: projectSegmenterParameters,
      closeAfterSilentWallMs: 0,
      finalizeAfterMs: 0,
      graceful: 'off',
    } as const
    this.#channel = new RecognitionChannel(options, {
      next: (event) => {
        emit(event)
        if (event.type === 'progress') this.#processed(event.sampleCount)
      },
      inputEnded: () => this.#processed(Infinity),
      error: (error) => this.#fail(error),
      complete: () => this.#complete(),
    })
    this.#channel.start()
  }

  push(samples: Int16Array): void {
    this.#pendingSamples += samples.length
    this.#channel.push(samples)
  }

  /** Resolves when more audio may follow; rejects with the error of the engine. */
  async whenReady(): Promise<void> {
    while (this.#pendingSamples > maxPendingSamples) {
      await Promise.race([this.#ended, new Promise<void>((resolve) => (this.#wake = resolve))])
    }
  }

  /** Resolves after the last segment; rejects with the error of the engine. */
  async end(): Promise<void> {
    this.#channel.complete()
    await this.#ended
  }

  stop(reason?: unknown): void {
    this.#channel.unsubscribe()
    if (reason === undefined) this.#complete()
    else this.#fail(reason)
  }

  #processed(sampleCount: number): void {
    this.#pendingSamples -= sampleCount
    this.#wake()
  }
}
