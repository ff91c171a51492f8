import { either } from 'fp-ts'
import { decodeSamples, encodeSamples } from '../../../audio/codec.js'
import type { AudioFormat } from '../../../audio/format.js'
import { mixToMono, mixToStereo } from '../../../audio/mix.js'
import { AlignedPair, type Pair, type Side } from './aligned-pair.js'
import { audioItem, audioStage, portFormat } from '../core/audio-stage.js'
import { defineNode } from '../core/define-node.js'
import type { NodeItem, PortFormats } from '../core/node.js'
import { nodeOptions, numberFrom, oneOfWords, wholeNumberFrom } from '../core/node-options.js'

const mixedFormats = (
  { left, right }: PortFormats,
  to: 'mono' | 'stereo',
): either.Either<string, { readonly audio: AudioFormat }> => {
  if (left?.channels !== 1 || right?.channels !== 1)
    return either.left('channel-mix needs mono audio at left and right')
  if (left.sampleRateHz !== right.sampleRateHz) {
    const rates = `${left.sampleRateHz} and ${right.sampleRateHz} Hz`
    return either.left(`channel-mix needs one sample rate at left and right, not ${rates}: put a resample before one`)
  }
  return either.right({ audio: { ...left, channels: to === 'mono' ? 1 : 2 } })
}

/**
 * Two mono streams become one, stereo or mono, in the encoding of the left. What comes in at the same place of either
 * stream belongs together. The faster side waits for the slower by at most `maxWaitMs` of audio; beyond that, silence
 * stands in for the slower, as it does when that side has ended, and what comes too late is left out and told.
 */
export const channelMix = defineNode({
  name: 'channel-mix',
  summary: 'Joins two mono streams into a stereo or a mono one.',
  inputs: { left: 'audio', right: 'audio' },
  outputs: { audio: 'audio', late: 'event' },
  options: nodeOptions(
    {},
    {
      to: oneOfWords('mono', 'stereo'),
      leftWeight: numberFrom(0, 4),
      rightWeight: numberFrom(0, 4),
      maxWaitMs: wholeNumberFrom(20, 30_000),
    },
  ),
  formats: (inputs, { to = 'stereo' }) => mixedFormats(inputs, to),
  open: (options, { inputs }) => {
    const { to = 'stereo', maxWaitMs = 1000 } = options
    const { leftWeight = to === 'mono' ? 0.5 : 1, rightWeight = to === 'mono' ? 0.5 : 1 } = options
    const formats = { left: portFormat(inputs, 'left'), right: portFormat(inputs, 'right') }
    const samplesPerMs = formats.left.sampleRateHz / 1000
    const mix = to === 'mono' ? mixToMono : mixToStereo
    const weights = { left: leftWeight, right: rightWeight }
    const mixed = ({ left, right }: Pair): readonly NodeItem[] =>
      audioItem(encodeSamples(mix(left, right, weights), formats.left.encoding))
    return audioStage(() => {
      const pair = new AlignedPair(Math.round(maxWaitMs * samplesPerMs))
      const late = new LateAudio(samplesPerMs)
      return {
        take: ({ bytes, port }) => {
          const side = port === 'right' ? 'right' : 'left'
          const { lateSamples, ...ready } = pair.add(side, decodeSamples(bytes, formats[side].encoding))
          late.add(side, lateSamples)
          return [...mixed(ready), ...late.due(pair.position)]
        },
        finish: () => [...mixed(pair.finish()), ...late.due(Infinity)],
      }
    })
  },
})

/** What came too late, told at once and from then on once in a second of audio, for it may be every piece. */
class LateAudio {
  private readonly lost = { left: 0, right: 0 }
  private nextAt = 0

  constructor(private readonly samplesPerMs: number) {}

  add(side: Side, sampleCount: number): void {
    this.lost[side] += sampleCount
  }

  due(position: number): readonly NodeItem[] {
    if (position < this.nextAt || this.lost.left + this.lost.right === 0) return []
    this.nextAt = position + 1000 * this.samplesPerMs
    const sides = (['left', 'right'] as const).filter((side) => this.lost[side] > 0)
    return sides.map((side): NodeItem => {
      const data = { LostMsec: Math.round(this.lost[side] / this.samplesPerMs) }
      this.lost[side] = 0
      return { type: 'event', event: { name: 'Audio Late', channel: side === 'left' ? 0 : 1, data } }
    })
  }
}
