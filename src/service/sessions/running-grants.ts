import { ReplaySubject, Subscription, type Observable, type SchedulerAction, type SchedulerLike } from 'rxjs'
import type { SpeechError } from '../../errors/speech-error.js'
import type { Grant } from '../identity/tokens/token-verifier.js'

/** Who knows what has become of grants; the identity service is one. */
export interface GrantAuthority {
  /** Why a grant that was given is good no longer; undefined while it is. */
  readonly endOf: (grant: Grant) => SpeechError | undefined
  /** Another number whenever grants may have ended, also by the doing of another process. */
  readonly version: () => number
  /** Emits when this process itself has ended some. */
  readonly changed$: Observable<unknown>
}

export interface RunningGrantsOptions {
  readonly authority: GrantAuthority
  readonly scheduler: SchedulerLike
  readonly onFault?: (error: unknown) => void
}

export interface RunningGrant {
  /** Emits why the grant is good no longer, once; to a late subscriber at once. */
  readonly ended$: Observable<SpeechError>
  /** May be called again without harm. */
  readonly release: () => void
}

interface Held {
  readonly grant: Grant
  readonly ended$: ReplaySubject<SpeechError>
  sessions: number
}

/** How late, in milliseconds, a session learns what another process has revoked, or that its token has expired. */
export const grantCheckMs = 1_000

/**
 * The grants of the sessions that run. One timer looks after all of them, and only while there are any: each second it
 * asks for the version, a number, and looks the grants up, one by one, only when that has changed or their time is over.
 */
export class RunningGrants {
  readonly #authority: GrantAuthority
  readonly #scheduler: SchedulerLike
  readonly #onFault: (error: unknown) => void
  readonly #held = new Map<string, Held>()
  #watch = Subscription.EMPTY
  #seen: number
  #failing = false

  constructor({ authority, scheduler, onFault = () => undefined }: RunningGrantsOptions) {
    this.#authority = authority
    this.#scheduler = scheduler
    this.#onFault = onFault
    // From the beginning: what is revoked between a token's check and its session's start has a later version.
    this.#seen = authority.version()
  }

  /** Grants that are watched, several sessions of one token being one. */
  get size(): number {
    return this.#held.size
  }

  add(grant: Grant): RunningGrant {
    const held = this.#held.get(grant.tokenId) ?? { grant, ended$: new ReplaySubject<SpeechError>(1), sessions: 0 }
    held.sessions += 1
    this.#held.set(grant.tokenId, held)
    if (this.#watch.closed) this.#watch = this.#begin()
    let isHeld = true
    return {
      ended$: held.ended$.asObservable(),
      release: () => {
        if (!isHeld) return
        isHeld = false
        held.sessions -= 1
        if (held.sessions > 0) return
        if (this.#held.get(grant.tokenId) === held) this.#held.delete(grant.tokenId)
        if (this.#held.size === 0) this.#watch.unsubscribe()
      },
    }
  }

  #begin(): Subscription {
    const watch = new Subscription()
    watch.add(this.#authority.changed$.subscribe(() => this.#check()))
    const check = (): void => this.#check()
    watch.add(
      this.#scheduler.schedule(function again(this: SchedulerAction<undefined>) {
        check()
        this.schedule(undefined, grantCheckMs)
      }, grantCheckMs),
    )
    return watch
  }

  /** A store that cannot be read ends no session: it is told of once, and asked again. */
  #check(): void {
    try {
      const version = this.#authority.version()
      const isDue = version === this.#seen ? this.#isOver : () => true
      for (const held of [...this.#held.values()]) if (isDue(held)) this.#settle(held)
      this.#seen = version
      this.#failing = false
    } catch (error) {
      if (!this.#failing) this.#onFault(error)
      this.#failing = true
    }
  }

  readonly #isOver = ({ grant }: Held): boolean => grant.expiresAtMs <= this.#scheduler.now()

  #settle(held: Held): void {
    const error = this.#authority.endOf(held.grant)
    if (error === undefined) return
    // A session that begins with the token after this is another matter, which the verifier refuses.
    this.#held.delete(held.grant.tokenId)
    held.ended$.next(error)
    held.ended$.complete()
    if (this.#held.size === 0) this.#watch.unsubscribe()
  }
}
