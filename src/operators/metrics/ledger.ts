import { defer, mergeMap, type OperatorFunction } from 'rxjs'
import { isSpeechError } from '../../errors/speech-error.js'
import type { ErrorCode } from '../../errors/error-table.js'
import type { LedgerEvent, SessionEvent } from '../../protocol/session-event.js'
import { emitAtEnd, type StreamEnd } from '../emit-at-end.js'
import { DropCounter, type DropSum, type LedgerDrop } from './drop-counter.js'

/** An account of audio, in milliseconds: `captured = finalized + pending + replayedPending + dropped`. */
export type LedgerAccount = Omit<LedgerEvent, 'type' | 'estimated' | 'channel'>

/** The account of a session so far. */
export interface LedgerState {
  readonly type: 'state'
  /** The sum of all channels if they have accounts of their own (stereo over WebSocket), otherwise the session. */
  readonly total: LedgerAccount
  /** The channels with an account of their own, sorted; empty if the session has one account. */
  readonly channels: readonly (LedgerAccount & { readonly channel: number })[]
  /** Dropped audio in the order of the `gap` events, adjacent gaps as one; 1000 at most. */
  readonly drops: readonly LedgerDrop[]
  /** The number of further gaps, which are only summed up. */
  readonly unlistedDrops: number
  /** The dropped audio of each cause. */
  readonly droppedByCause: readonly DropSum[]
  /** Whether the service sends no times, so that `finalizedMs` is a lower bound. */
  readonly estimated: boolean
}

/** The final account of a session. */
export interface LedgerReport extends Omit<LedgerState, 'type'> {
  readonly type: 'report'
  /** How the session ended. */
  readonly outcome: 'done' | 'stopped' | 'failed'
  /** The code of the `SpeechError` that the session failed with. */
  readonly code?: ErrorCode | undefined
  /** Whether the sums match: all captured audio is accounted for, and each drop was reported as a `gap`. */
  readonly balanced: boolean
  /** The report in lines of text, without transcripts: `session done`, the account, and what was dropped. */
  readonly text: string
}

/**
 * Keeps the account of a session's audio: emits a state for each `ledger` event and a report at the end.
 *
 * - Every captured millisecond is finalized, pending, sent again and pending, or dropped. A drop is listed with its
 *   cause from the first ledger event after its `gap`.
 * - Completion and error: emits the report, then the same. Unsubscription: no report.
 * - Buffering: one account for each channel, and the list of drops.
 *
 * @example
 * ```ts
 * session$.pipe(ledger(), last()).subscribe((report) => console.log('text' in report && report.text))
 * ```
 */
export const ledger = (): OperatorFunction<SessionEvent, LedgerState | LedgerReport> => (source$) =>
  defer(() => {
    const collector = new LedgerCollector()
    return source$.pipe(
      mergeMap((event) => collector.take(event)),
      emitAtEnd<LedgerState, LedgerReport>((end) => [collector.report(end)]),
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

/** Rounding of doubles, and up to one sample for each gap. */
const toleranceMs = 0.5

class LedgerCollector {
  readonly #accounts = new Map<number | undefined, LedgerAccount>()
  readonly #drops = new DropCounter()
  #estimated = false
  #isStopped = false

  take(event: SessionEvent): readonly LedgerState[] {
    if (event.type === 'gap') this.#drops.add(event)
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
    const reported = droppedByCause.reduce((sum, { ms }) => sum + ms, 0)
    const report: Omit<LedgerReport, 'text'> = {
      ...state,
      type: 'report',
      outcome: end.type === 'failed' ? 'failed' : this.#isStopped ? 'stopped' : 'done',
      code: end.type === 'failed' && isSpeechError(end.error) ? end.error.code : undefined,
      balanced: isBalanced(total.capturedMs, accounted) && isBalanced(total.droppedMs, reported),
    }
    return { ...report, text: textOf(report) }
  }

  #state(): LedgerState {
    const channels = [...this.#accounts]
      .flatMap(([channel, account]) => (channel === undefined ? [] : [{ channel, ...account }]))
      .sort((a, b) => a.channel - b.channel)
    return {
      type: 'state',
      total: this.#accounts.get(undefined) ?? channels.reduce<LedgerAccount>(added, nothing),
      channels,
      drops: this.#drops.drops,
      unlistedDrops: this.#drops.unlisted,
      droppedByCause: this.#drops.sums,
      estimated: this.#estimated,
    }
  }
}

const accountOf = (event: LedgerEvent): LedgerAccount => each((key) => event[key])
const added = (a: LedgerAccount, b: LedgerAccount): LedgerAccount => each((key) => a[key] + b[key])

const each = (valueOf: (key: keyof LedgerAccount) => number): LedgerAccount =>
  sums.reduce((account, key) => ({ ...account, [key]: valueOf(key) }), nothing)

const isBalanced = (a: number, b: number): boolean => Math.abs(a - b) <= toleranceMs

/** The number of drops that are described individually. */
const maxDescribedDrops = 20

const textOf = (report: Omit<LedgerReport, 'text'>): string => {
  const { total, channels, drops, unlistedDrops, estimated, outcome, code, balanced } = report
  const end = outcome === 'failed' && code !== undefined ? `failed (${code})` : outcome
  const accounts =
    channels.length === 0
      ? [`audio ${accountText(total)}`]
      : channels.map((account) => `channel ${account.channel} ${accountText(account)}`)
  const more = drops.length - maxDescribedDrops + unlistedDrops
  return [
    `session ${end}${balanced ? '' : '; its account is not balanced'}`,
    ...accounts,
    ...drops.slice(0, maxDescribedDrops).map(dropText),
    ...(more > 0 && drops.length >= maxDescribedDrops ? [`and ${more} more gaps`] : []),
    ...(drops.length === 0 && total.droppedMs === 0 ? ['nothing was dropped'] : []),
    ...(estimated ? ['the service sends no times: the finalized audio is a lower bound'] : []),
  ].join('\n')
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(3)} s`

const accountText = ({ capturedMs, finalizedMs, pendingMs, replayedPendingMs, droppedMs }: LedgerAccount): string =>
  [
    `captured ${seconds(capturedMs)} = finalized ${seconds(finalizedMs)}`,
    `pending ${seconds(pendingMs)}`,
    ...(replayedPendingMs > 0 ? [`sent again and pending ${seconds(replayedPendingMs)}`] : []),
    `dropped ${seconds(droppedMs)}`,
  ].join(' + ')

const dropText = ({ fromMs, toMs, cause, channel }: LedgerDrop): string =>
  `dropped ${seconds(toMs - fromMs)}, from ${seconds(fromMs)} to ${seconds(toMs)}${
    channel === undefined ? '' : ` of channel ${channel}`
  } (${cause})`
