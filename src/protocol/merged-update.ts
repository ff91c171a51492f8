import type { UpdateRequest } from './dataflow-requests.js'
import type { Settings } from './settings.js'

/** Two changes as one; the later one counts where both name a key. */
export const mergedUpdate = (earlier: UpdateRequest | undefined, later: UpdateRequest): UpdateRequest => ({
  ...mergedAs('settings', earlier?.settings, later.settings),
  ...mergedAs('callProperties', earlier?.callProperties, later.callProperties),
})

const mergedAs = <Key extends string>(
  key: Key,
  earlier: Settings | undefined,
  later: Settings | undefined,
): Partial<Record<Key, Settings>> =>
  earlier === undefined && later === undefined ? {} : ({ [key]: { ...earlier, ...later } } as Record<Key, Settings>)
