import { ReplaySubject, Subject, type Observable, type Subscription } from 'rxjs'
import { isSpeechError, type SpeechError } from '../../../../src/errors/speech-error.js'
import {
  defaultSessionLimits,
  type Drain,
  type SessionLimits,
  type SessionContext,
} from '../../src/sessions/session-context.js'
import type { Engine } from '../../../engines/src/engine.js'
import type { ModelRegistry } from '../../../engines/src/models/model-registry.js'
import { serveLink } from '../../src/listen/serve-link.js'
import type { Link } from '../../../../src/transport/link.js'
import { memoryLinks } from '../../../../src/transport/memory/link.js'
import { VirtualClock } from '../../../service/test/virtual-clock.js'

/** A promise that the test settles. */
export interface Deferred<T> {
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
}

export const deferred = <T>(): Deferred<T> => {
  let resolve: (value: T) => void = () => undefined
  let reject: (error: unknown) => void = () => undefined
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

export const everyRight = { tenants: ['*'], projects: ['*'], models: ['*'] }

/** A registry with the one model `m` of the tenant `Default`, whose engine is the result of `open`. */
export const oneModel = (open: () => Promise<Engine>): ModelRegistry => ({
  find: ({ tenant, name, version = '' }) =>
    tenant === 'Default' && name === 'm' && (version === '' || version === '1')
      ? { tenant, name, version: '1', folder: '/secret/folder', options: { engine: 'scripted' } }
      : undefined,
  list: () => [],
  problems: () => [],
  engine: open,
  close: () => Promise.resolve(),
})

/** The context of a session in a test, and what happened to it. */
export interface Stage {
  readonly clock: VirtualClock
  readonly drain$: ReplaySubject<Drain>
  /** Ends all grants. */
  readonly ended$: Subject<SpeechError>
  readonly faults: unknown[]
  /** Places granted by `admit` and not released. */
  readonly places: () => number
  readonly context: SessionContext
}

export const stage = (
  models: ModelRegistry,
  limits: Partial<SessionLimits> = {},
  admit: () => Promise<void> = () => Promise.resolve(),
): Stage => {
  const clock = new VirtualClock()
  const drain$ = new ReplaySubject<Drain>(1)
  const ended$ = new Subject<SpeechError>()
  const faults: unknown[] = []
  let places = 0
  const context: SessionContext = {
    admit: async () => {
      await admit()
      places += 1
      return { rights: everyRight, ended$, release: () => (places -= 1) }
    },
    models,
    limits: { ...defaultSessionLimits, maxPacePercent: 0, ...limits },
    drain$,
    scheduler: clock,
    onFault: (error) => faults.push(error),
  }
  return { clock, drain$, ended$, faults, places: () => places, context }
}

/** A connection to a function of the service over a link in memory. */
export interface TestConnection<M> {
  readonly client: Link<M, M>
  /** All messages that `receive` has not returned yet. */
  readonly received: M[]
  readonly receive: () => Promise<M>
  /** How the link ended: `ok`, or the code. */
  readonly end: () => string | undefined
  readonly ended: Promise<string>
  readonly session: Subscription
}

export const connect = <M>(
  scheduler: VirtualClock,
  conversation: (incoming$: Observable<M>, link: Link<M, M>) => Observable<M>,
): TestConnection<M> => {
  const [client, service] = memoryLinks<M, M>({ scheduler })
  const received: M[] = []
  const waiting: ((message: M) => void)[] = []
  let end: string | undefined
  const over = deferred<string>()
  const finish = (how: string): void => {
    end = how
    over.resolve(how)
  }
  client.incoming$.subscribe({
    next: (message) => {
      const next = waiting.shift()
      if (next === undefined) received.push(message)
      else next(message)
    },
    complete: () => {
      finish('ok')
    },
    error: (error: unknown) => {
      finish(isSpeechError(error) ? error.code : 'unknown')
    },
  })
  const session = serveLink(service, conversation).subscribe()
  return {
    client,
    received,
    receive: () => {
      const next = received.shift()
      return next === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(next)
    },
    end: () => end,
    ended: over.promise,
    session,
  }
}
