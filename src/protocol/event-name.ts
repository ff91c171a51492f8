/**
 * The events of recognition on the dataflow stream (PROTOCOL 3.3). A node may emit any other. `SR Silence`: there was
 * no speech on the channel from its start to its end, and all audio before its end has its results. `SR No Match`: the
 * segment from its start to its end has no text.
 *
 * @example
 * const finals: Node = (input$) =>
 *   input$.pipe(filter((item) => item.type === 'event' && item.event.name === eventName.final))
 */
export const eventName = {
  speechStarted: 'Speech Started',
  speechEnded: 'Speech Ended',
  silence: 'SR Silence',
  partial: 'SR Partial',
  milestone: 'SR Milestone',
  final: 'SR Final',
  noMatch: 'SR No Match',
} as const

/** The name of the event that tells a client what is wrong with its audio (PROTOCOL 3.3). */
export const audioWarning = 'Audio Warning'
