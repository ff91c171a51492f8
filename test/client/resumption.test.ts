import {
  map,
  concatMap,
  defer,
  from,
  of,
  take,
  timer,
  type Observable,
  type ObservableInput,
  type SchedulerLike,
} from 'rxjs'
import { describe, expect, it } from 'vitest'
import { isSpeechError, SpeechError } from '../../src/errors/speech-error.js'
import type { SessionEvent } from '../../src/protocol/session-event.js'
import type { SessionOptions } from '../../src/client/options.js'
import { chunkMs, chunkOf, chunksOf, wordOf } from './fake-recognition.js'
import { fakeDataflow, fakeRecognizer, type Behaviour, type FakeService } from './fake-service.js'
import { virtually, type Tools } from './virtual-session.js'
import { everyNth } from '../thorough.js'

type Proof = Omit<FakeService<unknown>, 'dial'>

const chunkCount = 60

/** A microphone: a chunk every 20 ms. */
const spoken = (scheduler: SchedulerLike, count = chunkCount): Observable<Uint8Array> =>
  from(Array.from({ length: count }, (_, index) => index)).pipe(
    concatMap((index) => timer(chunkMs, scheduler).pipe(concatMap(() => of(chunkOf(index))))),
  )

const resumption = { firstDelayMs: 100, maxDelayMs: 2_000, budgetMs: 60_000 }

interface Seen {
  readonly events: SessionEvent[]
  end?: string
}

interface Run {
  readonly audio$?: ObservableInput<Uint8Array>
  readonly options?: Partial<SessionOptions>
  readonly unsubscribeAtMs?: number
}

const run = (
  transport: 'websocket' | 'grpc',
  tools: Tools,
  faults: Behaviour,
  { audio$ = spoken(tools.clock), options = {}, unsubscribeAtMs }: Run = {},
): { seen: Seen; proof: Proof } => {
  const { clock, recognizing, flowing } = tools
  const seen: Seen = { events: [] }
  const open = (): [Observable<SessionEvent>, Proof] => {
    if (transport === 'websocket') {
      const { dial, ...proof } = fakeRecognizer(clock, { answerMs: 1, ...faults })
      return [recognizing({ dial, resumption, ...options })(audio$), proof]
    }
    const { dial, ...proof } = fakeDataflow(clock, { answerMs: 1, ...faults })
    return [flowing({ dial, resumption, finalizeBy: 'request', ...options })(audio$), proof]
  }
  const [session$, proof] = open()
  const subscription = session$.subscribe({
    next: (event) => seen.events.push(event),
    complete: () => (seen.end = 'complete'),
    error: (error: unknown) => (seen.end = isSpeechError(error) ? error.code : String(error)),
  })
  if (unsubscribeAtMs !== undefined) clock.schedule(() => subscription.unsubscribe(), unsubscribeAtMs)
  return { seen, proof }
}

const milestones = (events: readonly SessionEvent[]): string =>
  events.flatMap((event) => (event.type === 'milestone' ? [event.text] : [])).join('')
const finals = (events: readonly SessionEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'final' ? [event.text] : []))
const whole = Array.from({ length: chunkCount }, (_, index) => wordOf(0, index)).join(' ')

const connectionOf = (events: readonly SessionEvent[]): string[] =>
  events.flatMap((event) => {
    switch (event.type) {
      case 'connection':
        return event.state === 'reconnecting'
          ? [`reconnecting ${event.attempt} in ${event.delayMs}, ${event.bufferedMs} held, ${event.cause}`]
          : [event.state]
      case 'resumed':
        return [`resumed ${event.replayedMs}`]
      case 'gap':
        return [`gap ${event.fromMs}-${event.toMs} ${event.cause}`]
      case 'silent':
        return [`silent ${event.forMs}`]
      default:
        return []
    }
  })
const lastLedger = (events: readonly SessionEvent[]): string => {
  const last = events.filter((event) => event.type === 'ledger').at(-1)
  return `${last?.capturedMs} = ${last?.finalizedMs} + ${last?.pendingMs} + ${last?.replayedPendingMs} + ${last?.droppedMs}`
}
const beginning = ['authorizing', 'connecting', 'starting', 'streaming']

const checkLedger = (events: readonly SessionEvent[]): void => {
  for (const event of events) {
    if (event.type !== 'ledger') continue
    const { capturedMs, finalizedMs, pendingMs, replayedPendingMs, droppedMs } = event
    expect(finalizedMs + pendingMs + replayedPendingMs + droppedMs).toBeCloseTo(capturedMs, 6)
    expect(Math.min(finalizedMs, pendingMs, replayedPendingMs, droppedMs)).toBeGreaterThanOrEqual(0)
  }
}

const checkTimes = (events: readonly SessionEvent[]): void => {
  let endMs = 0
  for (const event of events) {
    if (event.type !== 'milestone' || event.startMs === undefined || event.endMs === undefined) continue
    expect(event.startMs).toBeGreaterThanOrEqual(endMs)
    expect(event.endMs).toBeGreaterThanOrEqual(event.startMs)
    endMs = event.endMs
  }
}

