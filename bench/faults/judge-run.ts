import type { NamedFault } from '../../src/testing/faults/named-faults.js'
import { lossesOf, noticedAfterMs, resumedAfterMs, type Losses, type RunRecord } from './run-record.js'

/** The verdict on a run. */
export interface Verdict {
  /** `skipped`: cannot be tested with this service; the findings explain why. */
  readonly promise: 'kept' | 'broken' | 'skipped'
  /** One or two words, as in the columns of the peers. */
  readonly inShort: string
  /** One line. */
  readonly findings: string
}

/** Time limit for noticing a half-open connection. */
const noticeWithinMs = 10_000
/** Time allowed beyond the deadline of the final until its event arrives. */
const lateMs = 1_500
const finalizeTimeoutMs = 2_000

/** Samples are counted in whole milliseconds of 20 ms chunks; reported times may be rounded. */
const roundingMs = 1

/** Compares a run with the promise for its fault. */
export const judgeRun = (name: Exclude<NamedFault, 'stopped-reading'>, run: RunRecord): Verdict => {
  switch (name) {
    case 'refused-token':
      return judgeRefusal(run)
    case 'finalize-unanswered':
      return judgeFinalize(run)
    case 'fresh-token':
      return judgeFreshToken(run)
    case 'malformed-message':
      return judgeMalformed(run)
    case 'half-open':
      return judgeHalfOpen(run)
    case 'token-expiry':
      return judgeExpiry(run)
    default:
      return judgeLosses(run)
  }
}

