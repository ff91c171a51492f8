import { happeningsOf } from './happenings.js'
import {
  concat,
  concatMap,
  defer,
  finalize,
  from,
  map,
  mergeMap,
  NEVER,
  of,
  take,
  tap,
  throwError,
  timer,
  type Observable,
  type SchedulerLike,
} from 'rxjs'
import { describe, expect, it } from 'vitest'
import { isSpeechError, SpeechError } from '../../src/errors/speech-error.js'
import type { SessionEvent } from '../../src/protocol/session-event.js'
import type { Token } from '../../src/protocol/token.js'
import type { ResumptionOptions } from '../../src/client/options.js'
import { scriptedDial } from '../../src/testing/scripted-dial.js'
import type { Dial, SocketMessage } from '../../src/transport/link.js'
import { chunkMs, chunkOf, wordOf } from './fake-recognition.js'
import { fakeRecognizer, type Behaviour } from './fake-service.js'
import { ok, recognizerMessage, virtually, type Tools } from './virtual-session.js'

const expired = new SpeechError('unauthenticated', 'Expired.')
const lost = new SpeechError('connection-lost', 'Broken.')
const resumption = { firstDelayMs: 100, maxDelayMs: 2_000, budgetMs: 60_000 }

/**
 * The lifetime of a token, which is used from 1 ms on. A twentieth before its end its successor is requested, and three
 * quarters of that later the handover is due. Between those is a milestone.
 */
const lifeMs = 4_081
const opensMs = 3_877
const milestoneMs = 4_001
const dueMs = 4_030

/** What a second connection does instead of serving. */
type Spoiled = (scheduler: SchedulerLike) => Dial<SocketMessage, SocketMessage>
const started = recognizerMessage('recognize-response', ok)
const answering =
  (...answers: readonly (string | SpeechError)[]): Spoiled =>
  (scheduler) =>
    scriptedDial<SocketMessage, SocketMessage>(({ received$ }) =>
      concat(
        received$.pipe(
          take(1),
          concatMap(() => from(answers)),
          concatMap((item) =>
            timer(10, scheduler).pipe(mergeMap(() => (isSpeechError(item) ? throwError(() => item) : of(item)))),
          ),
        ),
        NEVER,
      ),
    )()

/** Ready with this delay after its start, and then it sends nothing more. */
const serving =
  (readyAfterMs: number): Spoiled =>
  (scheduler) =>
    scriptedDial<SocketMessage, SocketMessage>(({ received$ }) =>
      received$.pipe(
        mergeMap((message) =>
          typeof message === 'string' ? timer(readyAfterMs, scheduler).pipe(map(() => started)) : NEVER,
        ),
      ),
    )()

interface Setting {
  readonly spoiled?: Spoiled
  /** The nth token, with the lifetime that its source states. */
  readonly tokenOf?: (nth: number, nowMs: number) => Observable<Token>
  readonly token?: string
  readonly faults?: Behaviour
  readonly chunkCount?: number
  readonly everyMs?: number
  readonly firstMs?: number
  readonly resumption?: Partial<ResumptionOptions>
  readonly unsubscribeAtMs?: number
  /** When the first connection announces its end. */
  readonly leavingAtMs?: number
}

const token = (nth: number, expiresAtMs: number): Token => ({
  accessToken: `token ${nth}`,
  tokenType: 'Bearer',
  expiresAtMs,
})

const fresh = (nth: number, nowMs: number): Observable<Token> => of(token(nth, nowMs + lifeMs))

const leaving = (
  dial: Dial<SocketMessage, SocketMessage>,
  when$: Observable<unknown>,
): Dial<SocketMessage, SocketMessage> =>
  dial.pipe(tap((link) => Object.defineProperty(link, 'leaving$', { value: when$ })))

