/** A bearer token (PROTOCOL 2), with its expiry as a point in time. */
export interface Token {
  /** The secret itself: never log it. */
  readonly accessToken: string
  /** The scheme of the `Authorization` header. */
  readonly tokenType: 'Bearer'
  /** When it expires, in milliseconds of its scheduler's clock (`Date.now` by default); may be Infinity. */
  readonly expiresAtMs: number
  /** The granted scope, if the endpoint sent it. */
  readonly scope?: string
}
