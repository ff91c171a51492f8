import { happeningsOf } from './happenings.js'
import fc from 'fast-check'
import { concatMap, defer, from, of, Subject, Subscriber, throwError, timer } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { isSpeechError, SpeechError } from '../../src/errors/speech-error.js'
import type { FinalEvent, MilestoneEvent, SessionEvent } from '../../src/protocol/session-event.js'
import { format, virtually } from './virtual-session.js'
import { chunkMs, chunkOf, wordOf } from './fake-recognition.js'
import { fakeDataflow, fakeRecognizer, type Break } from './fake-service.js'
import { runs } from '../thorough.js'

const codes = [
  'connection-lost',
  'going-away',
  'overloaded',
  'too-fast',
  'engine-failed',
  'protocol-violation',
] as const
const breaks = fc.record({
  afterChunks: fc.integer({ min: 1, max: 50 }),
  final: fc.constantFrom(undefined, undefined, 0, 0, 5, 500, 1_500),
  finalError: fc.boolean(),
  code: fc.constantFrom(undefined, ...codes, 'connection-lost', 'going-away'),
  retryAfterMs: fc.constantFrom(undefined, undefined, 700, 100_000),
})

const plots = fc.record({
  transport: fc.constantFrom('websocket', 'grpc'),
  finalizeBy: fc.constantFrom('request', 'half-close'),
  channels: fc.constantFrom<(1 | 2)[]>(1, 2),
  timed: fc.boolean(),
  heard: fc.boolean(),
  milestoneWords: fc.tuple(fc.integer({ min: 1, max: 15 }), fc.integer({ min: 1, max: 15 })),
  lateMs: fc.tuple(fc.constantFrom(0, 0, 7, 60), fc.constantFrom(0, 0, 7, 110)),
  restInFinal: fc.boolean(),
  breaks: fc.array(breaks, { maxLength: 4 }),
  outageMs: fc.constantFrom(0, 1, 150, 1_500, 9_000),
  startMs: fc.array(fc.constantFrom(0, 1, 1, 60, 800, Infinity), { maxLength: 4 }),
  deafMs: fc.array(fc.constantFrom(0, 0, 200, 900), { maxLength: 4 }),
  highWaterMarkBytes: fc.constantFrom(320, 1_000, 10_000_000),
  waitsMs: fc.array(fc.constantFrom(0, 1, 20, 20, 20, 20, 300), { minLength: 1, maxLength: 80 }),
  tailBytes: fc.constantFrom(0, 0, 1, 3),
  tokenLifeMs: fc.constantFrom(Infinity, Infinity, 300, 800),
  tokenFails: fc.constantFrom(0, 0, 2, 3),
  verb: fc.constantFrom('none', 'none', 'none', 'finalize', 'stop', 'unsubscribe'),
  on: fc.constantFrom('time', 'reconnecting', 'resumed', 'gap', 'ledger', 'milestone', 'final', 'partial'),
  verbAtMs: fc.integer({ min: 0, max: 2_500 }),
  nth: fc.integer({ min: 1, max: 6 }),
  maxReplayBytes: fc.constantFrom(0, 640, 6_400, 960_000, 960_000),
  maxBufferMs: fc.constantFrom(40, 400, 60_000, 60_000),
  budgetMs: fc.constantFrom(200, 5_000, 60_000),
})

type Plot = typeof plots extends fc.Arbitrary<infer One> ? One : never

interface Outcome {
  readonly events: SessionEvent[]
  readonly ends: string[]
  pendingTimers: number
}

const breakOf = ({ afterChunks, final, finalError, code, retryAfterMs }: Plot['breaks'][number]): Break => ({
  afterChunks,
  ...(final === undefined ? {} : { finalBeforeMs: final, finalError }),
  ...(code === undefined
    ? {}
    : { cause: new SpeechError(code, 'Cut.', retryAfterMs === undefined ? {} : { retryAfterMs }) }),
})

const isKind = (event: SessionEvent, kind: Plot['on']): boolean =>
  event.type === kind || (event.type === 'connection' && event.state === kind)

