import { happeningsOf } from '../../../../test/client/happenings.js'
import { defer, filter, Subject, switchMap, take, tap, type Observable, type ObservableInput } from 'rxjs'
import { afterAll, beforeAll, expect } from 'vitest'
import { bytesForMs, type AudioFormat } from '../../../../src/audio/format.js'
import type { record } from '../../../../src/cassette/record/record.js'
import { pace } from '../../../../src/operators/audio/pace.js'
import type { LedgerEvent, MilestoneEvent, SessionEvent } from '../../../../src/protocol/session-event.js'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import type { SessionOptions } from '../../../../src/client/options.js'
import { faultProxy, type FaultProxy } from '../../../../src/testing/faults/fault-proxy.js'
import { readRecording } from '../../../../test/audio/read-recording.js'
import { liveService, type LiveService } from '../interop/live-service.js'
import { sessionOptions, type Over, type SpokenService } from '../interop/session-options.js'
import { noLoadLimits } from '../plain-service.js'
import { gapsOf, outcomeOf } from '../../../../test/faults/proved-session.js'

export const bothTransports: readonly Over[] = ['grpc', 'websocket']

/**
 * A service whose model knows only the sentences of the sample call, and decodes four times as fast as the sample's
 * own.
 */
export const callService = {
  modelFolders: ['packages/service/test/faults/models'],
  defaultModel: 'call',
  limits: noLoadLimits,
} as const

/** A part of the sample call, in messages of 20 ms, with a callback for each sent message. */
export class SpokenCall {
  readonly #chunks: readonly Uint8Array[]

  constructor(
    readonly format: AudioFormat,
    readonly durationMs: number,
    chunks: readonly Uint8Array[],
  ) {
    this.#chunks = chunks
  }

  static until(endMs: number): Promise<SpokenCall> {
    return SpokenCall.between(0, endMs)
  }

  static async between(startMs: number, endMs: number): Promise<SpokenCall> {
    const { format, bytes } = await readRecording('samples/call.wav')
    const durationMs = endMs - startMs
    const chunks = Array.from({ length: durationMs / 20 }, (_none, index) => {
      const fromMs = startMs + index * 20
      return bytes.subarray(bytesForMs(format, fromMs), bytesForMs(format, fromMs + 20))
    })
    return new SpokenCall(format, durationMs, chunks)
  }

  /**
   * The guest asks for a time, the restaurant for a moment, and while it speaks the guest agrees: no silence has been
   * long enough to close the last segment on either channel.
   */
  static shortCall(): Promise<SpokenCall> {
    return SpokenCall.between(8_800, 13_100)
  }

  /** At `speed` times real time; `act` is called once when that much was sent. */
  played(speed: number, atMs = Infinity, act: () => void = () => undefined): Observable<Uint8Array> {
    let playedMs = 0
    return pace({ format: this.format, speed })(this.#chunks).pipe(
      tap(() => {
        playedMs += 20
        if (playedMs === atMs) act()
      }),
    )
  }
}

/** The position in the short call at which the guest is at "seven". */
export const midWordMs = 1_800

/** With audio that begins when the session streams: a busy machine may need longer to connect than to play a call. */
export const onceStreaming =
  (session: ProxiedSession['session']): ProxiedSession['session'] =>
  (source) =>
    defer(() => {
      const event$ = new Subject<SessionEvent>()
      const streaming$ = event$.pipe(filter((event) => event.type === 'connection' && event.state === 'streaming'))
      return session(
        streaming$.pipe(
          take(1),
          switchMap(() => source),
        ),
      ).pipe(tap(event$))
    })

/** A session with a service with a real engine, through a separate proxy, with short delays between attempts. */
export interface ProxiedSession {
  readonly proxy: FaultProxy
  readonly session: (source: ObservableInput<Uint8Array>) => Observable<SessionEvent>
}

export const proxiedSession = async (
  live: SpokenService,
  over: Over,
  { format }: SpokenCall,
  options: Partial<SessionOptions> = {},
  wrap: ReturnType<typeof record> = (make, made) => make(made),
): Promise<ProxiedSession> => {
  const { grpc, websocket } = sessionOptions(live, format, 'call')
  const { hostname, port } = new URL(over === 'grpc' ? `https://${grpc.url}` : websocket.url)
  const proxy = await faultProxy({ target: Number(port) })
  const address = `${hostname}:${proxy.port}`
  const common = { resumption: { firstDelayMs: 20, maxDelayMs: 200 }, ...options }
  const session =
    over === 'grpc'
      ? wrap(dataflow, { ...grpc, finalizeBy: 'request' as const, ...common, url: address })
      : wrap(recognize, { ...websocket, ...common, url: `wss://${address}` })
  return { proxy, session: onceStreaming(session) }
}

