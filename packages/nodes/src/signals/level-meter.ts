import {
  type AudioFormat,
  decodeSamples,
  defineNode,
  type NodeItem,
  nodeOptions,
  wholeNumberFrom,
} from 'rxspeech-server/nodes'
import { eventItem } from 'rxspeech-server/nodes/core/events'
import { audioItems, audioNode, portFormat } from 'rxspeech-server/nodes/core/node-steps'

/** Passes audio unchanged and reports the level of each channel for every `everyMs` of it, and for the remainder. */
export const levelMeter = defineNode({
  name: 'level-meter',
  summary: 'Reports the level of each channel.',
  inputs: { audio: 'audio' },
  outputs: { audio: 'audio', levels: 'event' },
  options: nodeOptions({}, { everyMs: wholeNumberFrom(20, 60_000) }),
  open: ({ everyMs = 1000 }, { inputs, offsetMs = 0 }) => {
    const format = portFormat(inputs)
    return audioNode(() => {
      const levels = new ChannelLevels(format, everyMs, offsetMs)
      return {
        take: ({ bytes }) => [...audioItems(bytes), ...levels.take(bytes)],
        finish: () => levels.report(),
      }
    })
  },
})

/** The levels of the channels of one stream over stretches of equal length, independent of the size of the chunks. */
class ChannelLevels {
  readonly #format: AudioFormat
  readonly #offsetMs: number
  readonly #meters: readonly LevelMeter[]
  readonly #framesPerReport: number
  #measured = 0
  #begin = 0

  constructor(format: AudioFormat, everyMs: number, offsetMs: number) {
    this.#format = format
    this.#offsetMs = offsetMs
    this.#meters = Array.from({ length: format.channels }, () => new LevelMeter())
    this.#framesPerReport = Math.max(1, Math.round((everyMs * format.sampleRateHz) / 1000))
  }

  take(bytes: Uint8Array): readonly NodeItem[] {
    const { encoding, channels } = this.#format
    const samples = decodeSamples(bytes, encoding)
    const frameCount = samples.length / channels
    const events: NodeItem[] = []
    for (let from = 0; from < frameCount;) {
      const to = Math.min(frameCount, from + this.#begin + this.#framesPerReport - this.#measured)
      this.#meters.forEach((meter, channel) => {
        meter.add(samples, from * channels + channel, to * channels, channels)
      })
      this.#measured += to - from
      from = to
      if (this.#measured - this.#begin >= this.#framesPerReport) events.push(...this.report())
    }
    return events
  }

  /** One event a channel for what was measured since the last report. */
  report(): readonly NodeItem[] {
    if (this.#measured === this.#begin) return []
    const [startMs, endMs] = [this.#ms(this.#begin), this.#ms(this.#measured)]
    this.#begin = this.#measured
    return this.#meters.map((meter, channel) => {
      const { rmsDbfs, peakDbfs } = meter.take()
      const data = { RmsDbfs: rounded(rmsDbfs), PeakDbfs: rounded(peakDbfs) }
      return eventItem({ name: 'Level', channel, startMs, endMs, data })
    })
  }

  #ms(frames: number): number {
    return this.#offsetMs + Math.round((frames * 1000) / this.#format.sampleRateHz)
  }
}

const rounded = (db: number): number => Number(db.toFixed(2))

/** 16-bit full scale. The RMS of a full-scale sine is −3.01 dBFS, that of a full-scale square wave 0. */
const fullScale = 32_768
/** The level of silence, which is the lowest level reported. */
const silenceDbfs = -100

/** The level of a section of one channel in dB of full scale, from −100 for silence to 0. */
interface Level {
  readonly rmsDbfs: number
  readonly peakDbfs: number
}

const decibels = (share: number): number => Math.max(silenceDbfs, Math.min(0, 20 * Math.log10(share)))

/** Measures consecutive sections of one channel. */
class LevelMeter {
  #squares = 0
  #peak = 0
  #count = 0

  /** Adds the samples at `first`, `first + step`, … before `end`, which are one channel of interleaved samples. */
  add(samples: Int16Array, first = 0, end = samples.length, step = 1): void {
    for (let index = first; index < end; index += step) {
      const magnitude = Math.abs(samples[index] ?? 0)
      if (magnitude > this.#peak) this.#peak = magnitude
      this.#squares += magnitude * magnitude
      this.#count += 1
    }
  }

  /** The level of the samples added since the last call; silence if there were none. */
  take(): Level {
    const rms = this.#count === 0 ? 0 : Math.sqrt(this.#squares / this.#count)
    const level = { rmsDbfs: decibels(rms / fullScale), peakDbfs: decibels(this.#peak / fullScale) }
    this.#squares = 0
    this.#peak = 0
    this.#count = 0
    return level
  }
}
