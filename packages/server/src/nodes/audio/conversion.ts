import { either } from 'fp-ts'
import { decodeSamples, encodeSamples } from 'rxspeech/internal/audio/codec'
import { maxSampleRateHz, minSampleRateHz } from 'rxspeech/internal/audio/format'
import { createResampler } from '../../recognition/resampler.js'
import { defineNode } from '../core/define-node.js'
import { nodeOptions, oneOfWords, wholeNumberFrom } from '../core/node-options.js'
import { audioItems, audioNode, portFormat } from '../core/node-steps.js'

/** Changes the encoding of samples. Audio that has the encoding already passes unchanged. */
export const transcode = defineNode({
  name: 'transcode',
  summary: 'Encodes audio as 16-bit PCM, G.711 µ-law or G.711 A-law.',
  inputs: { audio: 'audio' },
  outputs: { audio: 'audio' },
  options: nodeOptions({ to: oneOfWords('pcm', 'ulaw', 'alaw') }, {}),
  formats: ({ audio }, { to }) =>
    audio === undefined ? either.left('transcode needs audio') : either.right({ audio: { ...audio, encoding: to } }),
  open: ({ to }, { inputs }) => {
    const { encoding } = portFormat(inputs)
    return audioNode(() => ({
      take: ({ bytes }) => audioItems(encoding === to ? bytes : encodeSamples(decodeSamples(bytes, encoding), to)),
    }))
  },
})

/**
 * Changes the sample rate (SpeexDSP) and keeps the encoding. A few milliseconds are held back until the input ends; in
 * all the output is as long as the input. A session is refused with `missing-dependency` if the package is absent.
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
    const { encoding, sampleRateHz: fromHz, channels } = portFormat(inputs)
    const create = () => createResampler({ fromHz, toHz, channels })
    // Loads the package, or refuses the session before it starts.
    const probe = await create()
    probe.free()
    return audioNode(async () => {
      const resampler = await create()
      const encoded = (samples: Int16Array) => audioItems(encodeSamples(samples, encoding))
      return {
        take: ({ bytes }) => encoded(resampler.process(decodeSamples(bytes, encoding))),
        finish: () => encoded(resampler.flush()),
        free: resampler.free,
      }
    })
  },
})
