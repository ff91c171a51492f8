import { describe, expect, it } from 'vitest'
import { judgeRun } from '../../../bench/faults/judge-run.js'
import type { RunRecord } from '../../../bench/faults/run-record.js'
import type { SessionEvent } from '../../../src/protocol/session-event.js'

const proof = (missingMs: number, unfinalizedMs: number): NonNullable<RunRecord['proof']> => ({
  connections: 2,
  missing: [],
  missingMs,
  unfinalized: [],
  unfinalizedMs,
  repeatedMs: 0,
})

const at = (atMs: number, event: SessionEvent) => ({ atMs, event })
const state = (name: 'finalizing') => ({ type: 'connection', state: name }) as const
const reconnecting = {
  type: 'connection',
  state: 'reconnecting',
  attempt: 1,
  delayMs: 0,
  bufferedMs: 0,
  cause: 'connection-lost',
} as const
const resumed = { type: 'resumed', replayedMs: 500 } as const
const gap = (fromMs: number, toMs: number) => ({ type: 'gap', fromMs, toMs, cause: 'replay-full' }) as const

const repaired: RunRecord = {
  events: [at(2_003, reconnecting), at(2_300, resumed)],
  settled: { type: 'complete', atMs: 8_100 },
  faultAtMs: 2_000,
  tokensRequested: 2,
  proof: proof(0, 0),
  unreportedMs: 0,
  isWhole: true,
}
const failedWith = (code: string, atMs = 3_000): RunRecord['settled'] => ({ type: 'error', code, message: '', atMs })

describe('the promise for a drop', () => {
  it('is kept when nothing is lost, and reports when it was noticed and recovered', () => {
    expect(judgeRun('drop', repaired)).toEqual({
      promise: 'kept',
      inShort: '0',
      findings: '0 ms lost, 0 ms in flight lost, noticed after 3 ms, resumed after 300 ms, ended with its final',
    })
  })

  it.each<[string, Partial<RunRecord>, string]>([
    ['audio never arrived', { proof: proof(40, 0) }, '2'],
    ['audio arrived and was never finalized', { proof: proof(0, 500) }, '0 +25'],
    ['the text is not complete', { isWhole: false }, '0'],
    ['the session failed', { settled: failedWith('connection-lost') }, '0'],
    ['the session never ended', { settled: { type: 'pending', atMs: 99_000 } }, '0'],
    ['a gap is shorter than the loss', { proof: proof(40, 0), events: [at(5, gap(0, 20))] }, '2'],
    ['a gap is longer than the loss', { events: [at(5, gap(0, 120))] }, '0'],
  ])('is broken when %s', (_what, change, inShort) => {
    expect(judgeRun('outage-8s', { ...repaired, ...change })).toMatchObject({ promise: 'broken', inShort })
  })

  it('is kept with an exact gap and a text that is not complete', () => {
    const run = { ...repaired, proof: proof(40, 60), events: [at(5, gap(100, 200))], unreportedMs: 100, isWhole: false }
    expect(judgeRun('outage-30s', run)).toMatchObject({ promise: 'kept', inShort: '2 +3' })
  })

  it('uses the ledger if the service verifies nothing, and counts audio that was never taken', () => {
    const { proof: _proof, unreportedMs: _unreportedMs, isWhole: _isWhole, ...unproved } = repaired
    const ledger = {
      type: 'ledger',
      capturedMs: 8_000,
      finalizedMs: 8_000,
      pendingMs: 0,
      replayedPendingMs: 0,
      droppedMs: 0,
      sentMs: 8_000,
      estimated: false,
    } as const
    expect(judgeRun('drop', { ...unproved, events: [at(1, ledger)] })).toMatchObject({ promise: 'kept', inShort: '0' })
    const short = { ...ledger, capturedMs: 6_000, finalizedMs: 5_500, pendingMs: 500 }
    expect(judgeRun('drop', { ...unproved, events: [at(1, ledger), at(2, short)] })).toMatchObject({
      promise: 'broken',
      inShort: '100 +25',
    })
    const failed = { ...unproved, events: [], settled: failedWith('connection-lost') }
    expect(judgeRun('drop', failed)).toMatchObject({ promise: 'broken', inShort: '400' })
  })
})