/** A microphone whose first service, unless configured otherwise, ends the session when its token has expired. */
const run = ({ clock, recognizing }: Tools, setting: Setting) => {
  const { chunkCount = 300, everyMs = chunkMs, tokenOf = fresh, spoiled, leavingAtMs } = setting
  const { dial, ...proof } = fakeRecognizer(clock, {
    cutAfterChunks: [203],
    cause: expired,
    answerMs: 1,
    ...setting.faults,
  })
  const startMs = clock.now()
  const nowMs = (): number => clock.now() - startMs
  const seen: { log: string[]; events: SessionEvent[]; tokensAtMs: number[]; dialsAtMs: number[]; open: number } = {
    log: [],
    events: [],
    tokensAtMs: [],
    dialsAtMs: [],
    open: 0,
  }
  const note = (event: SessionEvent): void => {
    seen.events.push(event)
    const [name = 'authorizing'] = happeningsOf(event)
    if (['authorizing', 'connecting', 'starting'].includes(name)) return
    seen.log.push(`${nowMs()} ${name}${'cause' in event && name === 'reconnecting' ? ` for ${event.cause}` : ''}`)
  }
  const session$ = recognizing({
    resumption: { ...resumption, ...setting.resumption },
    token:
      setting.token ??
      defer(() => {
        seen.tokensAtMs.push(nowMs())
        return tokenOf(seen.tokensAtMs.length, clock.now())
      }),
    dial: () =>
      defer(() => {
        seen.dialsAtMs.push(nowMs())
        seen.open += 1
        if (seen.dialsAtMs.length === 2 && spoiled !== undefined) return spoiled(clock)
        return seen.dialsAtMs.length === 1 && leavingAtMs !== undefined
          ? leaving(dial(), timer(leavingAtMs, clock))
          : dial()
      }).pipe(finalize(() => (seen.open -= 1))),
  })(
    timer(setting.firstMs ?? everyMs, everyMs, clock).pipe(
      take(chunkCount),
      map((index) => chunkOf(index)),
    ),
  )
  const subscription = session$.subscribe({
    next: note,
    complete: () => seen.log.push('complete'),
    error: (error: unknown) => seen.log.push(isSpeechError(error) ? error.code : String(error)),
  })
  const { unsubscribeAtMs } = setting
  if (unsubscribeAtMs !== undefined) clock.schedule(() => subscription.unsubscribe(), unsubscribeAtMs)
  return { seen, proof }
}

const textOf = (events: readonly SessionEvent[]): string =>
  events.flatMap((event) => (event.type === 'milestone' ? [event.text] : [])).join('')
const whole = Array.from({ length: 300 }, (_, index) => wordOf(0, index)).join(' ')

/** The audio ends at 6000 ms; the first connection at 4060 ms. */
const asAfterAnyLoss = [
  '1 streaming',
  '4060 reconnecting for unauthenticated',
  '4111 streaming',
  '4111 resumed',
  '6000 finalizing',
  '6001 done',
  'complete',
]

