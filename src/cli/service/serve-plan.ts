import type { CustomNodeSource } from '../../service/custom-nodes/custom-node-source.js'
import type { ListenAddress } from '../../service/listen/listen-address.js'

/** What both kinds of service take. */
export interface ServeBasics {
  readonly http: ListenAddress
  readonly grpc: ListenAddress
  /** Health and metrics; nowhere when left out. */
  readonly operations?: ListenAddress
  readonly modelFolders: readonly string[]
  readonly projectFolders: readonly string[]
  /** Where nodes may keep recordings; nowhere when left out. */
  readonly recordingsFolder?: string
  readonly customNodes: readonly CustomNodeSource[]
  readonly model?: string
  readonly stateFolder: string
}

/** What `serve` is to do, checked. */
export type ServePlan =
  | (ServeBasics & { readonly mode: 'development' })
  | (ServeBasics & {
      readonly mode: 'production'
      /** Files of the certificate and its key, PEM; none for plain text on loopback. */
      readonly tls?: { readonly certFile: string; readonly keyFile: string }
      /** A subscriber beside those of the store in the state folder. */
      readonly subscriber?: { readonly clientId: string; readonly clientSecret: string }
      /** What the subscriber is granted, and tenants that the service has beside those that subscriptions name. */
      readonly tenants: readonly string[]
    })
