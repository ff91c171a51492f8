/** A bearer token (service.md 2.8), with its end as a moment, so that it means the same whenever it is looked at. */
export interface Token {
  /** The secret itself: for the Start message or the Authorization header, and for no log. */
  readonly accessToken: string
  readonly tokenType: 'Bearer'
  /** When it expires, in milliseconds by the clock of the scheduler it was got with (`Date.now` by default); may be Infinity. */
  readonly expiresAtMs: number
  readonly scope?: string
}
