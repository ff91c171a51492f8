import { either } from 'fp-ts'
import { decodeSamples, encodeSamples } from '../../../audio/codec.js'
import { audioItem, audioStage, portFormat } from '../core/audio-stage.js'
import { defineNode } from '../core/define-node.js'
import { nodeOptions, oneOfWords } from '../core/node-options.js'

/** The same samples in another encoding; audio that has it already passes as it is. */
export const transcode = defineNode({
  name: 'transcode',
  summary: 'Codes audio as 16-bit PCM, G.711 µ-law or G.711 A-law.',
  inputs: { audio: 'audio' },
  outputs: { audio: 'audio' },
  options: nodeOptions({ to: oneOfWords('pcm', 'ulaw', 'alaw') }, {}),
  formats: ({ audio }, { to }) =>
    audio === undefined ? either.left('transcode needs audio') : either.right({ audio: { ...audio, encoding: to } }),
  open: ({ to }, { inputs }) => {
    const { encoding } = portFormat(inputs, 'audio')
    return audioStage(() => ({
      take: ({ bytes }) => audioItem(encoding === to ? bytes : encodeSamples(decodeSamples(bytes, encoding), to)),
    }))
  },
})
