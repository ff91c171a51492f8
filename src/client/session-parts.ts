import { defer, Observable } from 'rxjs'
import { SecretMask } from '../errors/secret-mask.js'
import { toSpeechError } from '../errors/speech-error.js'
import { RateLimiter } from './audio/rate-limiter.js'
import type { Dial, Link } from '../transport/link.js'
import { InactivityMonitor } from './audio/inactivity-monitor.js'
import type { WireProtocol } from './protocol.js'
import { ResultTimeline } from './results/timeline.js'

/** What a session needs from its first connection on and not before: a browser loads it while it connects. */
export const sessionParts = { InactivityMonitor, RateLimiter, ResultTimeline }
export type SessionParts = typeof sessionParts

/** An open link, and what only an open connection needs: a browser loads that code while it connects. */
export interface OpenLink<In, Out> {
  readonly link: Link<In, Out>
  /** Of this connection alone: it remembers what was requested. */
  readonly protocol: WireProtocol<In, Out>
  readonly parts: SessionParts
  /** Finds the token of this connection in what the service sends. */
  readonly mask: SecretMask
}

/**
 * Opens a link with a token: neither the failure nor what the service sends contains the token, should a peer repeat it.
 */
export const openMasked = <In, Out>(
  token: string,
  dial: () => Dial<In, Out>,
  createProtocol: () => WireProtocol<In, Out>,
): Observable<OpenLink<In, Out>> =>
  // One subscription and no operators, which would cost memory as long as the link is open.
  new Observable((subscriber) => {
    const mask = new SecretMask([token])
    return defer(dial).subscribe({
      next: (link) => subscriber.next({ link, protocol: createProtocol(), parts: sessionParts, mask }),
      error: (error: unknown) => {
        const failure = toSpeechError(error, 'connection-failed', 'The connection failed; see the cause.')
        subscriber.error(mask.cleanError(failure))
      },
    })
  })
