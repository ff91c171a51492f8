import { SpeechError } from '../../../errors/speech-error.js'
import { defineNode } from '../core/define-node.js'
import { nodeOptions, text } from '../core/node-options.js'
import { playback } from './playback.js'
import { playerFormats, playerOptions } from './player-options.js'
import { promptSound } from './prompt-sound.js'

const options = nodeOptions({ prompt: text }, playerOptions)

/**
 * Plays a prompt to the client: a WAV file of at most two minutes among the project's resources, in the rate and coding
 * of the output, two channels mixed to one. When and how is told at `playback`, in which format at `playerFormats`.
 */
export const promptPlayer = defineNode({
  name: 'prompt-player',
  summary: 'Plays a recording to the client when an event comes or at the start.',
  inputs: { events: 'event', audio: 'audio' },
  optionalInputs: ['audio'],
  outputs: { audio: 'audio', events: 'event' },
  options,
  uses: ({ prompt }) => [{ option: 'prompt', resource: prompt, kind: 'file' }],
  formats: playerFormats,
  open: async (given, context) => {
    const format = context.outputs['audio']
    const file = context.resource(given.prompt)
    if (format === undefined) throw new SpeechError('internal', 'The node has no audio port.')
    if (file?.kind !== 'file') {
      throw new SpeechError('invalid-options', `${context.node} has no file resource ${given.prompt}.`)
    }
    return playback(await promptSound(file.bytes, format.sampleRateHz), given, context)
  },
})
