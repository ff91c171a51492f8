import { concatMap, defer, EMPTY, from, map, mergeMap, of, timer, type Observable, type SchedulerLike } from 'rxjs'
import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { FaultDirector, type AppliedFault } from 'rxspeech/internal/testing/faults/fault-director'
import { accessAfter, afterRefusal, refusalOf, type Access } from 'rxspeech/internal/testing/faults/link-faults'
import type { Direction, Fault } from 'rxspeech/internal/testing/faults/fault-script'
import type { SocketMessage } from 'rxspeech/internal/transport/link'
import { checkFault, type StandInFault, type StandInFaultStep } from './faults.js'
import type { ClientSession } from './session.js'

/** Faults of the next message, result or answer. */
type NextFault = Extract<StandInFault['do'], 'duplicate' | 'repeat-final' | 'swap-finals' | 'truncate'>

export interface FaultRunnerOptions {
  readonly steps: readonly StandInFaultStep[]
  readonly scheduler: SchedulerLike
  readonly sessions: () => Iterable<ClientSession>
  /** Applies a fault to the bytes of the connections. */
  readonly toConnections: (fault: Fault) => void
}

/** Applies the faults of a stand-in to its requests, its sockets, and the results of its recognizer. */
export class FaultRunner {
  readonly #options: FaultRunnerOptions
  readonly #director: FaultDirector<StandInFault>
  #access: Access = { to: 'open' }
  #ignoresFinalize = false
  #finalDelayMs = 0
  readonly #next: Record<NextFault, number> = { duplicate: 0, 'repeat-final': 0, 'swap-finals': 0, truncate: 0 }

  constructor(options: FaultRunnerOptions) {
    this.#options = options
    this.#director = new FaultDirector(options.steps, options.scheduler, (fault) => this.#perform(fault))
  }

  get applied(): readonly AppliedFault<StandInFault>[] {
    return this.#director.applied
  }

  apply(fault: StandInFault): void {
    this.#director.apply(checkFault(fault))
  }

  signal(name: string): void {
    this.#director.signal(name)
  }

  close(): void {
    this.#director.close()
  }

  /** Counts a session that a client asks for; returns why it is refused. */
  connecting(): SpeechError | undefined {
    this.#director.connecting()
    const refusal = refusalOf(this.#access)
    if (refusal !== undefined) this.#access = afterRefusal(this.#access)
    return refusal
  }

  passed(direction: Direction, session: number, what: { readonly messages?: number; readonly audioMs?: number }): void {
    this.#director.passed(direction, session, what)
  }

  /** Whether the next answer to a request is cut. */
  takesTruncation(): boolean {
    return this.#take('truncate')
  }

  /** A message to the client, or twice the same. */
  outgoing(message: SocketMessage): readonly SocketMessage[] {
    return this.#take('duplicate') ? [message, message] : [message]
  }

  /** Whether a finalize reaches the recognizer. */
  takesFinalize(): boolean {
    this.signal('finalizing')
    return !this.#ignoresFinalize
  }

  /** The results of a recognizer. `finalizedMs` is when the client has asked for what is final. */
  results(results$: Observable<SocketMessage>, finalizedMs: () => number | undefined): Observable<SocketMessage> {
    const { scheduler } = this.#options
    return defer(() => {
      let held: SocketMessage | undefined
      return results$.pipe(
        mergeMap((message) => {
          const isMilestone = String(message).includes('"milestone-result"')
          if (!isMilestone && !String(message).includes('"final-result"')) return of(message)
          const before = held
          held = undefined
          if (!isMilestone) return from(before === undefined ? [message] : [before, message])
          if (before !== undefined) return of(message, before)
          if (this.#take('repeat-final')) return of(message, message)
          if (!this.#take('swap-finals')) return of(message)
          held = message
          return EMPTY
        }),
        concatMap((message) => {
          const sinceMs = finalizedMs()
          const waitMs = sinceMs === undefined ? 0 : sinceMs + this.#finalDelayMs - scheduler.now()
          return waitMs <= 0 ? of(message) : timer(waitMs, scheduler).pipe(map(() => message))
        }),
      )
    })
  }

  #take(what: NextFault): boolean {
    if (this.#next[what] === 0) return false
    this.#next[what] -= 1
    return true
  }

  #perform(fault: StandInFault): void {
    switch (fault.do) {
      case 'close':
        for (const session of this.#options.sessions()) session.closeSocket(fault.code, fault.reason)
        return
      case 'inject':
        if (typeof fault.message !== 'string') return
        for (const session of this.#options.sessions()) session.inject(fault.message)
        return
      case 'ignore-finalize':
        this.#ignoresFinalize = true
        return
      case 'late-final':
        this.#finalDelayMs = fault.delayMs
        return
      case 'duplicate':
      case 'repeat-final':
      case 'swap-finals':
      case 'truncate':
        this.#next[fault.do] += 1
        return
      case 'restore':
        this.#access = { to: 'open' }
        this.#ignoresFinalize = false
        this.#finalDelayMs = 0
        return this.#options.toConnections(fault)
      case 'refuse':
        if (fault.code === undefined) return this.#options.toConnections(fault)
        this.#access = accessAfter(this.#access, fault)
        return
      default:
        return this.#options.toConnections(fault)
    }
  }
}
