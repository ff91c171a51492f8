import type { DataflowMessage, SocketMessage } from '../../transport/link.js'
import { contentType } from '../../protocol/dataflow-messages.js'
import type { FaultScript, FaultStep } from './fault-script.js'

/** The rows of the scoreboard. */
export const namedFaults = [
  'drop',
  'outage-1.5s',
  'outage-8s',
  'outage-30s',
  'fresh-token',
  'finalize-unanswered',
  'malformed-message',
  'half-open',
  'stopped-reading',
  'refused-token',
  'token-expiry',
] as const
export type NamedFault = (typeof namedFaults)[number]

/** When the faults of a script happen that are not told: 2 s after the first connection, chunk 100 of 20 ms. */
export const faultAtMs = 2_000

const outage = (forMs: number): FaultStep => ({
  at: { when: 'elapsed', ms: faultAtMs },
  fault: { do: 'outage', forMs },
})

/** Not JSON, in either transport's kind of message. */
const brokenText = '{"message-name": "partial-result", "text": '
const brokenMessage: Readonly<Record<'websocket' | 'grpc', SocketMessage | DataflowMessage>> = {
  websocket: brokenText,
  grpc: { contentType: contentType.event, content: brokenText, binaryContent: new Uint8Array(0) },
}

/** What a fault takes: a script for `faultProxy`, and one for `linkFaults` where it is about messages. */
export interface FaultScripts {
  readonly proxy: FaultScript
  readonly link: FaultScript
}

const onProxy = (...proxy: FaultScript): FaultScripts => ({ proxy, link: [] })

/**
 * The scripts of the scoreboard's faults. `finalize-unanswered` waits to be told `finalizing`, `stopped-reading` to be told
 * `streaming`: the states of the session's `connection` events. What concerns tokens is for the session's token source:
 * `refused-token` (one that is never accepted) and `token-expiry` (one that ends in the middle) need no script.
 */
export const faultScripts = (name: NamedFault, over: 'websocket' | 'grpc'): FaultScripts => {
  switch (name) {
    case 'drop':
      return onProxy({ at: { when: 'elapsed', ms: faultAtMs }, fault: { do: 'reset' } })
    case 'outage-1.5s':
      return onProxy(outage(1_500))
    case 'outage-8s':
      return onProxy(outage(8_000))
    case 'outage-30s':
      return onProxy(outage(30_000))
    case 'fresh-token':
      return onProxy(outage(500))
    case 'finalize-unanswered':
      return onProxy({ at: { when: 'told', name: 'finalizing' }, fault: { do: 'black-hole', direction: 'to-client' } })
    case 'malformed-message':
      return {
        proxy: [],
        link: [{ at: { when: 'elapsed', ms: faultAtMs }, fault: { do: 'inject', message: brokenMessage[over] } }],
      }
    case 'half-open':
      return onProxy({ at: { when: 'elapsed', ms: faultAtMs }, fault: { do: 'half-open', forMs: 30_000 } })
    case 'stopped-reading':
      return onProxy({ at: { when: 'told', name: 'streaming' }, fault: { do: 'stall', direction: 'to-service' } })
    case 'refused-token':
    case 'token-expiry':
      return onProxy()
  }
}
