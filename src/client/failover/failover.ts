import { isJsonObject } from '../../protocol/json-object.js'
import type { Recognition } from '../session.js'
import { traceSessions } from '../traced-session.js'
import { failover as failoverUntraced, type FailoverOptions } from './failover-in-browser.js'

export type { FailoverOptions } from './failover-in-browser.js'

/**
 * Runs each session on the first service that works, and moves it to the next one when that is lost, closes, does not answer
 * in time or is slow. The session continues there with the first audio that has no definitive result, on the same timeline:
 * no word is lost or repeated. Services are sessions of `recognize` and `dataflow`, each with options of its own (`url`,
 * `model`, `token`, `ca` …), in any mixture.
 *
 * - The next service is tried without a delay; a delay follows when all have failed. This includes the first connection.
 * - A refused token or request fails the session as it does without `failover`: another service is not the remedy.
 * - Health is remembered by the returned function: create it once, and use it for all sessions. While a session runs, services
 *   that failed are probed with backoff, by sessions without audio. A session returns to an earlier service of the list only
 *   when it loses its own; a new session begins with the first service that works.
 * - `connection` events with the state `streaming` have the number of the service that runs the session (`service`).
 * - `format`, `finalize$`, `stop$` and `continuous` must be the same for all services. `buffer`, `resumption` and
 *   `timeouts.silenceMs` are those of the first. `resumption` cannot be `false`.
 *
 * @throws SpeechError `invalid-options`
 * @example
 * const options = { format, token, model: 'transcribe' }
 * const transcribe = failover([
 *   recognize({ ...options, url: 'wss://a.example.com' }),
 *   recognize({ ...options, url: 'wss://b.example.com' }),
 * ])
 * audio$.pipe(transcribe, accumulateMilestones()).subscribe(({ text }) => console.log(text))
 */
export const failover = (services: readonly Recognition[], options: FailoverOptions = {}): Recognition =>
  traceSessions(services, failoverUntraced(services, options))

/** The options of a session at one address, or at several. */
export type WithUrls<Options> = Omit<Options, 'url'> & {
  /**
   * The address of the service. Several addresses are those of services that take the same options, in the order of
   * preference: `failover` moves the session between them. A page uses `failover` itself.
   */
  readonly url: string | readonly string[]
}

/** The session at the only address, or `failover` of those at each. */
export const atEachUrl = <Options extends { readonly url: string }>(
  options: WithUrls<Options>,
  sessionAt: (options: Options) => Recognition,
): Recognition => {
  // JavaScript may pass anything, which the check of the options refuses.
  const { url }: { readonly url?: unknown } = isJsonObject(options) ? options : {}
  // Only `url` differs from the options of one service.
  const sessionOf = (one: unknown): Recognition => sessionAt({ ...options, url: one } as unknown as Options)
  if (Array.isArray(url)) return failover(url.map(sessionOf))
  const session = sessionAt(options as unknown as Options)
  return traceSessions([session], session)
}
