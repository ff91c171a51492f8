import { either } from 'fp-ts'
import { deinterleaveChannels } from '../../../audio/channels.js'
import { bytesPerSample } from '../../../audio/format.js'
import { audioItem, audioStage, portFormat } from '../core/audio-stage.js'
import { defineNode } from '../core/define-node.js'
import { noOptions } from '../core/node-options.js'

/** Stereo in, its two channels out, each on a port of its own and in the encoding that it came in. */
export const channelSplit = defineNode({
  name: 'channel-split',
  summary: 'Parts a stereo stream into its two channels.',
  inputs: { audio: 'audio' },
  outputs: { left: 'audio', right: 'audio' },
  options: noOptions,
  formats: ({ audio }) => {
    if (audio?.channels !== 2) return either.left('channel-split needs stereo audio: a mono stream has nothing to part')
    const mono = { ...audio, channels: 1 } as const
    return either.right({ left: mono, right: mono })
  },
  open: (_options, { inputs }) => {
    const sampleBytes = bytesPerSample(portFormat(inputs, 'audio'))
    return audioStage(() => ({
      take: ({ bytes }) => {
        const [left, right] = deinterleaveChannels(bytes, sampleBytes)
        return [...audioItem(left, 'left'), ...audioItem(right, 'right')]
      },
    }))
  },
})