describe.each(['websocket', 'grpc'] as const)('a session that loses its connection, over %s', (transport) => {
  it.each([0, 1_500, 8_000, 30_000])('loses no word wherever it breaks, after an outage of %d ms', (outageMs) => {
    const step = outageMs === 1_500 ? everyNth(5) : Math.max(3, everyNth(5))
    for (const timed of [true, false]) {
      for (let at = 1; at <= chunkCount; at += step) {
        virtually((tools) => {
          const { seen, proof } = run(transport, tools, { cutAfterChunks: [at], outageMs, timed })
          return () => {
            const where = `cut after ${at}, ${timed ? 'timed' : 'without times'}`
            expect(milestones(seen.events), where).toBe(whole)
            expect(finals(seen.events), where).toEqual([whole])
            expect(seen.end, where).toBe('complete')
            expect(new Set(proof.arrived.flat()).size, where).toBe(chunkCount)
            expect(seen.events.filter((event) => event.type === 'gap')).toEqual([])
            checkLedger(seen.events)
            checkTimes(seen.events)
            const last = seen.events.filter((event) => event.type === 'ledger').at(-1)
            expect([last?.finalizedMs, last?.capturedMs], where).toEqual([1_200, 1_200])
          }
        })
      }
    }
  })

  it.each(['start', 'finalize', 'final'] as const)('loses nothing when it breaks at the %s', (cutAt) => {
    for (const timed of [true, false]) {
      virtually((tools) => {
        const { seen } = run(transport, tools, { cutAt, outageMs: 1_500, timed })
        return () => {
          expect(milestones(seen.events)).toBe(whole)
          expect([finals(seen.events), seen.end]).toEqual([[whole], 'complete'])
          expect(lastLedger(seen.events)).toBe('1200 = 1200 + 0 + 0 + 0')
        }
      })
    }
  })

  it('reports the attempts with their delays and buffered audio, and the replayed audio', () => {
    virtually((tools) => {
      const { seen, proof } = run(transport, tools, { cutAfterChunks: [25], outageMs: 1_000 })
      return () => {
        expect(connectionOf(seen.events)).toEqual([
          ...beginning,
          'reconnecting 1 in 50, 100 held, connection-lost',
          'reconnecting 2 in 100, 140 held, connection-failed',
          'reconnecting 3 in 200, 240 held, connection-failed',
          'reconnecting 4 in 400, 440 held, connection-failed',
          'reconnecting 5 in 800, 800 held, connection-failed',
          'streaming',
          'resumed 100',
          'finalizing',
          'done',
        ])
        expect(proof.counts).toMatchObject({ connections: 2, refused: 4 })
        // From the first sample without a milestone on.
        expect(proof.arrived[1]?.[0]).toBe(20)
      }
    })
  })

  it('presents its token on every connection', () => {
    virtually((tools) => {
      const given: string[] = []
      const token$ = defer(() => {
        given.push(`token ${given.length + 1}`)
        return of(given.at(-1) ?? '')
      })
      const { seen } = run(transport, tools, { cutAfterChunks: [25, 10], outageMs: 0 }, { options: { token: token$ } })
      return () => expect([given.length, seen.end]).toEqual([1, 'complete'])
    })
  })

  it('subscribes to the source once, and leaves nothing open wherever it is unsubscribed', () => {
    for (let atMs = 5; atMs < 2_500; atMs += 95) {
      virtually((tools) => {
        let subscriptions = 0
        const audio$ = defer(() => {
          subscriptions += 1
          return spoken(tools.clock)
        })
        const faults = { cutAfterChunks: [25], outageMs: 1_000 }
        run(transport, tools, faults, { audio$, unsubscribeAtMs: atMs })
        tools.clock.schedule(() => expect([subscriptions, tools.clock.pending()]).toEqual([1, 0]), atMs + 20)
        return () => undefined
      })
    }
  })

  it('fails with the last error and an exact gap when the budget is exceeded', () => {
    virtually((tools) => {
      const options = { resumption: { ...resumption, budgetMs: 5_000 } }
      const { seen } = run(transport, tools, { cutAfterChunks: [25], outageMs: Infinity }, { options })
      return () => {
        expect(connectionOf(seen.events).slice(-2)).toEqual(['gap 400-1200 failed', 'failed'])
        expect([seen.end, lastLedger(seen.events)]).toEqual(['connection-failed', '1200 = 400 + 0 + 0 + 800'])
        expect(tools.clock.now()).toBeLessThan(6_000)
      }
    })
  })

  it('reports exactly what was not kept when the service had settled nothing for longer than the bound', () => {
    virtually((tools) => {
      // The milestone follows the 10th chunk, 5 chunks may be kept, and the cut follows the 18th.
      const options = { resumption: { ...resumption, maxReplayBytes: 5 * 320 } }
      const { seen, proof } = run(transport, tools, { cutAfterChunks: [18] }, { options })
      return () => {
        expect(connectionOf(seen.events).filter((item) => item.startsWith('gap'))).toEqual(['gap 200-260 replay-full'])
        expect(proof.arrived[1]?.[0]).toBe(13)
        expect([seen.end, lastLedger(seen.events)]).toEqual(['complete', '1200 = 1140 + 0 + 0 + 60'])
        checkLedger(seen.events)
        checkTimes(seen.events)
      }
    })
  })

  it('pauses a pulled source, which loses nothing however long the outage is', () => {
    virtually((tools) => {
      let pulled = 0
      const audio = (function* chunks() {
        for (; pulled < chunkCount; pulled++) yield chunkOf(pulled)
      })()
      const { seen } = run(transport, tools, { cutAfterChunks: [25], outageMs: 30_000 }, { audio$: audio })
      tools.clock.schedule(() => expect(pulled).toBeLessThanOrEqual(chunkCount), 10_000)
      return () => expect([milestones(seen.events), seen.end]).toEqual([whole, 'complete'])
    })
  })

  it.each(['protocol-violation', 'tenant-denied', 'refused'] as const)('does not try again after %s', (code) => {
    virtually((tools) => {
      const { seen, proof } = run(transport, tools, { cutAfterChunks: [25], cause: new SpeechError(code, 'No.') })
      return () => expect([seen.end, proof.counts.connections]).toEqual([code, 1])
    })
  })

  it('tries another token, once, when its token is refused during the session', () => {
    virtually((tools) => {
      const cause = new SpeechError('unauthenticated', 'Expired.')
      let asked = 0
      const token$ = defer(() => of(`token ${(asked += 1)}`))
      const renewing = run(transport, tools, { cutAfterChunks: [25], cause }, { options: { token: token$ } })
      const fixed = run(transport, tools, { cutAfterChunks: [25], cause })
      return () => {
        expect([renewing.seen.end, milestones(renewing.seen.events), asked]).toEqual(['complete', whole, 2])
        expect([fixed.seen.end, fixed.proof.counts.connections]).toEqual(['unauthenticated', 1])
      }
    })
  })

  it('opens the successor before its token ends, and hands over at a milestone', () => {
    virtually((tools) => {
      let asked = 0
      const { clock } = tools
      const token$ = defer(() =>
        of({ accessToken: `token ${(asked += 1)}`, tokenType: 'Bearer' as const, expiresAtMs: clock.now() + 700 }),
      )
      const { seen, proof } = run(transport, tools, {}, { options: { token: token$ } })
      return () => {
        expect(connectionOf(seen.events).filter((item) => item !== 'gap')).toEqual([
          ...beginning,
          'resumed 80',
          'finalizing',
          'done',
        ])
        expect([milestones(seen.events), finals(seen.events)]).toEqual([whole, [whole]])
        expect(proof.counts.connections).toBe(2)
        checkTimes(seen.events)
      }
    })
  })

  it('sends buffered audio slower once the service has rejected its rate', () => {
    virtually((tools) => {
      const cause = new SpeechError('too-fast', 'Slower.')
      const audio$ = from(Array.from({ length: 400 }, (_, index) => chunkOf(index)))
      const { seen } = run(transport, tools, { cutAfterChunks: [100], cause }, { audio$ })
      const startMs = tools.clock.now()
      return () => {
        expect(seen.end).toBe('complete')
        // 8 s of audio, of which 4 s are sent immediately and the rest at 1.2 times real time.
        expect(tools.clock.now() - startMs).toBeGreaterThan(3_200)
      }
    })
  })

  it('reports once that the service is silent while audio flows', () => {
    virtually((tools) => {
      const { seen } = run(
        transport,
        tools,
        { answerMs: 500 },
        { audio$: spoken(tools.clock, 60), options: { timeouts: { silenceMs: 100 } } },
      )
      return () => expect(connectionOf(seen.events).filter((item) => item.startsWith('silent')).length).toBe(1)
    })
  })
})

