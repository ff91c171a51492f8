import type { DataflowMessage, SocketMessage } from '../../transport/link.js'
import { contentType } from '../../protocol/dataflow-messages.js'
import type { Fault, FaultScript, FaultStep } from './fault-script.js'

/** When faults without a signal are applied: 2 s after the first connection, at chunk 100 of 20 ms. */
const faultAtMs = 2_000

const elapsed = (fault: Fault): FaultStep => ({ at: { when: 'elapsed', ms: faultAtMs }, fault })
const signal = (name: string, fault: Fault): FaultStep => ({ at: { when: 'signal', name }, fault })
const outage = (forMs: number): FaultStep => elapsed({ do: 'outage', forMs })

const proxyScripts = {
  drop: [elapsed({ do: 'reset' })],
  'outage-1.5s': [outage(1_500)],
  'outage-8s': [outage(8_000)],
  'outage-30s': [outage(30_000)],
  'fresh-token': [outage(500)],
  'finalize-unanswered': [signal('finalizing', { do: 'black-hole', direction: 'to-client' })],
  'malformed-message': [],
  'half-open': [elapsed({ do: 'half-open', forMs: 30_000 })],
  'stopped-reading': [signal('streaming', { do: 'stall', direction: 'to-service' })],
  'refused-token': [],
  'token-expiry': [],
} as const satisfies Readonly<Record<string, FaultScript>>

/** The name of a fault of the scoreboard. */
export type NamedFault = keyof typeof proxyScripts

/** The faults of the scoreboard. */
export const namedFaults = Object.keys(proxyScripts) as readonly NamedFault[]

/** A message that is not JSON. */
const brokenText = '{"message-name": "partial-result", "text": '
const brokenMessage: Readonly<Record<'websocket' | 'grpc', SocketMessage | DataflowMessage>> = {
  websocket: brokenText,
  grpc: { contentType: contentType.event, content: brokenText, binaryContent: new Uint8Array(0) },
}

/** The scripts of a named fault: for `faultProxy`, and for `linkFaults` if it applies to messages. */
export interface FaultScripts {
  /** For `faultProxy`; empty if the fault applies to messages. */
  readonly proxy: FaultScript
  /** For `linkFaults`; empty if the fault applies to bytes. */
  readonly link: FaultScript
}

/**
 * The scripts of a named fault. `finalize-unanswered` waits for the signal `finalizing` and `stopped-reading` for the
 * signal `streaming`: send the states of the session's `connection` events as signals. The faults of tokens have no
 * script because the token source of the session causes them: `refused-token` is never accepted, `token-expiry` expires
 * during the session.
 *
 * @example
 * const proxy = await faultProxy({ target: 8443, script: faultScripts('outage-8s', 'grpc').proxy })
 */
export const faultScripts = (name: NamedFault, over: 'websocket' | 'grpc'): FaultScripts => ({
  proxy: proxyScripts[name],
  link: name === 'malformed-message' ? [elapsed({ do: 'inject', message: brokenMessage[over] })] : [],
})