describe('the promise for the other faults', () => {
  it('is a half-open connection noticed within 10 s', () => {
    const late = { ...repaired, events: [at(12_500, reconnecting)] }
    expect(judgeRun('half-open', repaired)).toMatchObject({ promise: 'kept', inShort: 'in 1 s' })
    expect(judgeRun('half-open', late)).toMatchObject({ promise: 'broken', inShort: 'in 11 s' })
    expect(judgeRun('half-open', { ...repaired, events: [] })).toMatchObject({
      promise: 'broken',
      inShort: 'unnoticed',
    })
  })

  it('is a timeout error, at its time, when finalize has no response', () => {
    const run = {
      ...repaired,
      events: [at(8_000, state('finalizing'))],
      settled: failedWith('finalize-timeout', 10_040),
    }
    expect(judgeRun('finalize-unanswered', run)).toMatchObject({ promise: 'kept', inShort: 'time-out 2 s' })
    expect(judgeRun('finalize-unanswered', { ...run, settled: failedWith('finalize-timeout', 14_000) })).toMatchObject({
      promise: 'broken',
    })
    expect(judgeRun('finalize-unanswered', { ...run, settled: failedWith('connection-lost', 10_000) })).toMatchObject({
      promise: 'broken',
    })
    expect(judgeRun('finalize-unanswered', { ...run, settled: { type: 'complete', atMs: 8_100 } })).toMatchObject({
      promise: 'broken',
    })
    expect(judgeRun('finalize-unanswered', { ...run, settled: { type: 'pending', atMs: 99_000 } })).toMatchObject({
      promise: 'broken',
      inShort: 'for ever',
    })
  })

  it('is one other token, then a typed error', () => {
    const run = { ...repaired, settled: failedWith('unauthenticated') }
    expect(judgeRun('refused-token', run)).toMatchObject({ promise: 'kept', inShort: '1 refresh' })
    expect(judgeRun('refused-token', { ...run, tokensRequested: 3 })).toMatchObject({ promise: 'broken' })
    expect(judgeRun('refused-token', { ...run, tokensRequested: 1 })).toMatchObject({ promise: 'broken' })
    expect(judgeRun('refused-token', { ...run, settled: failedWith('untyped') })).toMatchObject({ promise: 'broken' })
    expect(judgeRun('refused-token', { ...repaired, tokensRequested: 1 })).toMatchObject({ promise: 'skipped' })
  })

  it('is a new token for another connection, and a malformed message as a value', () => {
    expect(judgeRun('fresh-token', repaired)).toMatchObject({ promise: 'kept', inShort: 'yes' })
    expect(judgeRun('fresh-token', { ...repaired, tokensRequested: 1 })).toMatchObject({ promise: 'skipped' })
    const failed = { ...repaired, tokensRequested: 1, settled: failedWith('unauthenticated') }
    expect(judgeRun('fresh-token', failed)).toMatchObject({ promise: 'broken', inShort: 'no' })
    const unknown = { type: 'unknown', reason: '', raw: '{' } as const
    expect(judgeRun('malformed-message', { ...repaired, events: [at(1, unknown)] })).toMatchObject({
      promise: 'kept',
      inShort: 'an event',
    })
    expect(judgeRun('malformed-message', repaired)).toMatchObject({ promise: 'broken' })
  })

  it('is no gap when a token ends', () => {
    expect(judgeRun('token-expiry', repaired)).toMatchObject({ promise: 'kept', inShort: 'no gap' })
    expect(judgeRun('token-expiry', { ...repaired, tokensRequested: 1 })).toMatchObject({
      promise: 'broken',
      inShort: 'unnoticed',
    })
    const gapped = { ...repaired, events: [at(1, gap(0, 40))], proof: proof(40, 0) }
    expect(judgeRun('token-expiry', gapped)).toMatchObject({ promise: 'broken', inShort: 'gap' })
  })
})
