import { isSpeechError } from '../../src/errors/speech-error.js'
import type { GapEvent, LedgerEvent, SessionEvent } from '../../src/protocol/session-event.js'
import { audioMs } from './fault-session.js'
import type { VerificationReport } from '../../src/testing/verifying/report.js'

/** How a session ended; `pending`: it had not ended when the run was over. */
export type Settled =
  | { readonly type: 'complete' | 'pending'; readonly atMs: number }
  | { readonly type: 'error'; readonly code: string; readonly message: string; readonly atMs: number }

/** The record of one run, with times in milliseconds since its begin. */
export interface RunRecord {
  readonly events: readonly { readonly atMs: number; readonly event: SessionEvent }[]
  readonly settled: Settled
  /** Time at which the fault had been applied; undefined if there was none. */
  readonly faultAtMs: number | undefined
  /** How often a token was requested from the source. */
  readonly tokensRequested: number
  /** What the service verified about the audio, if it can. */
  readonly proof?: VerificationReport
  /** Duration of the audio whose words are missing in the text of the milestones; undefined if unknown. */
  readonly unreportedMs?: number
  /** Whether the text of all milestones equals that of the complete audio; undefined if unknown. */
  readonly isWhole?: boolean
}

export const errorSettled = (error: unknown, atMs: number): Settled => ({
  type: 'error',
  code: isSpeechError(error) ? error.code : 'untyped',
  message: error instanceof Error ? error.message : String(error),
  atMs,
})

/** Audio that was lost, in milliseconds. */
export interface Losses {
  /** Never arrived. */
  readonly lostMs: number
  /** Arrived, has no definitive result, and was never sent again. */
  readonly inFlightMs: number
  /** Reported as `gap`. */
  readonly gapMs: number
  /** Lost audio as the service verified it, or as the session's ledger has it. */
  readonly by: 'service' | 'ledger'
}

/** Audio that the session never took because it had already failed is also lost. */
export const lossesOf = ({ events, proof, settled }: RunRecord): Losses => {
  const gaps = events.flatMap(({ event }) => (event.type === 'gap' ? [event] : []))
  const lengthOf = (isCounted: (gap: GapEvent) => boolean): number =>
    gaps.filter(isCounted).reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0)
  // Silence does not count as lost.
  const silentMs = lengthOf(({ cause }) => cause === 'silence')
  const gapMs = lengthOf(({ cause }) => cause !== 'silence')
  if (proof !== undefined) {
    return { lostMs: proof.missingMs, inFlightMs: proof.unfinalizedMs, gapMs, by: 'service' }
  }
  const ledger = lastLedger(events)
  if (ledger === undefined)
    return { lostMs: settled.type === 'complete' ? gapMs : audioMs, inFlightMs: 0, gapMs, by: 'ledger' }
  return {
    lostMs: ledger.droppedMs - silentMs + Math.max(0, audioMs - ledger.capturedMs),
    inFlightMs: ledger.pendingMs + ledger.replayedPendingMs,
    gapMs,
    by: 'ledger',
  }
}

const lastLedger = (events: RunRecord['events']): LedgerEvent | undefined => {
  const [last] = events.flatMap(({ event }) => (event.type === 'ledger' ? [event] : [])).slice(-1)
  return last
}

/** Time from the fault to the first event about it; undefined if there was none. */
export const noticedAfterMs = ({ events, settled, faultAtMs }: RunRecord): number | undefined => {
  if (faultAtMs === undefined) return undefined
  const noticed = events.find(
    ({ atMs, event }) => atMs >= faultAtMs && event.type === 'connection' && event.state === 'reconnecting',
  )
  const atMs = noticed?.atMs ?? (settled.type === 'error' ? settled.atMs : undefined)
  return atMs === undefined ? undefined : Math.max(0, atMs - faultAtMs)
}

/** Time from the fault until another connection had taken over. */
export const resumedAfterMs = ({ events, faultAtMs }: RunRecord): number | undefined => {
  const resumed = events.find(({ event }) => event.type === 'resumed')
  return resumed === undefined || faultAtMs === undefined ? undefined : resumed.atMs - faultAtMs
}