describe('a successor that is ready', () => {
  it('takes over at the next milestone, on another token', () => {
    virtually((tools) => {
      const { seen, proof } = run(tools, {})
      return () => {
        expect(seen.log).toEqual(['1 streaming', `${milestoneMs} resumed`, '6000 finalizing', '6001 done', 'complete'])
        expect([seen.tokensAtMs, seen.dialsAtMs]).toEqual([
          [0, opensMs],
          [0, opensMs],
        ])
        // The milestone settles all audio that was sent before it, so the least is sent twice.
        expect(proof.arrived[1]?.[0]).toBe(200)
        expect([textOf(seen.events), seen.open, tools.clock.pending()]).toEqual([whole, 0, 0])
      }
    })
  })

  it('takes over without a milestone when it is due', () => {
    virtually((tools) => {
      const tokenOf: Setting['tokenOf'] = (nth, nowMs) => of(token(nth, nowMs + 4_241))
      const { seen } = run(tools, { tokenOf, faults: { cutAfterChunks: [211] } })
      return () => {
        expect([seen.dialsAtMs, seen.log[1]]).toEqual([[0, 4_029], '4188 resumed'])
        expect([textOf(seen.events), seen.log.at(-1)]).toEqual([whole, 'complete'])
      }
    })
  })

  it('takes over when it is due though it was late, and at the next milestone if it was even later', () => {
    for (const [readyAfterMs, resumedMs] of [
      [150, dueMs],
      [160, 4_201],
    ] as const) {
      virtually((tools) => {
        const spoiled = serving(readyAfterMs)
        const { seen } = run(tools, { spoiled, faults: { cutAfterChunks: [] }, unsubscribeAtMs: 4_300 })
        return () => expect(seen.log).toEqual(['1 streaming', `${resumedMs} resumed`])
      })
    }
  })

  it('takes over immediately if the connection is lost before that', () => {
    virtually((tools) => {
      const { seen } = run(tools, { faults: { cutAfterChunks: [198] } })
      return () => {
        expect(seen.log.slice(0, 2)).toEqual(['1 streaming', '3960 resumed'])
        expect([textOf(seen.events), seen.log.at(-1), seen.open]).toEqual([whole, 'complete', 0])
        expect([seen.tokensAtMs, seen.dialsAtMs, tools.clock.pending()]).toEqual([[0, opensMs], [0, opensMs], 0])
      }
    })
  })

  it('is opened when the connection announces its end, and takes over at the next milestone', () => {
    virtually((tools) => {
      const { seen } = run(tools, { token: 'fixed', leavingAtMs: 1_000, faults: { cutAfterChunks: [] } })
      return () => {
        expect(seen.log).toEqual(['1 streaming', '1201 resumed', '6000 finalizing', '6001 done', 'complete'])
        expect(seen.dialsAtMs).toEqual([0, 1_100])
        expect([textOf(seen.events), seen.open, tools.clock.pending()]).toEqual([whole, 0, 0])
      }
    })
  })

  it('is not opened for a connection that broke while it announced its end', () => {
    virtually((tools) => {
      const { seen } = run(tools, { token: 'fixed', leavingAtMs: 1_010, faults: { cutAfterChunks: [51], cause: lost } })
      return () => {
        expect(seen.log.slice(1, 4)).toEqual([
          '1020 reconnecting for connection-lost',
          '1071 streaming',
          '1071 resumed',
        ])
        expect([seen.dialsAtMs.length, seen.open, tools.clock.pending()]).toEqual([2, 0, 0])
      }
    })
  })

  it('is closed when the audio ends before it takes over', () => {
    virtually((tools) => {
      const { seen } = run(tools, { chunkCount: 195, faults: { cutAfterChunks: [] } })
      return () => {
        expect(seen.log).toEqual(['1 streaming', '3900 finalizing', '3901 done', 'complete'])
        expect([seen.dialsAtMs.length, seen.open, tools.clock.pending()]).toEqual([2, 0, 0])
      }
    })
  })

  it('is not requested while the session waits for the last results', () => {
    virtually((tools) => {
      // It would be opened at 3882 ms.
      const { seen } = run(tools, { chunkCount: 194, faults: { cutAfterChunks: [], answerMs: 100 } })
      return () => {
        expect(seen.log).toEqual(['100 streaming', '3880 finalizing', '3980 done', 'complete'])
        expect(seen.dialsAtMs).toEqual([0])
      }
    })
  })

  it('is closed when the session is unsubscribed, whatever happens then', () => {
    for (let unsubscribeAtMs = opensMs - 1; unsubscribeAtMs < 4_200; unsubscribeAtMs += 7) {
      virtually((tools) => {
        const { seen } = run(tools, { unsubscribeAtMs })
        const left: number[] = []
        tools.clock.schedule(() => left.push(seen.open, tools.clock.pending()), unsubscribeAtMs + 21)
        return () => expect(left, `at ${unsubscribeAtMs}`).toEqual([0, 0])
      })
    }
  })
})

describe('the time of a successor', () => {
  it('is a minute before the end of a long-lived token, with the handover due a quarter of a minute before the end', () => {
    virtually((tools) => {
      const tokenOf: Setting['tokenOf'] = (nth, nowMs) => of(token(nth, nowMs + 3_600_001))
      // There is a milestone every 10 chunks, which is more than 8 minutes.
      const { seen } = run(tools, {
        tokenOf,
        everyMs: 49_000,
        chunkCount: 78,
        faults: { cutAfterChunks: [] },
        unsubscribeAtMs: 3_600_000,
      })
      return () =>
        expect([seen.dialsAtMs, seen.log]).toEqual([
          [0, 3_540_001],
          ['1 streaming', '3585001 resumed'],
        ])
    })
  })

  it('is that of the longest connection if that ends before the token does, and then the same token is used', () => {
    virtually((tools) => {
      const { seen } = run(tools, {
        token: 'fixed',
        resumption: { maxConnectionMs: lifeMs - 1 },
        faults: { cutAfterChunks: [] },
      })
      return () => {
        expect([seen.dialsAtMs, seen.log[1]]).toEqual([[0, opensMs], `${milestoneMs} resumed`])
        expect([textOf(seen.events), seen.log.at(-1)]).toEqual([whole, 'complete'])
      }
    })
  })

  it('is planned again for each connection', () => {
    virtually((tools) => {
      const { seen } = run(tools, {
        token: 'fixed',
        resumption: { maxConnectionMs: 1_000 },
        faults: { cutAfterChunks: [] },
      })
      return () => {
        expect(seen.log.filter((line) => line.endsWith('resumed')).length).toBeGreaterThan(4)
        expect([textOf(seen.events), seen.log.at(-1), tools.clock.pending()]).toEqual([whole, 'complete', 0])
      }
    })
  })

  it('is not planned for a token without an end, an expired token, or a connection over which no audio was sent', () => {
    for (const setting of [
      { token: 'fixed' },
      { tokenOf: (nth: number, nowMs: number) => of(token(nth, nowMs)), firstMs: 0 },
      { everyMs: 5_000, chunkCount: 1 },
    ]) {
      virtually((tools) => {
        const { seen } = run(tools, { ...setting, faults: { cutAfterChunks: [] }, unsubscribeAtMs: 4_500 })
        return () => expect([seen.dialsAtMs, seen.open]).toEqual([[0], 0])
      })
    }
  })
})