export interface CallOutcome {
  readonly over: Over
  readonly events: readonly SessionEvent[]
  readonly end: string
}

/** The complete call without faults: over gRPC, because the results are the same over both transports. */
export const undisturbed = async (
  live: SpokenService,
  call: SpokenCall,
  options: Partial<SessionOptions> = {},
): Promise<CallOutcome> => {
  const { proxy, session } = await proxiedSession(live, 'grpc', call, options)
  const outcome = await outcomeOf(session(call.played(8)))
  await proxy.close()
  expect(outcome.end).toBe('complete')
  expect(outcome.events.filter((event) => event.type === 'connection' && event.state === 'reconnecting')).toEqual([])
  return { over: 'grpc', ...outcome }
}

interface SpokenTests {
  live: LiveService
  call: SpokenCall
  /** The outcome of the undisturbed call. */
  reference: CallOutcome
}

/** A service and a call for all tests of a file. */
export const spokenTests = (open: () => Promise<SpokenCall>): Readonly<SpokenTests> => {
  const tests = {} as SpokenTests
  beforeAll(async () => {
    tests.live = await liveService(callService)
    tests.call = await open()
    tests.reference = await undisturbed(tests.live, tests.call)
  })
  afterAll(() => tests.live.close())
  return tests
}

export const statesOf = (events: readonly SessionEvent[]): readonly string[] =>
  events.flatMap((event) => happeningsOf(event))

export const transcriptOf = (events: readonly SessionEvent[], channel: number) => {
  const results = events.filter((event) => event.type === 'milestone' || event.type === 'final')
  const own = results.filter((event) => event.channel === channel)
  return {
    milestones: own.flatMap(({ type, text }) => (type === 'milestone' ? [text] : [])),
    final: mergedFinal(own.filter(({ type }) => type === 'final')),
  }
}

/** A drained service ends its recognitions, and the next service starts others: together they count as one. */
const mergedFinal = (finals: readonly { readonly text: string; readonly endMs?: number }[]) => {
  const spoken = finals.filter(({ text }) => text !== '')
  const last = spoken.at(-1) ?? finals.at(-1)
  return last && { text: spoken.map(({ text }) => text).join(' '), endMs: last.endMs }
}

const milestonesOf = (events: readonly SessionEvent[], channel: number): readonly MilestoneEvent[] =>
  events.filter((event): event is MilestoneEvent => event.type === 'milestone' && event.channel === channel)

/** Where results begin and end, with their words if they have them, in the order of arrival. */
const timesOf = (milestones: readonly MilestoneEvent[]): readonly number[] =>
  milestones.flatMap(({ startMs = NaN, endMs = NaN, words = [] }) => [
    startMs,
    ...words.map((word) => word.startMs),
    endMs,
  ])

/** The last ledger event of each session: one over gRPC, one per channel over the socket. */
const lastAccounts = (events: readonly SessionEvent[]): readonly LedgerEvent[] => {
  const accounts = events.filter((event) => event.type === 'ledger')
  return [...new Map(accounts.map((account) => [account.channel, account])).values()]
}

/**
 * Nothing is lost, repeated or moved: the results are those without faults.
 *
 * @param maxLateMs how much later a segment may begin. A detector that has received less audio before may move an onset by
 *   one frame of 10 ms.
 */
export const expectSame = (
  outcome: CallOutcome,
  reference: CallOutcome,
  { durationMs }: SpokenCall,
  maxLateMs = 20,
): void => {
  expect(outcome.end).toBe('complete')
  for (const channel of [0, 1]) {
    expect(transcriptOf(outcome.events, channel)).toEqual(transcriptOf(reference.events, channel))
    const milestones = milestonesOf(outcome.events, channel)
    const times = timesOf(milestones)
    expect(times).toEqual([...times].sort((a, b) => a - b))
    const apart = milestonesOf(reference.events, channel).map(
      ({ startMs = NaN }, index) => (milestones[index]?.startMs ?? NaN) - startMs,
    )
    expect(Math.min(0, ...apart)).toBeGreaterThanOrEqual(-20)
    expect(Math.max(0, ...apart)).toBeLessThanOrEqual(maxLateMs)
  }
  expect(gapsOf(outcome.events)).toBe(0)
  const accounts = lastAccounts(outcome.events)
  expect(accounts.map(({ channel }) => channel ?? 'all').sort()).toEqual(outcome.over === 'grpc' ? ['all'] : [0, 1])
  const whole = { capturedMs: durationMs, finalizedMs: durationMs, pendingMs: 0, replayedPendingMs: 0, droppedMs: 0 }
  for (const account of accounts) expect(account).toMatchObject(whole)
}
