/** How the token is got: there already, or from a token endpoint (service.md 4.3). */
export type Credentials =
  | { readonly type: 'token'; readonly token: string }
  | {
      readonly type: 'client'
      readonly authUrl: string
      readonly clientId: string
      readonly clientSecret: string
      readonly scope?: string
    }

/** All that reaching a service takes. */
export interface Access {
  /** Address of the recognition socket. */
  readonly url?: string
  /** `host:port` of the dataflow stream. */
  readonly grpc?: string
  /** The stream without TLS. */
  readonly isPlaintext: boolean
  /** CA certificates, PEM, in place of those of Node. */
  readonly ca?: string
  /** The proxy to the service and to the token endpoint; false: none; what the environment says where it is missing. */
  readonly proxy?: string | false
  readonly credentials: Credentials
  readonly tenant: string
  readonly project: string
  readonly model?: ModelChoice
}

export interface ModelChoice {
  readonly name: string
  /** The tenant whose model it is, where it is not `Default`. */
  readonly tenant?: string
}