const seconds = (ms: number): string => (ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`)

/** Chunks of 20 ms, the unit in which the peers were measured. */
const chunks = (ms: number): number => Math.round(ms / 20)

const shortLosses = ({ lostMs, inFlightMs }: Losses): string =>
  inFlightMs === 0 ? String(chunks(lostMs)) : `${chunks(lostMs)} +${chunks(inFlightMs)}`

const ending = ({ settled }: RunRecord): string => {
  if (settled.type === 'complete') return 'ended with its final'
  return settled.type === 'error' ? `failed with ${settled.code}` : 'never ended'
}

const lossFindings = (run: RunRecord, losses: Losses): readonly string[] => {
  const noticed = noticedAfterMs(run)
  const resumed = resumedAfterMs(run)
  return [
    `${Math.round(losses.lostMs)} ms lost, ${Math.round(losses.inFlightMs)} ms in flight lost`,
    ...(losses.gapMs > 0 ? [`gap of ${Math.round(losses.gapMs)} ms reported`] : []),
    ...(run.faultAtMs === undefined
      ? []
      : [noticed === undefined ? 'never noticed' : `noticed after ${seconds(noticed)}`]),
    ...(resumed === undefined ? [] : [`resumed after ${seconds(resumed)}`]),
    ending(run),
    ...(run.isWhole === false ? ['the text differs from that of the audio'] : []),
  ]
}

/** The length of a word of the scripted service: the resolution with which reported audio is known. */
const wordMs = 100

/**
 * Nothing is lost, or a gap states exactly what was lost and nothing that was reported. A milestone may be lost on its
 * way to the client, so a gap may be longer than the service knows. A run that completes without a gap has the complete
 * text.
 */
const isAccounted = ({ settled, isWhole, unreportedMs }: RunRecord, { lostMs, inFlightMs, gapMs }: Losses): boolean => {
  const excessMs = gapMs - lostMs - inFlightMs
  const isExact =
    unreportedMs === undefined
      ? Math.abs(excessMs) <= roundingMs
      : excessMs >= -roundingMs && gapMs <= unreportedMs + wordMs
  return isExact && settled.type === 'complete' && (gapMs > 0 || isWhole !== false)
}

const verdict = (isKept: boolean, inShort: string, findings: readonly string[]): Verdict => ({
  promise: isKept ? 'kept' : 'broken',
  inShort,
  findings: findings.join(', '),
})

const judgeLosses = (run: RunRecord): Verdict => {
  const losses = lossesOf(run)
  return verdict(isAccounted(run, losses), shortLosses(losses), lossFindings(run, losses))
}

const judgeFreshToken = (run: RunRecord): Verdict => {
  const losses = lossesOf(run)
  const isFresh = run.tokensRequested > 1
  // A refused token is replaced; a service that accepts the old token again has not tested that.
  if (!isFresh && isAccounted(run, losses)) {
    return { promise: 'skipped', inShort: 'not tested', findings: 'the service accepts the same token again' }
  }
  const findings = [`${run.tokensRequested} tokens requested`, ...lossFindings(run, losses)]
  return verdict(isFresh && isAccounted(run, losses), isFresh ? 'yes' : 'no', findings)
}

const judgeFinalize = (run: RunRecord): Verdict => {
  const { settled, events } = run
  const finalizingMs = events.find(({ event }) => event.type === 'connection' && event.state === 'finalizing')?.atMs
  const waitedMs = finalizingMs === undefined ? Infinity : settled.atMs - finalizingMs
  const isNamed = settled.type === 'error' && settled.code === 'finalize-timeout'
  const inShort = isNamed
    ? `time-out ${Math.round(waitedMs / 1_000)} s`
    : settled.type === 'pending'
      ? 'for ever'
      : ending(run)
  const findings = [
    `${ending(run)} after ${Number.isFinite(waitedMs) ? seconds(waitedMs) : 'no finalize'}`,
    `the deadline was ${seconds(finalizeTimeoutMs)}`,
  ]
  return verdict(isNamed && waitedMs <= finalizeTimeoutMs + lateMs, inShort, findings)
}

const judgeMalformed = (run: RunRecord): Verdict => {
  const losses = lossesOf(run)
  const unknown = run.events.filter(({ event }) => event.type === 'unknown').length
  const findings = [
    `reported as ${unknown === 1 ? 'an event' : `${unknown} events`} of type unknown`,
    ...lossFindings({ ...run, faultAtMs: undefined }, losses),
  ]
  return verdict(unknown > 0 && isAccounted(run, losses), unknown > 0 ? 'an event' : ending(run), findings)
}

const judgeHalfOpen = (run: RunRecord): Verdict => {
  const losses = lossesOf(run)
  const noticed = noticedAfterMs(run)
  const isNoticed = noticed !== undefined && noticed <= noticeWithinMs
  const inShort = noticed === undefined ? 'unnoticed' : `in ${Math.ceil(noticed / 1_000)} s`
  return verdict(isNoticed && isAccounted(run, losses), inShort, lossFindings(run, losses))
}

/** One other token is requested, then the refusal is emitted with its code. */
const judgeRefusal = (run: RunRecord): Verdict => {
  const { tokensRequested, settled } = run
  if (settled.type === 'complete' && tokensRequested === 1) {
    return { promise: 'skipped', inShort: 'not tested', findings: 'the service accepts any token' }
  }
  const isTyped = settled.type === 'error' && settled.code === 'unauthenticated'
  const renewed = tokensRequested - 1
  const findings = [`${renewed} forced ${renewed === 1 ? 'refresh' : 'refreshes'}`, ending(run)]
  return verdict(isTyped && renewed === 1, `${renewed} refresh`, findings)
}

/** The token expires before the audio ends: the next connection takes over without a gap. */
const judgeExpiry = (run: RunRecord): Verdict => {
  const losses = lossesOf(run)
  const isRenewed = run.tokensRequested > 1
  const isKept = isRenewed && losses.gapMs === 0 && isAccounted(run, losses)
  const findings = [
    isRenewed ? 'another token was requested before the first one expired' : 'no other token was requested',
    ...lossFindings({ ...run, faultAtMs: undefined }, losses),
  ]
  return verdict(isKept, isRenewed ? (losses.gapMs === 0 ? 'no gap' : 'gap') : 'unnoticed', findings)
}
