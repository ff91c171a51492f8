import { defer, mergeMap, type OperatorFunction } from 'rxjs'
import { isSpeechError } from '../../errors/speech-error.js'
import type { ErrorCode } from '../../errors/error-code.js'
import type { LedgerEvent, SessionEvent } from '../../protocol/session-event.js'
import { endWithRest, type StreamEnd } from '../end-with-rest.js'
import { DropAccount, type DropSum, type LedgerDrop } from './drop-account.js'

/** Where audio stands, in milliseconds: `captured = finalized + pending + replayedPending + dropped`. */
export type LedgerAccount = Omit<LedgerEvent, 'type' | 'estimated' | 'channel'>

/** The account of a session, or of what it has come to. */
export interface LedgerState {
  readonly type: 'state'
  /** All channels added up, where they are accounted apart (stereo over WebSocket); else the session. */
  readonly total: LedgerAccount
  /** The channels that are accounted apart, in order; none where the session has one account. */
  readonly channels: readonly (LedgerAccount & { readonly channel: number })[]
  /** What was dropped, stretch by stretch in the order of their telling, those that touch as one; 1000 at most. */
  readonly drops: readonly LedgerDrop[]
  /** Gaps beyond those 1000, of which only the sums are known. */
  readonly unlistedDrops: number
  readonly droppedByCause: readonly DropSum[]
  /** Whether the service gives no times, so that `finalizedMs` is a lower bound. */
  readonly estimated: boolean
}

/** The last word on a session's audio. */
export interface LedgerReport extends Omit<LedgerState, 'type'> {
  readonly type: 'report'
  readonly outcome: 'done' | 'stopped' | 'failed'
  /** With which error the session failed, where it was one of this library. */
  readonly code?: ErrorCode
  /** Whether the sums come out even: all that was captured is accounted for, and each drop was told as a gap. */
  readonly balanced: boolean
}

/**
 * Keeps the account of a session's audio: a state for each `ledger` event of it, and at its end a report.
 *
 * - Every captured millisecond is finalized, pending, sent again and pending, or dropped; a drop is listed with its cause
 *   from the ledger event on that follows its `gap`.
 * - Completion and error of the source: the report, then the same. Unsubscribe: no report.
 * - Buffered: one account for each channel, and the list of drops.
 */
export const ledger = (): OperatorFunction<SessionEvent, LedgerState | LedgerReport> => (source$) =>
  defer(() => {
    const book = new LedgerBook()
    return source$.pipe(
      mergeMap((event) => book.take(event)),
      endWithRest<LedgerState, LedgerReport>((end) => [book.report(end)]),
    )
  })

const nothing: LedgerAccount = {
  capturedMs: 0,
  finalizedMs: 0,
  pendingMs: 0,
  replayedPendingMs: 0,
  droppedMs: 0,
  sentMs: 0,
}
const sums = Object.keys(nothing) as (keyof LedgerAccount)[]

/** Of what doubles lose, and a sample at most for each gap that is told in milliseconds. */
const toleranceMs = 0.5

class LedgerBook {
  readonly #accounts = new Map<number | undefined, LedgerAccount>()
  readonly #drops = new DropAccount()
  #estimated = false
  #isStopped = false

  take(event: SessionEvent): readonly LedgerState[] {
    if (event.type === 'connection' && event.state === 'gap') this.#drops.add(event)
    if (event.type === 'connection' && event.state === 'stopped') this.#isStopped = true
    if (event.type !== 'ledger') return []
    this.#accounts.set(event.channel, accountOf(event))
    this.#estimated ||= event.estimated
    return [this.#state()]
  }

  report(end: StreamEnd): LedgerReport {
    const state = this.#state()
    const { total, droppedByCause } = state
    const accounted = total.finalizedMs + total.pendingMs + total.replayedPendingMs + total.droppedMs
    const told = droppedByCause.reduce((sum, { ms }) => sum + ms, 0)
    return {
      ...state,
      type: 'report',
      outcome: end.type === 'failed' ? 'failed' : this.#isStopped ? 'stopped' : 'done',
      ...(end.type === 'failed' && isSpeechError(end.error) && { code: end.error.code }),
      balanced: isEven(total.capturedMs, accounted) && isEven(total.droppedMs, told),
    }
  }

  #state(): LedgerState {
    const channels = [...this.#accounts]
      .flatMap(([channel, account]) => (channel === undefined ? [] : [{ channel, ...account }]))
      .sort((one, other) => one.channel - other.channel)
    return {
      type: 'state',
      total: this.#accounts.get(undefined) ?? channels.reduce<LedgerAccount>(added, nothing),
      channels,
      drops: this.#drops.stretches,
      unlistedDrops: this.#drops.unlisted,
      droppedByCause: this.#drops.sums,
      estimated: this.#estimated,
    }
  }
}

const accountOf = (event: LedgerEvent): LedgerAccount => each((key) => event[key])
const added = (one: LedgerAccount, other: LedgerAccount): LedgerAccount => each((key) => one[key] + other[key])

const each = (figure: (key: keyof LedgerAccount) => number): LedgerAccount =>
  sums.reduce((account, key) => ({ ...account, [key]: figure(key) }), nothing)

const isEven = (one: number, other: number): boolean => Math.abs(one - other) <= toleranceMs
