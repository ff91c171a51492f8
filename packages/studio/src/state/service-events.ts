import type { SessionEvent } from 'rxspeech'

/** What the service says about the audio itself, if the event is that (PROTOCOL 3.3). */
export const audioWarningOf = (event: SessionEvent): string | undefined => {
  if (event.type !== 'event' || event.name !== 'Audio Warning') return undefined
  const { data } = event
  if (typeof data !== 'object' || data === null || !('Message' in data)) return undefined
  return typeof data.Message === 'string' ? data.Message : undefined
}

/** The least time between two partials, if the event says that an overloaded service withholds some (PROTOCOL 3.3). */
export const thinnedMsOf = (data: unknown): number | undefined => {
  if (typeof data !== 'object' || data === null || !('Phase' in data) || data.Phase !== 'begun') return undefined
  return 'IntervalMsec' in data && typeof data.IntervalMsec === 'number' ? data.IntervalMsec : 1000
}