describe('two hours with ten lost connections', () => {
  it('have increasing times, every word once, and hold no more than the bound', { timeout: 180_000 }, () => {
    virtually((tools) => {
      const { clock } = tools
      // Ten minutes of them, except in the thorough run.
      const share = everyNth(12)
      const count = (5 * 72_000) / share
      const spoken$ = timer(0, chunkMs * 5, clock).pipe(
        take(count / 5),
        map((round) => chunksOf([0, 1, 2, 3, 4].map((index) => [(round * 5 + index) % 30_000]))),
      )
      const cuts = Array.from({ length: 10 }, (_, index) => 30_000 / share + index)
      let words = 0
      let endMs = 0
      let maximum = 0
      const { dial } = fakeRecognizer(clock, { cutAfterChunks: cuts, outageMs: 8_000, answerMs: 1 })
      tools
        .recognizing({ dial, resumption })(spoken$)
        .subscribe((event) => {
          if (event.type === 'ledger') maximum = Math.max(maximum, event.pendingMs)
          if (event.type !== 'milestone') return
          words += event.text.trim().split(' ').length
          expect(event.startMs).toBe(endMs)
          endMs = event.endMs ?? 0
        })
      return () => {
        expect([words, endMs]).toEqual([count, count * chunkMs])
        expect(maximum).toBeLessThan(20_000)
      }
    })
  })
})