const play = (plot: Plot): Outcome => {
  const outcome: Outcome = { events: [], ends: [], pendingTimers: 0 }
  virtually(({ clock, recognizing, flowing }) => {
    const { channels, verb, tokenFails } = plot
    const service = {
      channels,
      timed: plot.timed,
      heard: plot.heard,
      milestoneWords: plot.milestoneWords,
      lateMs: plot.lateMs,
      restInFinal: plot.restInFinal,
      breaks: plot.breaks.map(breakOf),
      outageMs: plot.outageMs,
      startMs: (nth: number) => plot.startMs[nth] ?? 1,
      deafMs: plot.deafMs,
      link: { highWaterMarkBytes: plot.highWaterMarkBytes, lowWaterMarkBytes: 0 },
    } as const
    const verb$ = new Subject<undefined>()
    let asked = 0
    const token$ = defer(() => {
      asked += 1
      if (asked === tokenFails) return throwError(() => new Error('No token.'))
      return of({
        accessToken: `t${asked}`,
        tokenType: 'Bearer' as const,
        expiresAtMs: clock.now() + plot.tokenLifeMs,
      })
    })
    const options = {
      format: { ...format, channels },
      token: plot.tokenLifeMs === Infinity && tokenFails === 0 ? 'fixed' : token$,
      buffer: { maxMs: plot.maxBufferMs },
      resumption: {
        firstDelayMs: 100,
        budgetMs: plot.budgetMs,
        maxReplayBytes: plot.maxReplayBytes,
      },
      ...(verb === 'finalize' && { finalize$: verb$ }),
      ...(verb === 'stop' && { stop$: verb$ }),
    }
    const chunks = [...plot.waitsMs.map((waitMs, index) => ({ waitMs, bytes: chunkOf(index, channels) }))]
    if (plot.tailBytes > 0) chunks.push({ waitMs: 1, bytes: new Uint8Array(plot.tailBytes) })
    const audio$ = from(chunks).pipe(
      concatMap(({ waitMs, bytes }) =>
        waitMs === 0 ? of(bytes) : timer(waitMs, clock).pipe(concatMap(() => of(bytes))),
      ),
    )
    const session$ =
      plot.transport === 'websocket'
        ? recognizing({ ...options, dial: fakeRecognizer(clock, service).dial })(audio$)
        : flowing({ ...options, finalizeBy: plot.finalizeBy, dial: fakeDataflow(clock, service).dial })(audio$)
    let seen = 0
    const act = (): void => {
      if (verb === 'unsubscribe') subscriber.unsubscribe()
      else verb$.next(undefined)
    }
    const subscriber = new Subscriber<SessionEvent>({
      next: (event) => {
        outcome.events.push(event)
        if (isKind(event, plot.on) && ++seen === plot.nth) act()
      },
      complete: () => outcome.ends.push('complete'),
      error: (error: unknown) => outcome.ends.push(isSpeechError(error) ? error.code : String(error)),
    })
    session$.subscribe(subscriber)
    if (plot.on === 'time') clock.schedule(act, plot.verbAtMs)
    return () => (outcome.pendingTimers = clock.pending())
  })
  return outcome
}

const numbersIn = (texts: readonly string[], channel: number, isOneSession: boolean): readonly number[] =>
  texts
    .flatMap((text) => text.trim().split(/\s+/))
    .filter((word) => word !== '')
    .map((word) => {
      if (isOneSession) expect(word.slice(0, 1)).toBe(wordOf(channel, 0).slice(0, 1))
      return Number(word.slice(1))
    })

type Gap = readonly [fromMs: number, toMs: number]

const check = (plot: Plot): void => {
  const { events, ends, pendingTimers } = play(plot)
  expect(pendingTimers).toBe(0)
  expect(ends).toHaveLength(plot.verb === 'unsubscribe' ? ends.length : 1)
  expect(ends.length).toBeLessThan(2)
  const isPair = plot.transport === 'websocket' && plot.channels === 2
  for (const account of isPair ? [0, 1] : [undefined]) {
    const own = events.filter(
      (event) =>
        !isPair ||
        (happeningsOf(event).length === 0 && event.type !== 'ledger') ||
        ('channel' in event && event.channel === account),
    )
    const gaps = checkAccount(own, ends.length > 0)
    for (const channel of isPair ? [account ?? 0] : plot.channels === 2 ? [0, 1] : [0]) {
      checkText(plot, events, gaps, channel, ends[0], own)
    }
  }
}

