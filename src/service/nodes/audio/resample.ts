import { either } from 'fp-ts'
import { decodeSamples, encodeSamples } from '../../../audio/codec.js'
import { maxSampleRateHz, minSampleRateHz } from '../../../audio/format.js'
import { createResampler } from '../../../audio/resampler.js'
import { audioItem, audioStage, portFormat } from '../core/audio-stage.js'
import { defineNode } from '../core/define-node.js'
import { nodeOptions, wholeNumberFrom } from '../core/node-options.js'

/**
 * The same sound at another sample rate (SpeexDSP), in the encoding that it came in. A few milliseconds stay behind until
 * the input ends; in all it is as long as it was. A session is refused with `missing-dependency` where the package is absent.
 */
export const resample = defineNode({
  name: 'resample',
  summary: 'Changes the sample rate.',
  inputs: { audio: 'audio' },
  outputs: { audio: 'audio' },
  options: nodeOptions({ toHz: wholeNumberFrom(minSampleRateHz, maxSampleRateHz) }, {}),
  formats: ({ audio }, { toHz }) =>
    audio === undefined
      ? either.left('resample needs audio')
      : either.right({ audio: { ...audio, sampleRateHz: toHz } }),
  open: async ({ toHz }, { inputs }) => {
    const { encoding, sampleRateHz: fromHz, channels } = portFormat(inputs, 'audio')
    const create = () => createResampler({ fromHz, toHz, channels })
    // Loads the package, or refuses the session before it is started.
    const probe = await create()
    probe.free()
    return audioStage(async () => {
      const resampler = await create()
      const coded = (samples: Int16Array) => audioItem(encodeSamples(samples, encoding))
      return {
        take: ({ bytes }) => coded(resampler.process(decodeSamples(bytes, encoding))),
        finish: () => coded(resampler.flush()),
        free: resampler.free,
      }
    })
  },
})
