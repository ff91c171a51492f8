import type { SampleSpan } from '../../../audio/dtmf-detector.js'
import { bytesPerFrame, bytesPerSample, type AudioFormat } from '../../../audio/format.js'
import { silentByte } from '../../../audio/silence.js'

/** Audio that waits until it is known which parts of which channel have to be silent. Frames count from the first one. */
export class HeldAudio {
  readonly #format: AudioFormat
  #chunks: Uint8Array[] = []
  /** The frame that the first chunk begins with, and the one after the last. */
  #startFrame = 0
  #endFrame = 0
  readonly #spans: readonly SampleSpan[][]

  constructor(format: AudioFormat) {
    this.#format = format
    this.#spans = Array.from({ length: format.channels }, () => [])
  }

  add(bytes: Uint8Array): void {
    if (bytes.byteLength === 0) return
    this.#chunks.push(bytes)
    this.#endFrame += bytes.byteLength / bytesPerFrame(this.#format)
  }

  /** The span of the channel is to be silent, as far as it is still here. */
  silence(channel: number, span: SampleSpan): void {
    this.#spans[channel]?.push(span)
  }

  /** Lets go what lies before the frame, in the pieces in which it came; what is silenced is a copy. */
  release(untilFrame: number): readonly Uint8Array[] {
    const released: Uint8Array[] = []
    const frameBytes = bytesPerFrame(this.#format)
    for (let chunk = this.#chunks[0]; chunk !== undefined; chunk = this.#chunks[0]) {
      const frames = Math.min(chunk.byteLength / frameBytes, untilFrame - this.#startFrame)
      if (frames <= 0) break
      released.push(this.#silenced(chunk.subarray(0, frames * frameBytes)))
      this.#startFrame += frames
      if (frames * frameBytes === chunk.byteLength) this.#chunks.shift()
      else this.#chunks[0] = chunk.subarray(frames * frameBytes)
    }
    for (const spans of this.#spans) {
      while (spans[0] !== undefined && spans[0].endSample <= this.#startFrame) spans.shift()
    }
    return released
  }

  releaseAll(): readonly Uint8Array[] {
    return this.release(this.#endFrame)
  }

  /** The bytes that begin with the first frame held. */
  #silenced(bytes: Uint8Array): Uint8Array {
    const frameBytes = bytesPerFrame(this.#format)
    const sampleBytes = bytesPerSample(this.#format)
    const frames = bytes.byteLength / frameBytes
    let silenced = bytes
    this.#spans.forEach((spans, channel) => {
      for (const { startSample, endSample } of spans) {
        const from = Math.max(0, startSample - this.#startFrame)
        const to = Math.min(frames, endSample - this.#startFrame)
        if (from >= to) continue
        if (silenced === bytes) silenced = new Uint8Array(bytes)
        for (let frame = from; frame < to; frame += 1) {
          const at = frame * frameBytes + channel * sampleBytes
          silenced.fill(silentByte(this.#format.encoding), at, at + sampleBytes)
        }
      }
    })
    return silenced
  }
}
