import { decodeSamples } from '../../../audio/codec.js'
import type { AudioFormat } from '../../../audio/format.js'
import { LevelMeter } from '../../../audio/level.js'
import { defineNode } from '../core/define-node.js'
import { eventItem } from '../core/events.js'
import { nodeOptions, wholeNumberFrom } from '../core/node-options.js'
import { audioItems, audioNode, portFormat } from '../core/node-steps.js'
import type { NodeItem } from '../core/node.js'

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