const checkAccount = (events: readonly SessionEvent[], isEnded: boolean): readonly Gap[] => {
  const ledgers = events.filter((event) => event.type === 'ledger')
  for (const { finalizedMs, pendingMs, replayedPendingMs, droppedMs, capturedMs } of ledgers) {
    expect(finalizedMs + pendingMs + replayedPendingMs + droppedMs).toBe(capturedMs)
    expect(Math.min(finalizedMs, pendingMs, replayedPendingMs, droppedMs)).toBeGreaterThanOrEqual(0)
  }
  const gaps = events
    .flatMap((event): Gap[] => (event.type === 'gap' ? [[event.fromMs, event.toMs]] : []))
    .sort(([a], [b]) => a - b)
  for (const [index, [fromMs, toMs]] of gaps.entries()) {
    expect(toMs).toBeGreaterThan(fromMs)
    expect(fromMs).toBeGreaterThanOrEqual(gaps[index - 1]?.[1] ?? 0)
  }
  // Only the tail is silent.
  const silences = events.flatMap((event) => (event.type === 'gap' && event.cause === 'silence' ? [event] : []))
  expect(silences.filter(({ fromMs, toMs }) => toMs - fromMs >= 1)).toEqual([])
  const last = ledgers.at(-1)
  if (isEnded) {
    expect([last?.pendingMs, last?.replayedPendingMs]).toEqual([0, 0])
    expect(gaps.reduce((sum, [fromMs, toMs]) => sum + toMs - fromMs, 0)).toBe(last?.droppedMs)
  }
  return gaps
}

const checkText = (
  plot: Plot,
  events: readonly SessionEvent[],
  gaps: readonly Gap[],
  channel: number,
  end: string | undefined,
  own: readonly SessionEvent[],
): void => {
  const ofChannel = (event: MilestoneEvent | FinalEvent): boolean => (event.channel ?? 0) === channel
  const milestones = events.filter((event) => event.type === 'milestone').filter(ofChannel)
  const finals = events.filter((event) => event.type === 'final').filter(ofChannel)
  const reported = numbersIn(
    milestones.map(({ text }) => text),
    channel,
    plot.transport === 'grpc',
  )
  expect(reported).toEqual([...new Set(reported)].sort((a, b) => a - b))
  let endMs = 0
  for (const milestone of milestones) {
    if (milestone.startMs === undefined || milestone.endMs === undefined) continue
    expect(milestone.startMs).toBeGreaterThanOrEqual(endMs)
    expect(milestone.endMs).toBeGreaterThanOrEqual(milestone.startMs)
    endMs = milestone.endMs
  }
  for (const { startMs = 0, endMs = Infinity } of finals) expect(startMs).toBeLessThanOrEqual(endMs)
  // One for each recognition that the service ended by itself, and the last.
  const unasked = plot.breaks.filter(({ final }) => final !== undefined).length
  expect(finals.length).toBeLessThanOrEqual(unasked + 1)
  if (end !== 'complete' || plot.verb === 'stop') return
  const isUnasked = unasked > 0
  const whole = numbersIn(
    finals.map(({ text }) => text),
    channel,
    plot.transport === 'grpc',
  )
  expect(whole).toEqual([...new Set(whole)].sort((a, b) => a - b))
  for (const word of reported) expect(whole).toContain(word)
  if (!plot.restInFinal) expect(whole).toEqual(reported)
  const captured = own.filter((event) => event.type === 'ledger').at(-1)?.capturedMs ?? 0
  const isRegular = !plot.breaks.some(({ code, final }) => code === undefined && final === undefined)
  if (isRegular && captured >= chunkMs) expect(finals).not.toHaveLength(0)
  // Only a position, and audio that is kept, show what an unrequested final does not cover.
  if ((isUnasked && !(plot.heard && plot.maxReplayBytes > 6_400)) || isEndUnread(plot, events)) return
  for (let word = 0; (word + 1) * chunkMs <= captured; word++) {
    const isTouched = gaps.some(([fromMs, toMs]) => fromMs < (word + 1) * chunkMs && toMs > word * chunkMs)
    if (!isTouched) expect(whole).toContain(word)
  }
}

