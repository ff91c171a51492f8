import type { Settings, UpdateRequest } from '../protocol/dataflow-messages.js'

/**
 * Merges two updates; the later one wins for each key. A separate file, so that a page with `recognize` does not load the
 * messages of the dataflow.
 */
export const mergeUpdates = (earlier: UpdateRequest | undefined, later: UpdateRequest): UpdateRequest => ({
  settings: mergeSettings(earlier?.settings, later.settings),
  callProperties: mergeSettings(earlier?.callProperties, later.callProperties),
})

const mergeSettings = (earlier: Settings | undefined, later: Settings | undefined): Settings | undefined =>
  earlier === undefined || later === undefined ? (later ?? earlier) : { ...earlier, ...later }
