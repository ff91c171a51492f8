import type { DataflowMessage, SocketMessage } from '../../transport/link.js'
import { contentType } from '../../protocol/dataflow-messages.js'
import type { FaultScript, FaultStep } from './fault-script.js'

/**
 * The faults of the scoreboard.
 *
 * @example
 * for (const name of namedFaults) console.log(name, faultScripts(name, 'websocket'))
 */
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
/** The name of a fault of the scoreboard. */
export type NamedFault = (typeof namedFaults)[number]

/** When faults without a signal are applied: 2 s after the first connection, at chunk 100 of 20 ms. */
const faultAtMs = 2_000

const outage = (forMs: number): FaultStep => ({
  at: { when: 'elapsed', ms: faultAtMs },
  fault: { do: 'outage', forMs },
})

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

const onProxy = (...proxy: FaultScript): FaultScripts => ({ proxy, link: [] })

/**
 * The scripts of a named fault. `finalize-unanswered` waits for the signal `finalizing` and `stopped-reading` for the
 * signal `streaming`: send the states of the session's `connection` events as signals. The faults of tokens have no
 * script because the token source of the session causes them: `refused-token` is never accepted, `token-expiry` expires
 * during the session.
 *
 * @example
 * const proxy = await faultProxy({ target: 8443, script: faultScripts('outage-8s', 'grpc').proxy })
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
      return onProxy({
        at: { when: 'signal', name: 'finalizing' },
        fault: { do: 'black-hole', direction: 'to-client' },
      })
    case 'malformed-message':
      return {
        proxy: [],
        link: [{ at: { when: 'elapsed', ms: faultAtMs }, fault: { do: 'inject', message: brokenMessage[over] } }],
      }
    case 'half-open':
      return onProxy({ at: { when: 'elapsed', ms: faultAtMs }, fault: { do: 'half-open', forMs: 30_000 } })
    case 'stopped-reading':
      return onProxy({ at: { when: 'signal', name: 'streaming' }, fault: { do: 'stall', direction: 'to-service' } })
    case 'refused-token':
    case 'token-expiry':
      return onProxy()
  }
}