/**
 * The service ended the stream when the client half-closed it, in a recognition without any result: that looks like the
 * answer (PROTOCOL 5.13).
 */
const isEndUnread = ({ transport, finalizeBy, breaks: given }: Plot, events: readonly SessionEvent[]): boolean => {
  const types = events.map(({ type }) => type)
  const last = types.slice(types.lastIndexOf('final') + 1)
  return (
    transport === 'grpc' &&
    finalizeBy === 'half-close' &&
    given.some(({ code }) => code === undefined) &&
    (last.length === types.length || last.includes('resumed')) &&
    !last.includes('partial') &&
    !last.includes('milestone')
  )
}

const normalEnd = { afterChunks: 1, final: undefined, finalError: false, code: undefined, retryAfterMs: undefined }
const calm: Plot = {
  ...{
    transport: 'grpc',
    finalizeBy: 'request',
    channels: 1,
    timed: false,
    heard: false,
    milestoneWords: [1, 1],
    lateMs: [0, 0],
  },
  ...{ restInFinal: false, breaks: [], outageMs: 0, startMs: [], deafMs: [], highWaterMarkBytes: 320, waitsMs: [0] },
  ...{ tailBytes: 0, tokenLifeMs: Infinity, tokenFails: 0, verb: 'none', on: 'time', verbAtMs: 0, nth: 1 },
  ...{ maxReplayBytes: 960_000, maxBufferMs: 60_000, budgetMs: 60_000 },
}

describe('a session with a contrary service', () => {
  it('reports everything once and leaves nothing open, whatever both sides do', { timeout: 300_000 }, () => {
    fc.assert(fc.property(plots, check), { numRuns: runs(1_000) })
  })

  it.each<[string, Partial<Plot>]>([
    [
      'ends with a final when finalize is requested within the failure of the last recognition',
      {
        ...{ channels: 2, milestoneWords: [1, 2], restInFinal: true, waitsMs: [0, 20, 0], maxReplayBytes: 0 },
        ...{ breaks: [{ ...normalEnd, final: 5, finalError: true }], verb: 'finalize', on: 'milestone', nth: 2 },
      },
    ],
    [
      'takes no end without a final for the answer if an earlier connection had results',
      {
        breaks: [{ ...normalEnd, final: 5, finalError: true, code: 'engine-failed' }, normalEnd],
        finalizeBy: 'half-close',
      },
    ],
    [
      'reports no word again that only the final of a failed recognition repeats',
      {
        ...{ channels: 2, timed: true, milestoneWords: [2, 3], restInFinal: true, waitsMs: [0, 0, 0, 0] },
        breaks: [
          { ...normalEnd, afterChunks: 4 },
          { ...normalEnd, afterChunks: 2, final: 0, finalError: true },
        ],
      },
    ],
    [
      'loses no short word at the end of a milestone that repeats earlier ones',
      {
        ...{ channels: 2, timed: true, milestoneWords: [4, 6], deafMs: [900], tokenLifeMs: 300, maxReplayBytes: 6_400 },
        waitsMs: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 300],
      },
    ],
    [
      'has no final that begins after its end, where audio was dropped before its connection',
      {
        ...{ transport: 'websocket', timed: true, waitsMs: [0, 0, 0] },
        breaks: [normalEnd],
        maxReplayBytes: 0,
        maxBufferMs: 40,
      },
    ],
    ['reports no audio as silence that is not kept any more', { breaks: [normalEnd], maxReplayBytes: 0 }],
    [
      'loses nothing after a final that crossed the finalize request, if the connection closes without an answer',
      { transport: 'websocket', heard: true, breaks: [{ ...normalEnd, final: 5 }], waitsMs: [0, 0] },
    ],
  ])('%s', (_title, plot) => check({ ...calm, ...plot }))
})
