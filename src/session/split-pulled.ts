import { bytesPerFrame, bytesPerSample, type AudioFormat } from '../audio/format.js'
import { deinterleaveChannels } from '../audio/channels.js'
import { joinBytes } from '../audio/join-bytes.js'
import type { Puller } from './puller.js'

/** How many chunks one channel may run ahead of the other before it waits. */
const maxAhead = 64

/**
 * Splits a pulled stereo source into two pulled mono ones. Whoever needs audio first pulls for both; a channel that
 * runs ahead waits for the other, so that the memory is bounded. The source is released when both have ended.
 */
export const splitPulled = (
  puller: Puller,
  format: AudioFormat,
): readonly [AsyncIterable<Uint8Array>, AsyncIterable<Uint8Array>] => {
  const split = new PulledSplit(puller, format)
  return [split.channel(0), split.channel(1)]
}

class PulledSplit {
  readonly #puller: Puller
  readonly #format: AudioFormat
  readonly #waiting: readonly [Uint8Array[], Uint8Array[]] = [[], []]
  readonly #left: [boolean, boolean] = [false, false]
  #cut: Uint8Array = new Uint8Array(0)
  #ended = false
  #pull: Promise<void> | undefined
  #change: { readonly promise: Promise<void>; readonly signal: () => void } = changeSignal()

  constructor(puller: Puller, format: AudioFormat) {
    this.#puller = puller
    this.#format = format
  }

  channel(own: 0 | 1): AsyncIterable<Uint8Array> {
    const next = (): Promise<IteratorResult<Uint8Array, undefined>> => this.#next(own)
    const release = (): Promise<IteratorResult<Uint8Array, undefined>> => {
      this.#leave(own)
      return Promise.resolve({ done: true, value: undefined })
    }
    return { [Symbol.asyncIterator]: () => ({ next, return: release }) }
  }

  async #next(own: 0 | 1): Promise<IteratorResult<Uint8Array, undefined>> {
    const other = own === 0 ? 1 : 0
    while (!this.#left[own]) {
      const chunk = this.#waiting[own].shift()
      if (chunk !== undefined) {
        this.#changed()
        return { done: false, value: chunk }
      }
      if (this.#ended) break
      if (!this.#left[other] && this.#waiting[other].length >= maxAhead) await this.#change.promise
      else await (this.#pull ??= this.#pullBoth())
    }
    return { done: true, value: undefined }
  }

  #leave(own: 0 | 1): void {
    this.#left[own] = true
    this.#waiting[own].length = 0
    this.#changed()
    if (this.#left[own === 0 ? 1 : 0] && !this.#ended) this.#puller.release()
  }

  async #pullBoth(): Promise<void> {
    try {
      const result = await this.#puller.next()
      if (result.done === true) this.#end()
      else this.#share(result.value)
    } finally {
      this.#pull = undefined
    }
  }

  #share(chunk: Uint8Array): void {
    const bytes = this.#cut.length === 0 ? chunk : joinBytes(this.#cut, chunk)
    const whole = bytes.length - (bytes.length % bytesPerFrame(this.#format))
    this.#cut = bytes.slice(whole)
    if (whole === 0) return
    const channels = deinterleaveChannels(bytes.subarray(0, whole), bytesPerSample(this.#format))
    for (const channel of [0, 1] as const) {
      if (!this.#left[channel]) this.#waiting[channel].push(channels[channel])
    }
  }

  /** A cut frame at the end goes to the left channel, whose session tells it as a gap. */
  #end(): void {
    this.#ended = true
    if (this.#cut.length > 0) this.#waiting[0].push(this.#cut)
  }

  #changed(): void {
    this.#change.signal()
    this.#change = changeSignal()
  }
}

const changeSignal = (): { readonly promise: Promise<void>; readonly signal: () => void } => {
  let signal = (): void => undefined
  const promise = new Promise<void>((resolve) => {
    signal = resolve
  })
  return { promise, signal }
}
