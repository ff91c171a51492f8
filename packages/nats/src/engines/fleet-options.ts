import { listOf, recordOf } from 'rxspeech/internal/protocol/collections'
import { codec, type Codec, durationMs, flag, isText, optionsOf, text } from 'rxspeech/internal/protocol/validation'
import { natsCodecs, type NatsOptions } from '../connection/nats-options.js'
import type { ModelsByName } from './model-names.js'

/** Engine processes that a service uses, over NATS. */
export interface NatsEnginesOptions extends NatsOptions {
  /** The name of this process in the subjects of its messages, which permissions can name. @default that of the host */
  readonly name?: string | undefined
  /** Engines of this region are used. @default none: all engines */
  readonly region?: string | undefined
  /** Whether engines of other regions are used while none of the own one has a free place. @default false */
  readonly otherRegions?: boolean | undefined
  /**
   * Which models engine processes may offer, by their name: lists of `<tenant>/<name>`, `<tenant>/*` or `*`; the name
   * `*` stands for every process. What a process offers beyond that is ignored and reported. With permissions for each
   * name in NATS, no engine process can then get audio of models that are not its own.
   * @default every process all models; with `user` or `credentials` a model is used only of the name that offered it
   * first since the start, while that has an engine process
   */
  readonly models?: ModelsByName | undefined
  /**
   * How long the start waits for the first model, in milliseconds; then it fails. If `defaultModel` is set, it waits
   * for that one, for at most a second, and does not fail.
   * @default 10000
   */
  readonly waitMs?: number | undefined
}

const modelPattern: Codec<string> = codec(
  'a model as <tenant>/<name> without a version, all of a tenant as <tenant>/*, or *',
  (value): value is string => isText(value) && /^(?:\*|[^/*]+\/(?:\*|[^/*]+))$/.test(value),
)

/** The codec of `models`. */
export const modelsByName: Codec<ModelsByName> = recordOf(listOf(modelPattern))

const { servers, ...optional } = natsCodecs

export const natsEnginesOptions = optionsOf<NatsEnginesOptions>()(
  { servers },
  { ...optional, name: text, region: text, otherRegions: flag, models: modelsByName, waitMs: durationMs(0) },
)
