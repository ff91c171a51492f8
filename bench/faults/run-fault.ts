import { defer, from, map, of, type Observable, type Subscription } from 'rxjs'
import { pace } from '../../src/operators/audio/pace.js'
import type { SessionEvent } from '../../src/protocol/session-event.js'
import type { Token } from '../../src/protocol/token.js'
import { isFixedToken, type TokenSource } from '../../src/client/token.js'
import { faultProxy, type FaultProxy } from '../../src/testing/faults/fault-proxy.js'
import { linkFaults } from '../../src/testing/faults/link-faults.js'
import { faultScripts, type NamedFault } from '../../src/testing/faults/named-faults.js'
import {
  faultSession,
  audioFormat,
  audioMs,
  chunkMs,
  tokenSourceOf,
  type FaultTarget,
  type Transport,
} from './fault-session.js'
import { errorSettled, type RunRecord, type Settled } from './run-record.js'

/**
 * The longest that a run may take: 8 s of audio, an outage of 30 s, and the time that a session may spend on recovery.
 */
const maxRunMs = 100_000
const finalizeTimeoutMs = 2_000
/** When the token of `token-expiry` ends. */
const expiresAfterMs = 3_000

/**
 * Plays one named fault on a session over one transport, and resolves with what happened. Rejects with the signal's
 * reason.
 */
export const runFault = async (
  name: NamedFault,
  over: Transport,
  target: FaultTarget,
  signal: AbortSignal,
): Promise<RunRecord> => {
  const scripts = faultScripts(name, over)
  const address = over === 'grpc' ? (target.grpc ?? '') : serviceOf(target.url ?? '')
  const proxy = await faultProxy({ target: address, script: scripts.proxy })
  const links = scripts.link.length === 0 ? undefined : linkFaults({ script: scripts.link })
  try {
    signal.throwIfAborted()
    let tokensRequested = 0
    const token$ = countRequests(tokensFor(name, target), () => (tokensRequested += 1))
    const session = faultSession(
      over,
      target,
      { address: proxy.address, links },
      {
        format: audioFormat,
        token: token$,
        timeouts: { finalizeMs: name === 'finalize-unanswered' ? finalizeTimeoutMs : undefined },
      },
    )
    const startedMs = Date.now()
    const audio$ = pace({ format: audioFormat, everyMs: chunkMs })(target.audio)
    const watched = await watch(session(audio$), startedMs, proxy, signal)
    const [fault] = [...proxy.applied, ...(links?.applied ?? [])]
    return {
      ...watched,
      faultAtMs: fault && fault.clockMs - startedMs,
      tokensRequested,
      ...verifiedBy(target, watched.events),
    }
  } finally {
    links?.close()
    await proxy.close()
  }
}

/** `host:port` of a socket's address. */
export const serviceOf = (url: string): string => {
  const { hostname, port, protocol } = new URL(url)
  return `${hostname}:${port || (protocol === 'wss:' ? 443 : 80)}`
}

/** A token that is never accepted; one that ends soon, followed by one that does not; or the tokens of the target. */
const tokensFor = (name: NamedFault, { token }: FaultTarget): TokenSource => {
  if (name === 'refused-token') return defer(() => of(`refused-${Math.random().toString(36).slice(2)}`))
  if (name !== 'token-expiry') return tokenSourceOf(token)
  let requested = 0
  return defer(() => {
    requested += 1
    const expiresAtMs = requested === 1 ? Date.now() + expiresAfterMs : Number.MAX_SAFE_INTEGER
    const source$: Observable<string | Token> = token.type === 'fixed' ? of(token.token) : token.token$
    return source$.pipe(
      map((value): Token => ({
        accessToken: typeof value === 'string' ? value : value.accessToken,
        tokenType: 'Bearer',
        expiresAtMs,
      })),
    )
  })
}

const countRequests = (source: TokenSource, requested: () => void): TokenSource => {
  if (isFixedToken(source)) return source
  return defer(() => {
    requested()
    return from(source)
  })
}

/** Runs the session to its end, and signals its states to the proxy. */
const watch = (
  session$: Observable<SessionEvent>,
  startedMs: number,
  proxy: FaultProxy,
  signal: AbortSignal,
): Promise<Pick<RunRecord, 'events' | 'settled'>> =>
  new Promise((resolve, reject) => {
    const now = (): number => Date.now() - startedMs
    const events: RunRecord['events'][number][] = []
    const end = (settled: Settled): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      resolve({ events, settled })
    }
    const timer = setTimeout(() => {
      subscription?.unsubscribe()
      end({ type: 'pending', atMs: now() })
    }, maxRunMs)
    const abort = (): void => {
      clearTimeout(timer)
      subscription?.unsubscribe()
      reject(signal.reason as Error)
    }
    signal.addEventListener('abort', abort, { once: true })
    const subscription: Subscription | undefined = session$.subscribe({
      next: (event) => {
        // Partials are numerous and do not count for the verdict.
        if (event.type !== 'partial') events.push({ atMs: now(), event })
        if (event.type === 'connection') proxy.signal(event.state)
      },
      error: (error: unknown) => end(errorSettled(error, now())),
      complete: () => end({ type: 'complete', atMs: now() }),
    })
  })

const verifiedBy = (
  { verifier }: FaultTarget,
  events: RunRecord['events'],
): Pick<RunRecord, 'proof' | 'unreportedMs' | 'isWhole'> => {
  if (verifier === undefined) return {}
  const { sampleRateHz } = audioFormat
  const source = { sampleCount: (audioMs * sampleRateHz) / 1_000, sampleRateHz }
  const text = events.map(({ event }) => (event.type === 'milestone' ? event.text : '')).join('')
  const whole = verifier.transcript(source)
  const words = whole.split(' ')
  const transcribed = new Set(text.split(' '))
  const unreportedMs = (words.filter((word) => !transcribed.has(word)).length * audioMs) / words.length
  return { proof: verifier.verify(source), unreportedMs, isWhole: text === whole }
}
