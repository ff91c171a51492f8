import type { Settings, UpdateRequest } from '../protocol/dataflow-messages.js'

/**
 * Merges two updates; the later one wins if both name a key. In a file of its own, because a page of `recognize` loads no
 * messages of the dataflow.
 */
export const mergeUpdates = (earlier: UpdateRequest | undefined, later: UpdateRequest): UpdateRequest => ({
  settings: mergeSettings(earlier?.settings, later.settings),
  callProperties: mergeSettings(earlier?.callProperties, later.callProperties),
})

const mergeSettings = (earlier: Settings | undefined, later: Settings | undefined): Settings | undefined =>
  earlier === undefined || later === undefined ? (later ?? earlier) : { ...earlier, ...later }
