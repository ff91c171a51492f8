import { durationMs, flag, optionsOf, text } from '../../../protocol/validation.js'
import { natsCodecs, type NatsOptions } from '../../nats/nats-options.js'

/** Engine processes that a service uses, over NATS. */
export interface NatsEnginesOptions extends NatsOptions {
  /** The name of this process in the subjects of its messages, which permissions can name. @default that of the host */
  readonly name?: string | undefined
  /** Engines of this region are used. @default none: all engines */
  readonly region?: string | undefined
  /** Whether engines of other regions are used while none of the own one has a free place. @default false */
  readonly otherRegions?: boolean | undefined
  /**
   * How long the start waits for the first model, in milliseconds; then it fails. If `defaultModel` is set, it waits for that
   * one, for at most a second, and does not fail.
   * @default 10000
   */
  readonly waitMs?: number | undefined
}

const { servers, ...optional } = natsCodecs

export const natsEnginesOptions = optionsOf<NatsEnginesOptions>()(
  { servers },
  { ...optional, name: text, region: text, otherRegions: flag, waitMs: durationMs(0) },
)
