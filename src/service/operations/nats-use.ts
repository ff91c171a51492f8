import type { FleetUse } from '../engines/nats/fleet.js'

/** What operators see of a connection to NATS, and of the engines on it. */
export interface NatsUse {
  readonly isUp: boolean
  /** Messages that the server did not accept, since the start. */
  readonly refused: number
  /** The places of an engine process for segments. */
  readonly places?: { readonly used: number; readonly capacity: number; readonly isBehind: boolean } | undefined
  /** The engine processes that a service uses. */
  readonly fleet?: FleetUse | undefined
}
