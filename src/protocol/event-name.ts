/**
 * The events of recognition on the dataflow stream (decisions.md: event names). A node may raise any other. `SR Silence` is
 * ours: nobody spoke on the channel from its start to its end, and all audio before its end has its results.
 */
export const eventName = {
  speechStarted: 'Speech Started',
  speechEnded: 'Speech Ended',
  silence: 'SR Silence',
  partial: 'SR Partial',
  milestone: 'SR Milestone',
  final: 'SR Final',
} as const
