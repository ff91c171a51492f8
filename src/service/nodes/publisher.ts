import { defineNode } from './define-node.js'
import { noOptions } from './node-options.js'

/** What goes to the client: events as EVENT messages, audio as AUDIO messages, in the order in which they come. */
export const publisher = defineNode({
  name: 'publisher',
  summary: 'Tells the client what comes in: events, and audio to be heard.',
  inputs: { events: 'event', audio: 'audio' },
  mayStayOpen: ['audio'],
  outputs: {},
  options: noOptions,
  open: () => (input$) => input$,
})
