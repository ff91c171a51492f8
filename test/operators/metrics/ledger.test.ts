import * as fc from 'fast-check'
import { concat, from, Subject, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../src/errors/speech-error.js'
import { ledger, type LedgerReport, type LedgerState } from '../../../src/operators/metrics/ledger.js'
import type { GapCause, SessionEvent } from '../../../src/protocol/session-event.js'
import { gap, ledgerOf, streaming } from '../session-events.js'
import { itReportsAtTheEnd } from '../session-operator-laws.js'

const outputOf = (...events: SessionEvent[]): (LedgerState | LedgerReport)[] => {
  const seen: (LedgerState | LedgerReport)[] = []
  from(events)
    .pipe(ledger())
    .subscribe((value) => seen.push(value))
  return seen
}
const reportOf = (...events: SessionEvent[]): LedgerReport => {
  const report = outputOf(...events).at(-1)
  if (report?.type !== 'report') throw new Error('no report')
  return report
}

describe('ledger', () => {
  itReportsAtTheEnd({
    operator: ledger,
    reported: ledgerOf({ capturedMs: 100 }),
    unreported: streaming,
    nameOf: (output) => (output.type === 'state' ? 'e' : output.outcome === 'failed' ? 'f' : 'r'),
  })

  it('starts again with each subscription, and keeps the order when a subscriber causes an event', () => {
    const source$ = new Subject<SessionEvent>()
    const account$ = source$.pipe(ledger())
    const seen: number[] = []
    account$.subscribe(({ total }) => {
      if (seen.push(total.capturedMs) === 1) source$.next(ledgerOf({ capturedMs: 200 }))
    })
    source$.next(ledgerOf({ capturedMs: 100 }))
    expect(seen).toEqual([100, 200])
    const again: number[] = []
    account$.subscribe(({ total }) => again.push(total.capturedMs))
    source$.complete()
    expect(again).toEqual([0])
  })

  it('lists drops exactly, joins adjacent ones, and adds them up by cause', () => {
    const report = reportOf(
      gap(100, 200),
      gap(200, 350),
      gap(400, 500, { cause: 'replay-full' }),
      gap(900, 950),
      ledgerOf({ capturedMs: 1000, finalizedMs: 600, droppedMs: 400 }),
    )
    expect(report).toMatchObject({
      outcome: 'done',
      balanced: true,
      drops: [
        { fromMs: 100, toMs: 350, cause: 'buffer-full' },
        { fromMs: 400, toMs: 500, cause: 'replay-full' },
        { fromMs: 900, toMs: 950, cause: 'buffer-full' },
      ],
      droppedByCause: [
        { cause: 'replay-full', ms: 100, gaps: 1 },
        { cause: 'buffer-full', ms: 300, gaps: 3 },
      ],
    })
  })

  it('lists a drop from the ledger event that counts it', () => {
    const [state, report] = outputOf(ledgerOf({ capturedMs: 50 }), gap(0, 50))
    expect(state).toMatchObject({ type: 'state', drops: [] })
    expect(report).toMatchObject({ drops: [{ fromMs: 0, toMs: 50 }], balanced: false })
  })

  it('keeps 1000 stretches, and the sums of all', () => {
    const gaps = Array.from({ length: 1500 }, (_, at) => gap(at * 10, at * 10 + 5))
    const report = reportOf(...gaps, ledgerOf({ capturedMs: 15_000, finalizedMs: 7500, droppedMs: 7500 }))
    expect(report).toMatchObject({ unlistedDrops: 500, balanced: true, droppedByCause: [{ ms: 7500, gaps: 1500 }] })
    expect(report.drops).toHaveLength(1000)
  })

  it('adds up channels with separate ledgers', () => {
    const report = reportOf(
      ledgerOf({ capturedMs: 900, finalizedMs: 900, channel: 1 }),
      ledgerOf({ capturedMs: 1000, finalizedMs: 400, replayedPendingMs: 100, channel: 0, estimated: true }),
    )
    expect(report).toMatchObject({
      estimated: true,
      total: { capturedMs: 1900, finalizedMs: 1300, pendingMs: 500, replayedPendingMs: 100 },
      channels: [
        { channel: 0, capturedMs: 1000 },
        { channel: 1, capturedMs: 900 },
      ],
    })
  })

  it('names how the session ended', () => {
    expect(reportOf({ type: 'connection', state: 'stopped' }).outcome).toBe('stopped')
    const failed: (LedgerState | LedgerReport)[] = []
    concat(
      from([streaming]),
      throwError(() => new SpeechError('connection-lost', 'cut')),
    )
      .pipe(ledger())
      .subscribe({ next: (value) => failed.push(value), error: () => undefined })
    expect(failed).toMatchObject([{ outcome: 'failed', code: 'connection-lost' }])
  })

  it('reports when the ledger is not balanced', () => {
    expect(reportOf(ledgerOf({ capturedMs: 1000, pendingMs: 900 })).balanced).toBe(false)
    expect(reportOf(ledgerOf({ capturedMs: 1000, droppedMs: 100 })).balanced).toBe(false)
    expect(reportOf(gap(0, 100), ledgerOf({ capturedMs: 1000, droppedMs: 100 })).balanced).toBe(true)
  })

  it('is balanced at every state, whatever a session does with its audio', () => {
    const causes: readonly GapCause[] = ['buffer-full', 'replay-full', 'stopped']
    const step = fc.record({
      act: fc.constantFrom('capture', 'send', 'finalize', 'drop', 'reconnect', 'tell'),
      ms: fc.integer({ min: 1, max: 5000 }),
      cause: fc.constantFrom(...causes),
      channel: fc.constantFrom(0, 1),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.boolean(), (steps, isStereo) => {
        const countsByChannel = [0, 1].map(() => ({ captured: 0, sent: 0, finalized: 0, replayed: 0, dropped: 0 }))
        const events: SessionEvent[] = []
        const dropped: number[] = []
        for (const { act, ms, cause, channel } of steps) {
          const counts = countsByChannel[isStereo ? channel : 0]
          if (counts === undefined) continue
          const named = isStereo ? { channel } : {}
          const held = counts.captured - counts.finalized - counts.dropped
          const share = Math.min(ms, held)
          if (act === 'capture') counts.captured += ms
          if (act === 'send') counts.sent = Math.min(counts.captured, counts.sent + ms)
          if (act === 'reconnect') counts.replayed = share
          if (act === 'finalize') counts.finalized += share
          if (act === 'drop' && share > 0) {
            counts.dropped += share
            dropped.push(share)
            events.push(gap(counts.captured - share, counts.captured, { cause, ...named }))
          }
          const left = counts.captured - counts.finalized - counts.dropped
          counts.replayed = Math.min(counts.replayed, left)
          if (act === 'capture' || act === 'send') continue
          events.push(
            ledgerOf({
              capturedMs: counts.captured,
              finalizedMs: counts.finalized,
              pendingMs: left - counts.replayed,
              replayedPendingMs: counts.replayed,
              droppedMs: counts.dropped,
              sentMs: counts.sent,
              ...named,
            }),
          )
        }
        const seen = outputOf(...events)
        for (const { total, channels } of seen) {
          for (const item of [total, ...channels]) {
            expect(item.capturedMs).toBe(item.finalizedMs + item.pendingMs + item.replayedPendingMs + item.droppedMs)
          }
        }
        const report = seen.at(-1)
        expect(report).toMatchObject({ type: 'report', balanced: true })
        expect(report?.droppedByCause.reduce((sum, { ms }) => sum + ms, 0)).toBe(
          dropped.reduce((sum, ms) => sum + ms, 0),
        )
      }),
    )
  })
})

describe('the text of a report', () => {
  it('says in lines what happened to the audio', () => {
    const report = reportOf(
      gap(1000, 1500),
      ledgerOf({ capturedMs: 10_000, finalizedMs: 9000, replayedPendingMs: 200, droppedMs: 500 }),
    )
    expect(report.text).toBe(
      [
        'session done',
        'audio captured 10.000 s = finalized 9.000 s + pending 0.300 s + sent again and pending 0.200 s + dropped 0.500 s',
        'dropped 0.500 s, from 1.000 s to 1.500 s (buffer-full)',
      ].join('\n'),
    )
  })

  it('distinguishes channels, estimated values, and how many gaps it omits', () => {
    const gaps = Array.from({ length: 25 }, (_, at) => gap(at * 100, at * 100 + 1, { channel: 0 }))
    const lines = reportOf(
      ledgerOf({ capturedMs: 2500, droppedMs: 25, channel: 0, estimated: true }),
      ledgerOf({ capturedMs: 2500, channel: 1 }),
      ...gaps,
    ).text.split('\n')
    expect(lines).toHaveLength(1 + 2 + 20 + 2)
    expect(lines.slice(1, 3).map((line) => line.slice(0, 26))).toEqual([
      'channel 0 captured 2.500 s',
      'channel 1 captured 2.500 s',
    ])
    expect(lines.slice(-2)).toEqual([
      'and 5 more gaps',
      'the service sends no times: the finalized audio is a lower bound',
    ])
    expect(reportOf(ledgerOf({ capturedMs: 1, finalizedMs: 1 })).text).toContain('nothing was dropped')
  })
})
