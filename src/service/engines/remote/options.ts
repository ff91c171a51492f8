import * as t from 'io-ts'
import type { ModelDescription } from '../engine.js'
import { decodeModelOptions, type ExpectedOptions } from '../models/model-options.js'

/** Where the secret is; never in `model.json` itself. */
type SecretSource = { readonly env: string } | { readonly file: string }

/** What `model.json` says for the engine `remote`: another service of this protocol, and a model of it. */
export interface RemoteOptions {
  readonly engine: 'remote'
  /** The other service's recognition socket, `wss://host`; `ws:` on loopback only. */
  readonly url: string
  /** Base address of its token endpoint (PROTOCOL 2). */
  readonly authUrl: string
  readonly clientId: string
  readonly secretFrom: SecretSource
  readonly modelName: string
  readonly modelTenant?: string
  readonly modelVersion?: string
  /** The rate of the other service's model, in Hz. */
  readonly sampleRateHz: 8000 | 16000
  /** A file of CA certificates in PEM, in place of those of Node. */
  readonly ca?: string
  readonly kind?: 'grammar' | 'dictation'
  /** Segments that are sent at the same time; each takes a connection. 32 when absent. */
  readonly segmentsAtOnce?: number
  /** Whether audio may come faster than real time; read by the service. */
  readonly batch?: boolean
}

const name = t.refinement(t.string, (text) => text !== '', 'a string that is not empty')
const places = t.refinement(t.Integer, (count) => count >= 1 && count <= 1000, 'a whole number from 1 to 1000')

const codec: t.Type<RemoteOptions, unknown> = t.intersection([
  t.type({
    engine: t.literal('remote'),
    url: name,
    authUrl: name,
    clientId: name,
    secretFrom: t.union([t.strict({ env: name }), t.strict({ file: name })]),
    modelName: name,
    sampleRateHz: t.union([t.literal(8000), t.literal(16_000)]),
  }),
  t.partial({
    modelTenant: name,
    modelVersion: name,
    ca: name,
    kind: t.keyof({ grammar: null, dictation: null }),
    segmentsAtOnce: places,
    batch: t.boolean,
  }),
])

const expected: ExpectedOptions<RemoteOptions> = {
  engine: '"remote"',
  url: 'the address of a service, such as "wss://speech.example.com"',
  authUrl: 'the base address of its token endpoint',
  clientId: 'the client id of a subscription there',
  secretFrom: '{"env": "NAME"} or {"file": "name"}, where the client secret is',
  modelName: 'the name of a model there',
  modelTenant: 'the tenant of that model',
  modelVersion: 'a version of that model',
  sampleRateHz: '8000 or 16000',
  ca: 'the name of a PEM file',
  kind: '"grammar" or "dictation"',
  segmentsAtOnce: 'a whole number from 1 to 1000',
  batch: 'true or false',
}

export const decodeRemoteOptions = (model: ModelDescription): RemoteOptions =>
  decodeModelOptions(model, codec, expected)
