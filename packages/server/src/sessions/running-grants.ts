import { ReplaySubject, Subscription, type Observable, type SchedulerAction, type SchedulerLike } from 'rxjs'
import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { Grant } from '../identity/tokens/token-verifier.js'

/** Knows which grants are still valid; the identity service is one. */
export interface GrantAuthority {
  /** Why a grant is no longer valid; undefined while it is. */
  readonly endOf: (grant: Grant) => SpeechError | undefined
  /** A number that changes whenever grants may have ended, also by another process. */
  readonly version: () => number
  /** Emits when this process itself has ended grants. */
  readonly changed$: Observable<unknown>
}

export interface RunningGrantsOptions {
  readonly authority: GrantAuthority
  readonly scheduler: SchedulerLike
  readonly onFault?: ((error: unknown) => void) | undefined
}

export interface RunningGrant {
  /** Emits once why the grant is no longer valid; to a late subscriber at once. */
  readonly ended$: Observable<SpeechError>
  /** Further calls have no effect. */
  readonly release: () => void
}

interface Held {
  readonly grant: Grant
  readonly ended$: ReplaySubject<SpeechError>
  sessions: number
}

/** The maximum time until an expired token, or one revoked by another process, ends its sessions, in milliseconds. */
export const grantCheckMs = 1_000

/**
 * The grants of the running sessions. One timer serves all of them, and runs only while there are any: each second it
 * reads the version of the authority, and looks up all grants if that has changed, otherwise only those that have
 * expired.
 */
export class RunningGrants {
  readonly #authority: GrantAuthority
  readonly #scheduler: SchedulerLike
  readonly #onFault: (error: unknown) => void
  readonly #held = new Map<string, Held>()
  #watch = Subscription.EMPTY
  #version: number
  #isFailing = false

  constructor({ authority, scheduler, onFault = () => undefined }: RunningGrantsOptions) {
    this.#authority = authority
    this.#scheduler = scheduler
    this.#onFault = onFault
    // Read now: a revocation between the check of a token and the start of its session has a later version.
    this.#version = authority.version()
  }

  /** The number of grants that are watched; several sessions of one token count once. */
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

  /** A store that cannot be read ends no session: it is reported once, and read again at the next check. */
  #check(): void {
    try {
      const version = this.#authority.version()
      const isDue = version === this.#version ? this.#isExpired : () => true
      for (const held of [...this.#held.values()]) if (isDue(held)) this.#endIfInvalid(held)
      this.#version = version
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing) this.#onFault(error)
      this.#isFailing = true
    }
  }

  readonly #isExpired = ({ grant }: Held): boolean => grant.expiresAtMs <= this.#scheduler.now()

  #endIfInvalid(held: Held): void {
    const error = this.#authority.endOf(held.grant)
    if (error === undefined) return
    // Later sessions with this token are refused by the verifier.
    this.#held.delete(held.grant.tokenId)
    held.ended$.next(error)
    held.ended$.complete()
    if (this.#held.size === 0) this.#watch.unsubscribe()
  }
}
