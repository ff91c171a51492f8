import type { Observable } from 'rxjs'
import type { Token } from '../../protocol/token.js'
import type { TokenSource } from '../../client/options.js'
import type { VerifyingService } from '../../testing/verifying/verifying-service.js'

export type Transport = 'websocket' | 'grpc'

/** The service that one run goes to. */
export interface FaultTarget {
  /** Of the recognition socket. */
  readonly url?: string
  /** `host:port` of the dataflow stream. */
  readonly grpc?: string
  readonly isPlaintext: boolean
  readonly ca?: string
  readonly tenant: string
  readonly project: string
  readonly model?: { readonly name: string; readonly tenant?: string }
  readonly token: FaultTokens
  /** Chunks of 20 ms, mono PCM at 8 kHz. */
  readonly audio: readonly Uint8Array[]
  /** Where the service can prove what arrived. */
  readonly verifier?: VerifyingService
  readonly close: () => Promise<void>
}

/** Where tokens come from: one that is fixed, or another one for each subscription. */
export type FaultTokens =
  | { readonly type: 'fixed'; readonly token: string }
  | { readonly type: 'renewed'; readonly token$: Observable<string | Token> }

export const tokenSourceOf = (tokens: FaultTokens): TokenSource =>
  tokens.type === 'fixed' ? tokens.token : tokens.token$

/** What all runs send: 8 s, as the peers were measured with. */
export const audioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
export const audioMs = 8_000
export const chunkMs = 20
export const chunkSamples = 160
