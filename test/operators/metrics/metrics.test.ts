import { map, of, tap } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { metrics, type MetricsSummary, type MetricsUpdate } from '../../../src/operators/metrics/metrics.js'
import { sampleClock } from '../../../src/operators/metrics/sample-clock.js'
import type { SessionEvent } from '../../../src/protocol/session-event.js'
import { marbles } from '../marbles.js'
import { final, gap, ledgerOf, milestone, partial, streaming } from '../session-events.js'
import { itReportsAtTheEnd } from '../session-operator-laws.js'

const finalizing: SessionEvent = { type: 'connection', state: 'finalizing' }
const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const

/** Runs a diagram of events and returns the updates, the summary last. */
const reported = (drawing: string, values: Readonly<Record<string, SessionEvent>>) => {
  const seen: (MetricsUpdate | MetricsSummary)[] = []
  marbles(({ cold, scheduler }) => {
    cold<SessionEvent>(drawing, values)
      .pipe(metrics({ scheduler }))
      .subscribe((value) => seen.push(value))
    scheduler.flush()
  })
  return seen
}

describe('metrics', () => {
  itReportsAtTheEnd({
    operator: metrics,
    reported: ledgerOf({ capturedMs: 100 }),
    unreported: streaming,
    nameOf: (output) => (output.type === 'metrics' ? 'e' : output.outcome === 'failed' ? 'f' : 'r'),
  })

  it('measures delays from the position of speech to the arrival of its results, by real time without a ledger', () => {
    const values = {
      s: streaming,
      p: partial('a', { startMs: 100, endMs: 250, channel: 0 }),
      m: milestone('a b', { startMs: 100, endMs: 600, channel: 0 }),
      z: finalizing,
      f: final('a b', { channel: 0 }),
    }
    const seen = reported('10ms s 299ms p 99ms p 489ms m 99ms z 29ms f|', values)
    expect(seen.at(-1)).toEqual({
      type: 'summary',
      outcome: 'completed',
      atMs: 10 + 300 + 100 + 490 + 100 + 30 + 1,
      session: {
        timeToFirstPartialMs: 300,
        speechToPartialMs: 200,
        speechToMilestoneMs: 890 - 600,
        finalizeToFinalMs: 30,
        droppedMs: 0,
        reconnects: 0,
        attempts: 0,
        retransmittedMs: 0,
      },
      channels: [
        {
          channel: 0,
          timeToFirstPartialMs: 300,
          speechToPartialMs: 200,
          speechToMilestoneMs: 290,
          finalizeToFinalMs: 30,
          droppedMs: 0,
          reconnects: 0,
          attempts: 0,
          retransmittedMs: 0,
        },
      ],
      distributions: {
        timeToFirstPartialMs: { count: 1, minMs: 300, medianMs: 300, p95Ms: 300, maxMs: 300 },
        speechToPartialMs: { count: 1, minMs: 200, medianMs: 200, p95Ms: 200, maxMs: 200 },
        speechToMilestoneMs: { count: 1, minMs: 290, medianMs: 290, p95Ms: 290, maxMs: 290 },
        finalizeToFinalMs: { count: 1, minMs: 30, medianMs: 30, p95Ms: 30, maxMs: 30 },
      },
    })
    // The second partial of a stretch of speech changes nothing.
    expect(seen).toHaveLength(4)
  })

  it('uses the ledger if there is one', () => {
    const seen = reported('s 99ms l 49ms m|', {
      s: streaming,
      l: ledgerOf({ capturedMs: 1000 }),
      m: milestone('a', { startMs: 0, endMs: 980 }),
    })
    expect(seen.at(-2)).toMatchObject({ session: { speechToMilestoneMs: 70 } })
  })

  it('uses the sample clock if given, however fast the source is', () => {
    marbles(({ scheduler, cold }) => {
      const clock = sampleClock({ format, scheduler })
      const seen: unknown[] = []
      // A second of audio every 100 ms.
      cold('a 99ms a 99ms a|')
        .pipe(
          map(() => new Uint8Array(16_000)),
          clock.count(),
        )
        .subscribe()
      cold<SessionEvent>('s 249ms m|', { s: streaming, m: milestone('a', { startMs: 0, endMs: 2000 }) })
        .pipe(metrics({ scheduler, clock }))
        .subscribe((value) => seen.push(value))
      scheduler.flush()
      expect(seen.at(-1)).toMatchObject({ session: { speechToMilestoneMs: 150 } })
    })
  })

  it('reports no delay for results without times, and no negative delay', () => {
    const seen = reported('s 9ms m n|', { s: streaming, m: milestone('a'), n: milestone('b', { endMs: 500 }) })
    expect(seen.at(-1)).toMatchObject({ distributions: { speechToMilestoneMs: { count: 1, maxMs: 0 } } })
  })

  it('counts audio that is held, lost, pending and sent again', () => {
    const seen = reported('(slgnrRR)-|', {
      s: streaming,
      l: ledgerOf({ capturedMs: 5000, finalizedMs: 1000, sentMs: 4000 }),
      g: gap(3000, 3500),
      n: ledgerOf({ capturedMs: 5000, finalizedMs: 1000, droppedMs: 500, sentMs: 4000 }),
      r: {
        type: 'connection',
        state: 'reconnecting',
        attempt: 1,
        delayMs: 10,
        bufferedMs: 3600,
        cause: 'connection-lost',
      },
      R: { type: 'resumed', replayedMs: 1200 },
    })
    expect(seen[0]).toMatchObject({ session: { lagMs: 3000, bufferedMs: 4000 } })
    expect(seen[1]).toMatchObject({ session: { lagMs: 2500, bufferedMs: 3500, droppedMs: 500 } })
    expect(seen[2]).toMatchObject({ session: { attempts: 1, bufferedMs: 3600 } })
    expect(seen.at(-1)).toMatchObject({ session: { reconnects: 2, attempts: 1, retransmittedMs: 2400 } })
  })

  it('adds up channels with separate ledgers', () => {
    const seen = reported('(lmr)|', {
      l: ledgerOf({ capturedMs: 100, channel: 1 }),
      m: ledgerOf({ capturedMs: 300, finalizedMs: 100, channel: 0 }),
      r: { type: 'resumed', replayedMs: 50, channel: 1 },
    })
    expect(seen.at(-1)).toMatchObject({
      session: { bufferedMs: 300, lagMs: 300, reconnects: 1, retransmittedMs: 50 },
      channels: [
        { channel: 0, bufferedMs: 200, reconnects: 0 },
        { channel: 1, bufferedMs: 100, reconnects: 1 },
      ],
    })
  })

  it('starts again with each subscription', () => {
    const metrics$ = of<SessionEvent>(ledgerOf({ capturedMs: 100 })).pipe(metrics())
    const counts: unknown[] = []
    const count = tap((update: MetricsUpdate | MetricsSummary) => {
      if (update.type === 'summary') counts.push(update.distributions.bufferedMs?.count)
    })
    metrics$.pipe(count).subscribe()
    metrics$.pipe(count).subscribe()
    expect(counts).toEqual([1, 1])
  })
})
