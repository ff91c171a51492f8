import { defineNode } from './define-node.js'
import { entry } from './entry.js'
import type { AnyNodeDefinition } from './node.js'
import { noOptions } from './node-options.js'
import { publisher } from './publisher.js'
import { openTranscribe } from './transcribe.js'

/** Speech into text: the node of the project `transcribe`, which comes with the service. */
const recognizer = defineNode({
  name: 'recognizer',
  summary: 'Voice activity and recognition of each channel, told as events.',
  inputs: { audio: 'audio' },
  outputs: { events: 'event' },
  options: noOptions,
  tellsConsumption: true,
  open: async (_options, context) => openTranscribe(context),
})

/** The nodes that every project may use. */
export const builtInNodes: readonly AnyNodeDefinition[] = [entry, publisher, recognizer]
