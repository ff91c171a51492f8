import { X509Certificate } from 'node:crypto'
import { createSecureContext, type Server } from 'node:tls'
import { Subject, type Observable } from 'rxjs'
import { type ServerCertificate, tlsOptions, withCertificate } from 'rxspeech/internal/transport/listen-address'

/** The certificate of a listener, which may be renewed while it listens. */
export interface ListenerCertificate extends ServerCertificate {
  /** Emits each later one. @default it stays as it is */
  readonly renewed$?: Observable<ServerCertificate> | undefined
}

/** The certificate that all listeners of a process have, until the next one. */
export class RenewableCertificate implements ListenerCertificate {
  #now: ServerCertificate
  readonly #renewed$ = new Subject<ServerCertificate>()
  readonly renewed$ = this.#renewed$.asObservable()

  constructor(first: ServerCertificate) {
    this.#now = first
  }

  get certificate(): string {
    return this.#now.certificate
  }

  get key(): string {
    return this.#now.key
  }

  /**
   * Reads it again. Returns what uses it, or undefined if it is the same. Throws `invalid-options` for a pair that
   * cannot be used, and what `readAgain` throws.
   */
  prepareRenewal(): (() => void) | undefined {
    const next = this.#now.readAgain?.()
    if (next === undefined || (next.certificate === this.certificate && next.key === this.key)) return undefined
    withCertificate(() => createSecureContext(tlsOptions(next)))
    return () => this.renew(next)
  }

  /** New connections get this certificate; open ones stay as they are. */
  renew(next: ServerCertificate): void {
    this.#now = { readAgain: this.#now.readAgain, ...next }
    this.#renewed$.next(this.#now)
  }
}

/** Gives a TLS server each later certificate, until it closes. */
export const followRenewals = <TlsServer extends Server>(
  server: TlsServer,
  { renewed$ }: ListenerCertificate,
): TlsServer => {
  const following = renewed$?.subscribe((next) => server.setSecureContext(tlsOptions(next)))
  server.once('close', () => following?.unsubscribe())
  return server
}

/** When it expires, in milliseconds since 1970. Throws `invalid-options` for what is no certificate. */
export const expiryMsOf = ({ certificate }: ServerCertificate): number =>
  withCertificate(() => Date.parse(new X509Certificate(certificate).validTo))
