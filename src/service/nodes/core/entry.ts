import { either } from 'fp-ts'
import { defineNode } from './define-node.js'
import { noOptions } from './node-options.js'

/** Where the client's audio comes in: once in every project. Its output has the format of the session. */
export const entry = defineNode({
  name: 'entry',
  summary: 'Where the audio of the client comes in.',
  inputs: {},
  outputs: { audio: 'audio' },
  options: noOptions,
  // Whoever checks a project, and whoever runs it, gives the session's own format for this port.
  formats: () => either.right({}),
  open: () => (input$) => input$,
})