describe('a successor that fails', () => {
  const never: Spoiled = () => NEVER
  const refusing: Spoiled = () => throwError(() => new SpeechError('overloaded', 'Full.'))
  it.each<[string, number, Spoiled]>([
    ['is refused the connection', 1, refusing],
    ['never gets its connection', 2, never],
    [
      'is refused its start',
      1,
      answering(recognizerMessage('recognize-response', { 'operation-result': 'overloaded: Full.' })),
    ],
    ['never gets a response to its start', 2, answering()],
    ['is lost at its start', 1, answering(new SpeechError('connection-lost', 'Cut.'))],
    ['is lost once it is ready', 1, answering(started, new SpeechError('going-away', 'Drained.'))],
    [
      'is closed normally once it is ready',
      1,
      answering(started, recognizerMessage('final-result', { ...ok, text: '' })),
    ],
  ])('and %s leaves the connection until its end, and the rest to any other', (_what, openBefore, spoiled) => {
    virtually((tools) => {
      const { seen, proof } = run(tools, { spoiled })
      const beforeTheEnd: number[] = []
      const afterTheEnd: number[] = []
      tools.clock.schedule(() => beforeTheEnd.push(seen.open), 4_059)
      tools.clock.schedule(() => afterTheEnd.push(seen.open), 4_061)
      return () => {
        expect(seen.log).toEqual(asAfterAnyLoss)
        expect(seen.dialsAtMs).toEqual([0, opensMs, 4_110])
        expect(proof.counts.connections).toBe(2)
        expect(seen.events.some((event) => event.type === 'gap')).toBe(false)
        expect(textOf(seen.events)).toBe(whole)
        expect([beforeTheEnd, afterTheEnd]).toEqual([[openBefore], [0]])
        expect([seen.open, tools.clock.pending()]).toEqual([0, 0])
      }
    })
  })

  it.each<[string, (nth: number, nowMs: number) => Observable<Token>]>([
    ['gets the token that is about to end', (nth, nowMs) => of(token(nth < 3 ? 1 : nth, nowMs + lifeMs))],
    ['gets no token', (nth, nowMs) => (nth === 2 ? NEVER : fresh(nth, nowMs))],
    [
      'is refused a token',
      (nth, nowMs) =>
        nth === 2 ? throwError(() => new SpeechError('token-endpoint-failed', 'No.')) : fresh(nth, nowMs),
    ],
  ])('and %s is not connected', (_what, tokenOf) => {
    virtually((tools) => {
      const { seen } = run(tools, { tokenOf })
      return () => {
        expect(seen.log).toEqual(asAfterAnyLoss)
        expect([seen.tokensAtMs, seen.dialsAtMs]).toEqual([
          [0, opensMs, 4_110],
          [0, 4_110],
        ])
        expect([textOf(seen.events), seen.open, tools.clock.pending()]).toEqual([whole, 0, 0])
      }
    })
  })

  it('is given up after the time limit for a connection and its start', () => {
    virtually((tools) => {
      const tokenOf: Setting['tokenOf'] = (nth, nowMs) => of(token(nth, nowMs + 3_600_001))
      const { seen } = run(tools, {
        tokenOf,
        spoiled: never,
        everyMs: 49_000,
        chunkCount: 78,
        faults: { cutAfterChunks: [] },
        unsubscribeAtMs: 3_600_000,
      })
      const open: number[] = []
      // 10 s for the connection and 10 s for the start.
      for (const atMs of [3_560_000, 3_560_002]) tools.clock.schedule(() => open.push(seen.open), atMs)
      return () => expect([open, seen.log]).toEqual([[2, 1], ['1 streaming']])
    })
  })
})
