import type * as t from 'io-ts'
import {
  type AudioFormat,
  bytesPerFrame,
  defineNode,
  type EventEnvelope,
  flag,
  type NodeItem,
  nodeOptions,
  numberFrom,
} from 'rxspeech-server/nodes'
import { eventItem } from 'rxspeech-server/nodes/core/events'
import { audioItems, audioNode, type NodeSteps, portFormat } from 'rxspeech-server/nodes/core/node-steps'
import { decodeChannels } from 'rxspeech/internal/audio/codec'
import { DtmfDetector, type DtmfDigit, type SampleSpan } from './dtmf-digits.js'
import { bytesPerSample } from 'rxspeech/internal/audio/format'
import { silentByte } from 'rxspeech/internal/audio/silence'

const options = nodeOptions({}, { suppress: flag, minLevelDbm0: numberFrom(-50, 0) })

/**
 * Detects the digits of a telephone keypad (ITU-T Q.23, Q.24; the criteria are those of `DtmfDetector`). When the tone
 * of a digit has ended, the event `DTMF` with `Data` {Digit, DurationMsec} follows on its channel. The digits do not
 * depend on the size of the chunks. Audio passes unchanged; with `suppress` the tones are silenced, for which up to 150
 * ms of audio are held back. `minLevelDbm0` (default -30) is the level of the weakest tone that counts.
 */
export const dtmfDetector = defineNode({
  name: 'dtmf-detector',
  summary: 'Detects the digits of a telephone keypad, and can silence them.',
  inputs: { audio: 'audio' },
  outputs: { audio: 'audio', events: 'event' },
  options,
  open: (given, { inputs, offsetMs = 0 }) => {
    const format = portFormat(inputs)
    return audioNode(() => detectorSteps(given, format, offsetMs))
  },
})

const detectorSteps = (
  { suppress = false, minLevelDbm0 }: t.TypeOf<typeof options>,
  format: AudioFormat,
  offsetMs: number,
): NodeSteps<Extract<NodeItem, { type: 'audio' }>> => {
  const held = new SilencingBuffer(format)
  const detectors = Array.from({ length: format.channels }, () => new DtmfDetector(format.sampleRateHz, minLevelDbm0))
  const eventsOf = (digits: readonly DtmfDigit[], channel: number): readonly NodeItem[] =>
    digits.map((digit) => eventItem(envelopeOf(digit, channel, format.sampleRateHz, offsetMs)))
  /** Silences the known tones and releases the audio before the first undecided sample. */
  const release = (digits: readonly (readonly DtmfDigit[])[]): readonly NodeItem[] => {
    detectors.forEach((detector, channel) => {
      const { runningTone } = detector
      for (const digit of digits[channel] ?? []) held.silence(channel, detector.spanWithEdges(digit))
      if (runningTone !== undefined) held.silence(channel, runningTone)
    })
    return held
      .release(Math.min(...detectors.map(({ settledSample }) => settledSample)))
      .flatMap((bytes) => audioItems(bytes))
  }
  return {
    take: ({ bytes }) => {
      const channels = decodeChannels(bytes, format)
      const digits = detectors.map((detector, channel) => detector.take(channels[channel] ?? new Int16Array(0)))
      if (!suppress) return [{ type: 'audio', bytes }, ...digits.flatMap(eventsOf)]
      held.add(bytes)
      return [...release(digits), ...digits.flatMap(eventsOf)]
    },
    finish: () => {
      const digits = detectors.map((detector) => detector.end())
      return [
        ...release(digits),
        ...held.releaseAll().flatMap((bytes) => audioItems(bytes)),
        ...digits.flatMap(eventsOf),
      ]
    },
  }
}

const envelopeOf = (
  { digit, startSample, endSample }: DtmfDigit,
  channel: number,
  sampleRateHz: number,
  offsetMs: number,
): EventEnvelope => {
  const startMs = Math.round((startSample * 1000) / sampleRateHz)
  const endMs = Math.round((endSample * 1000) / sampleRateHz)
  return {
    name: 'DTMF',
    channel,
    startMs: offsetMs + startMs,
    endMs: offsetMs + endMs,
    data: { Digit: digit, DurationMsec: endMs - startMs },
  }
}

/** Holds audio back until it is known which spans of which channel to silence. Frames count from the first one. */
class SilencingBuffer {
  readonly #format: AudioFormat
  #chunks: Uint8Array[] = []
  /** The first frame of the first chunk, and the frame behind the last chunk. */
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

  /** Silences the part of the span that is still held. */
  silence(channel: number, span: SampleSpan): void {
    this.#spans[channel]?.push(span)
  }

  /** Releases the frames before `untilFrame` in their original chunks; chunks with silenced spans are copies. */
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

  /** `bytes` begin with the first frame that is held. */
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
