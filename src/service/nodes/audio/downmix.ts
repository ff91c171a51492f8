import { either } from 'fp-ts'
import { decodeSamples, encodeSamples } from '../../../audio/codec.js'
import { downmixFrames } from '../../../audio/mix.js'
import { audioItem, audioStage, portFormat } from '../core/audio-stage.js'
import { defineNode } from '../core/define-node.js'
import { nodeOptions, numberFrom } from '../core/node-options.js'

/** Stereo in, one channel out that holds both, by weight: half of each unless said. */
export const downmix = defineNode({
  name: 'downmix',
  summary: 'Makes one channel of a stereo stream.',
  inputs: { audio: 'audio' },
  outputs: { audio: 'audio' },
  options: nodeOptions({}, { leftWeight: numberFrom(0, 4), rightWeight: numberFrom(0, 4) }),
  formats: ({ audio }) =>
    audio?.channels === 2
      ? either.right({ audio: { ...audio, channels: 1 } })
      : either.left('downmix needs stereo audio: a mono stream is one channel already'),
  open: ({ leftWeight = 0.5, rightWeight = 0.5 }, { inputs }) => {
    const { encoding } = portFormat(inputs, 'audio')
    const weights = { left: leftWeight, right: rightWeight }
    return audioStage(() => ({
      take: ({ bytes }) => audioItem(encodeSamples(downmixFrames(decodeSamples(bytes, encoding), weights), encoding)),
    }))
  },
})
