import { decodeSamples } from '../../../audio/codec.js'
import type { AudioFormat } from '../../../audio/format.js'
import { LevelMeter } from '../../../audio/level.js'
import { audioItem, audioStage, portFormat } from '../core/audio-stage.js'
import { defineNode } from '../core/define-node.js'
import type { NodeItem } from '../core/node.js'
import { nodeOptions, wholeNumberFrom } from '../core/node-options.js'

/** The channels of one stream, measured over stretches of `framesEach`, however the frames come. */
class ChannelLevels {
  private readonly meters: readonly LevelMeter[]
  private readonly framesEach: number
  private measured = 0
  private begun = 0

  constructor(
    private readonly format: AudioFormat,
    everyMs: number,
    private readonly offsetMs: number,
  ) {
    this.meters = Array.from({ length: format.channels }, () => new LevelMeter())
    this.framesEach = Math.max(1, Math.round((everyMs * format.sampleRateHz) / 1000))
  }

  take(bytes: Uint8Array): readonly NodeItem[] {
    const { encoding, channels } = this.format
    const samples = decodeSamples(bytes, encoding)
    const frameCount = samples.length / channels
    const events: NodeItem[] = []
    for (let from = 0; from < frameCount;) {
      const to = Math.min(frameCount, from + this.begun + this.framesEach - this.measured)
      this.meters.forEach((meter, channel) => {
        meter.add(samples, from * channels + channel, to * channels, channels)
      })
      this.measured += to - from
      from = to
      if (this.measured - this.begun >= this.framesEach) events.push(...this.tell())
    }
    return events
  }

  /** What has been measured since the last events, one event a channel. */
  tell(): readonly NodeItem[] {
    if (this.measured === this.begun) return []
    const [startMs, endMs] = [this.ms(this.begun), this.ms(this.measured)]
    this.begun = this.measured
    return this.meters.map((meter, channel): NodeItem => {
      const { rmsDbfs, peakDbfs } = meter.take()
      const data = { RmsDbfs: rounded(rmsDbfs), PeakDbfs: rounded(peakDbfs) }
      return { type: 'event', event: { name: 'Level', channel, startMs, endMs, data } }
    })
  }

  private ms(frames: number): number {
    return this.offsetMs + Math.round((frames * 1000) / this.format.sampleRateHz)
  }
}

const rounded = (db: number): number => Number(db.toFixed(2))

/** Audio passes as it is; for every `everyMs` of it each channel's level is told, and what is left at the end too. */
export const levelMeter = defineNode({
  name: 'level-meter',
  summary: 'Tells how loud each channel is.',
  inputs: { audio: 'audio' },
  outputs: { audio: 'audio', levels: 'event' },
  options: nodeOptions({}, { everyMs: wholeNumberFrom(20, 60_000) }),
  open: ({ everyMs = 1000 }, { inputs, offsetMs = 0 }) => {
    const format = portFormat(inputs, 'audio')
    return audioStage(() => {
      const levels = new ChannelLevels(format, everyMs, offsetMs)
      return {
        take: ({ bytes }) => [...audioItem(bytes), ...levels.take(bytes)],
        finish: () => levels.tell(),
      }
    })
  },
})
