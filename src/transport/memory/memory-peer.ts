import type { DataflowMessage, Dial, SocketMessage } from '../link.js'
import type { WebSocketDialOptions } from '../websocket/websocket.js'

/** Where a handshake shows its token. */
export type PresentedAddress = Pick<WebSocketDialOptions, 'headers' | 'protocols'>

/** A service over links in memory: spread `recognizer` into the options of `recognize`, and `dataflow` into those of `dataflow`. */
export interface MemoryPeer {
  readonly recognizer: {
    readonly url: string
    readonly token: string
    readonly modelName: string
    /** Refuses a token that the service does not accept, by header or subprotocol, as the handshake would. */
    readonly dial: (address: PresentedAddress) => Dial<SocketMessage, SocketMessage>
  }
  readonly dataflow: {
    readonly address: string
    readonly token: string
    readonly tenant: string
    readonly projectName: string
    readonly dial: () => Dial<DataflowMessage, DataflowMessage>
  }
}
