import { happeningsOf } from './happenings.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ErrorCode } from '../../src/errors/error-table.js'
import { SpeechError } from '../../src/errors/speech-error.js'
import { isWait } from '../../src/client/deadlines.js'
import { isEnd } from '../../src/client/lifetimes.js'
import { ClientMachine, initialState } from '../../src/client/machine.js'
import { resolveResumption } from '../../src/client/options.js'
import type {
  ClientInput,
  ClientState,
  ClientStep,
  Handover,
  Phase,
  SessionFacts,
  SessionPolicy,
} from '../../src/client/states.js'
import type { FinalEvent } from '../../src/protocol/session-event.js'
import { runs } from '../thorough.js'

/** The service has sent all results and made progress, and no sound follows. */
const quiet: SessionFacts = {
  nowMs: 100_000,
  isSent: true,
  hasSentAudio: true,
  pendingFromMs: undefined,
  hasSound: false,
  progressMs: 1_000,
  hasProgress: false,
  isFinal: false,
  isWhole: true,
  isAnswered: false,
  isUnread: false,
  isRepeated: () => false,
}

const deadlines = {
  authorizing: 20_000,
  connecting: 10_000,
  starting: 10_000,
  draining: 30_000,
  finalizing: 30_000,
  stopping: 5_000,
  closing: 1_000,
}
const resumption = resolveResumption(true, () => 1)

/** One connection and one recognition: a WebSocket, and a stream whose token cannot change. */
const socket: SessionPolicy = {
  endsWith: 'session-ended',
  finalizeBy: 'request',
  isTokenRenewable: true,
  isContinuous: false,
  resumption: undefined,
  deadlines,
}
const stream: SessionPolicy = {
  ...socket,
  endsWith: 'end-of-stream',
  finalizeBy: 'half-close',
  isTokenRenewable: false,
}
/** Sessions that last as long as their source. */
const lastingSocket: SessionPolicy = { ...socket, isContinuous: true, resumption }
const lastingStream: SessionPolicy = { ...stream, isTokenRenewable: true, isContinuous: true, resumption }

const broken = new SpeechError('internal', 'Broken.')
const lost = new SpeechError('connection-lost', 'Lost.')
const refusal = new SpeechError('unauthenticated', 'Not this token.')
const tokenOf = (accessToken: string, expiresAtMs = Infinity) => ({ accessToken, fresh: true, expiresAtMs })

/** The state of a session in the given phase, on its first connection. */
const at = (phase: Phase, more: Partial<ClientState> = {}): ClientState => ({
  ...initialState,
  phase,
  connection: { id: 1, token: tokenOf('first'), update: undefined },
  lastId: 1,
  recognition: { sinceMs: 0, isNext: false },
  ...more,
})
const before = (name: 'authorizing' | 'connecting' | 'starting', more = {}): Phase => ({
  name,
  isAudioOver: false,
  refusal: undefined,
  isResuming: false,
  isReusing: false,
  ...more,
})

const phases = {
  idle: { name: 'idle', isAudioOver: false },
  authorizing: before('authorizing'),
  connecting: before('connecting'),
  starting: before('starting'),
  reusing: before('starting', { isResuming: true, isReusing: true }),
  streaming: { name: 'streaming' },
  draining: { name: 'draining' },
  paused: { name: 'paused', isConnected: true },
  waiting: { name: 'waiting', isAudioOver: false, refusal: undefined, delayMs: 500 },
  finalizing: { name: 'finalizing', isAcknowledged: true },
  unanswered: { name: 'finalizing', isAcknowledged: false },
  closing: { name: 'closing' },
  stopping: { name: 'stopping' },
  done: { name: 'done' },
  stopped: { name: 'stopped' },
  failed: { name: 'failed', error: broken },
} as const satisfies Record<string, Phase>
type PhaseKey = keyof typeof phases

const connection = 1
type Signal = NonNullable<Extract<ClientInput, { readonly type: 'read' }>['signal']>
const signalled = (signal?: Signal, isFinal = false): ClientInput => ({
  type: 'read',
  isOnTimeline: true,
  isFinal,
  signal,
})
const partial = { type: 'partial', text: 'x' } as const
const final: FinalEvent = { type: 'final', text: 'x' }
const failedFinal: FinalEvent = { ...final, error: 'internal: Broken.' }

const inputs = {
  begin: { type: 'begin' },
  authorized: { type: 'authorized', connection, token: tokenOf('another') },
  'token-failed': { type: 'token-failed', connection, error: broken },
  connected: { type: 'connected', connection },
  partial: { type: 'message', connection, event: partial },
  final: { type: 'message', connection, event: final },
  'final, error': { type: 'message', connection, event: failedFinal },
  leaving: { type: 'leaving', connection },
  'audio-over': { type: 'audio-over' },
  drained: { type: 'drained' },
  progress: { type: 'progress' },
  sound: { type: 'sound' },
  stop: { type: 'stop' },
  deadline: { type: 'deadline' },
  retry: { type: 'retry' },
  'handover-time': { type: 'handover-time', dueMs: 1_000, endingToken: undefined },
  'handover-due': { type: 'handover-due' },
  'successor-late': { type: 'successor-late' },
  gap: { type: 'gap', gap: { fromMs: 0, toMs: 10, cause: 'buffer-full' } },
  inactive: { type: 'inactive', forMs: 20_000 },
  update: { type: 'update', update: { settings: { Volume: '1' } }, sum: { settings: { Rate: '2', Volume: '1' } } },
  'link-ended': { type: 'link-ended', connection },
  'link-failed': { type: 'link-failed', connection, error: broken },
  lost: { type: 'link-failed', connection, error: lost },
  refused: { type: 'link-failed', connection, error: refusal },
  failed: { type: 'failed', error: broken },
  read: signalled(),
  'all finals': signalled(undefined, true),
  'start-answer': signalled({ type: 'start-answer' }),
  'start-answer, refused': signalled({ type: 'start-answer', error: new SpeechError('refused', 'No.') }),
  'finalize-answer': signalled({ type: 'finalize-answer' }),
  'finalize-answer, refused': signalled({ type: 'finalize-answer', error: new SpeechError('refused', 'No.') }),
  'stop-answer': signalled({ type: 'stop-answer' }),
  'stop-answer, refused': signalled({ type: 'stop-answer', error: new SpeechError('refused', 'No.') }),
  'session-ended': signalled({ type: 'session-ended' }, true),
  'session-ended, error': signalled({ type: 'session-ended', error: new SpeechError('refused', 'No.') }, true),
} as const satisfies Record<string, ClientInput>
type InputKey = keyof typeof inputs

const step = (state: ClientState, input: ClientInput, policy = socket, facts: Partial<SessionFacts> = {}): ClientStep =>
  new ClientMachine(policy, { ...quiet, ...facts }).reduce(state, input)

/** What a step does: outputs, an event of the connection by its name, then effects. */
const doneBy = ({ outputs = [], effects = [] }: ClientStep): string =>
  [
    ...outputs.flatMap((output) => (output.do === 'emit' ? happeningsOf(output.event) : [output.do])),
    ...effects.map(({ action }) => (action.do === 'wait' ? `wait ${action.delayMs}` : action.do)),
  ].join(', ')

/** The phase with the details that its name does not contain. */
const nameOf = (phase: Phase): string => {
  const isOver = 'isAudioOver' in phase && phase.isAudioOver
  const isAlone = phase.name === 'paused' && !phase.isConnected
  const hasAnswer = phase.name === 'finalizing' && phase.isAcknowledged
  return [phase.name, isOver && 'over', isAlone && 'alone', hasAnswer && 'answered'].filter(Boolean).join('+')
}

/** The phase after each input; `.` if it does not change. One connection, one recognition, over the WebSocket. */
const socketTable = `
                         idle        authorizing      connecting      starting      streaming  draining   finalizing unanswered          closing stopping
begin                    authorizing .                .               .             .          .          .          .                   .       .
authorized               .           connecting       .               .             .          .          .          .                   .       .
token-failed             failed      failed           failed          failed        failed     failed     failed     failed              done    failed
connected                .           .                starting        .             .          .          .          .                   .       .
partial                  .           .                .               .             .          .          .          .                   .       .
final                    .           .                .               .             .          .          .          .                   .       .
final, error             .           .                .               .             .          .          .          .                   .       .
leaving                  .           .                .               .             .          .          .          .                   .       .
audio-over               idle+over   authorizing+over connecting+over starting+over finalizing .          .          .                   .       .
drained                  .           .                .               .             .          finalizing .          .                   .       .
progress                 .           .                .               .             .          .          .          .                   .       .
sound                    .           .                .               .             .          .          .          .                   .       .
stop                     stopped     stopped          stopped         stopped       stopping   stopping   stopping   stopping            stopped .
deadline                 .           failed           failed          failed        .          failed     failed     failed              done    failed
retry                    .           .                .               .             .          .          .          .                   .       .
handover-time            .           .                .               .             .          .          .          .                   .       .
handover-due             .           .                .               .             .          .          .          .                   .       .
successor-late           .           .                .               .             .          .          .          .                   .       .
gap                      .           .                .               .             .          .          .          .                   .       .
inactive                 .           .                .               .             .          .          .          .                   .       .
update                   .           .                .               .             .          .          .          .                   .       .
link-ended               failed      failed           failed          failed        failed     failed     failed     failed              done    stopped
link-failed              failed      failed           failed          failed        failed     failed     failed     failed              done    failed
lost                     failed      failed           failed          failed        failed     failed     failed     failed              done    failed
refused                  failed      failed           authorizing     authorizing   failed     failed     failed     failed              done    failed
failed                   failed      failed           failed          failed        failed     failed     failed     failed              failed  failed
read                     .           .                .               .             .          .          .          .                   .       .
all finals               .           .                .               .             .          .          .          .                   .       .
start-answer             .           .                .               streaming     .          .          .          .                   .       .
start-answer, refused    .           .                .               failed        .          .          .          .                   .       .
finalize-answer          .           .                .               .             .          .          .          finalizing+answered done    .
finalize-answer, refused .           .                .               .             .          .          failed     failed              done    .
stop-answer              .           .                .               .             .          .          .          .                   .       stopped
stop-answer, refused     .           .                .               .             .          .          .          .                   .       failed
session-ended            .           .                .               .             done       done       done       closing             .       stopped
session-ended, error     failed      failed           failed          failed        failed     failed     failed     failed              done    stopped
`

/** The differences on a stream with a token that cannot change. */
const streamTable = `
                         idle        authorizing      connecting      starting      streaming  draining   finalizing unanswered          closing stopping
stop                     stopped     stopped          stopped         stopped       stopping   stopping   stopped    stopped             stopped .
link-ended               failed      failed           failed          failed        done       done       done       done                done    stopped
refused                  failed      failed           failed          failed        failed     failed     failed     failed              done    failed
`

/** A session over the WebSocket that lasts as long as its source; no sound follows. */
const lastingSocketTable = `
                         idle        authorizing      connecting      starting      reusing       streaming  draining     paused        waiting      finalizing   unanswered          closing      stopping
begin                    authorizing .                .               .             .             .          .            .             .            .            .                   .            .
authorized               .           connecting       .               .             .             .          .            .             .            .            .                   .            .
token-failed             failed      failed           failed          failed        authorizing   waiting    waiting+over paused+alone  failed       waiting+over waiting+over        waiting+over failed
connected                .           .                starting        .             .             .          .            .             .            .            .                   .            .
partial                  .           .                .               .             .             .          .            .             .            .            .                   .            .
final                    .           .                .               .             .             .          .            .             .            .            .                   .            .
final, error             .           .                .               .             .             .          .            .             .            .            .                   .            .
leaving                  .           .                .               .             .             .          .            .             .            .            .                   .            .
audio-over               idle+over   authorizing+over connecting+over starting+over starting+over finalizing .            done          waiting+over .            .                   .            .
drained                  .           .                .               .             .             .          finalizing   .             .            .            .                   .            .
progress                 .           .                .               .             .             .          .            .             .            .            .                   .            .
sound                    .           .                .               .             .             .          .            starting      .            .            .                   .            .
stop                     stopped     stopped          stopped         stopped       stopped       stopping   stopping     stopped       stopped      stopping     stopping            stopped      .
deadline                 .           failed           failed          failed        authorizing   .          failed       .             .            failed       failed              done         failed
retry                    .           .                .               .             .             .          .            .             authorizing  .            .                   .            .
handover-time            .           .                .               .             .             .          .            .             .            .            .                   .            .
handover-due             .           .                .               .             .             .          .            .             .            .            .                   .            .
successor-late           .           .                .               .             .             .          .            .             .            .            .                   .            .
gap                      .           .                .               .             .             .          .            .             .            .            .                   .            .
inactive                 .           .                .               .             .             .          .            .             .            .            .                   .            .
update                   .           .                .               .             .             .          .            .             .            .            .                   .            .
link-ended               failed      failed           failed          failed        authorizing   waiting    waiting+over paused+alone  failed       waiting+over waiting+over        done         stopped
link-failed              failed      failed           failed          failed        authorizing   waiting    waiting+over paused+alone  failed       waiting+over waiting+over        waiting+over failed
lost                     failed      waiting          waiting         waiting       authorizing   waiting    waiting+over paused+alone  failed       waiting+over waiting+over        waiting+over failed
refused                  failed      failed           authorizing     authorizing   authorizing   waiting    waiting+over paused+alone  failed       waiting+over waiting+over        waiting+over failed
failed                   failed      failed           failed          failed        failed        failed     failed       failed        failed       failed       failed              failed       failed
read                     .           .                .               .             .             .          .            .             .            .            .                   .            .
all finals               .           .                .               .             .             .          .            .             .            .            .                   .            .
start-answer             .           .                .               streaming     streaming     .          .            .             .            .            .                   .            .
start-answer, refused    .           .                .               failed        failed        .          .            .             .            .            .                   .            .
finalize-answer          .           .                .               .             .             .          .            .             .            .            finalizing+answered done         .
finalize-answer, refused .           .                .               .             .             .          .            .             .            failed       failed              done         .
stop-answer              .           .                .               .             .             .          .            .             .            .            .                   .            stopped
stop-answer, refused     .           .                .               .             .             .          .            .             .            .            .                   .            failed
session-ended            .           .                .               .             .             paused    done         .             .            done         closing             .            stopped
session-ended, error     failed      failed           failed          failed        failed        failed     failed       paused+alone  failed       failed       failed              done         stopped
`

/** The differences on a stream. */
const lastingStreamTable = `
                         idle        authorizing      connecting      starting      reusing       streaming     draining     paused        waiting      finalizing   unanswered          closing      stopping
stop                     stopped     stopped          stopped         stopped       stopped       stopping      stopping     stopped       stopped      stopped      stopped             stopped      .
link-ended               failed      failed           failed          failed        authorizing   paused+alone  done         paused+alone  failed       done         done                done         stopped
`

type Row = readonly [input: InputKey, phase: PhaseKey, after: string]

const rowsOf = (table: string): readonly Row[] => {
  const [head = '', ...lines] = table.split('\n').filter((line) => line !== '')
  const keys = head.trim().split(/\s+/) as PhaseKey[]
  return lines.flatMap((line) => {
    const input = line.slice(0, 25).trim() as InputKey
    const cells = line.slice(25).trim().split(/\s+/)
    return keys.map((phase, index): Row => [input, phase, cells[index] ?? ''])
  })
}

/** What a session over the WebSocket that lasts as long as its source does: outputs, then effects. */
const actions: readonly (readonly [PhaseKey, InputKey, string])[] = [
  ['idle', 'begin', 'authorizing, wait 20000, authorize'],
  ['idle', 'audio-over', 'end-audio'],
  ['idle', 'stop', 'drop, stopped, close-ledger'],
  ['idle', 'failed', 'drop, failed, close-ledger'],
  ['idle', 'gap', 'gap'],
  ['authorizing', 'authorized', 'connecting, wait 10000, dial'],
  ['authorizing', 'token-failed', 'drop, failed, close-ledger'],
  ['authorizing', 'lost', 'continue-after, report-ledger, reconnecting, wait 500'],
  ['connecting', 'connected', 'starting, wait 10000, start'],
  ['connecting', 'refused', 'authorizing, wait 20000, authorize'],
  ['starting', 'start-answer', 'begin, watch-updates, send-audio, wait 14040000'],
  ['starting', 'update', ''],
  ['reusing', 'start-answer', 'begin, watch-updates, send-audio, wait 14040000'],
  ['reusing', 'link-ended', 'wait 20000, authorize'],
  ['streaming', 'partial', 'read'],
  ['streaming', 'final', 'read'],
  ['streaming', 'final, error', 'hold-final'],
  ['streaming', 'leaving', 'wait 100'],
  ['streaming', 'inactive', 'silent'],
  ['streaming', 'update', 'send-update'],
  ['streaming', 'audio-over', 'end-audio, finalizing, expect-finals, wait 30000, finalize'],
  ['streaming', 'stop', 'drop, wait 5000, stop'],
  ['streaming', 'lost', 'continue-after, report-ledger, reconnecting, wait 500'],
  ['streaming', 'session-ended', 'continue-after, pause, listen'],
  ['draining', 'drained', 'finalizing, expect-finals, wait 30000, finalize'],
  ['draining', 'progress', 'wait 30000'],
  ['draining', 'update', 'send-update'],
  ['draining', 'session-ended', 'drop, done, close-ledger'],
  ['paused', 'sound', 'wait 10000, restart'],
  ['paused', 'audio-over', 'end-audio, drop, done, close-ledger'],
  ['waiting', 'retry', 'wait 20000, authorize'],
  ['waiting', 'stop', 'drop, stopped, close-ledger'],
  ['finalizing', 'session-ended', 'settle, drop, done, close-ledger'],
  ['unanswered', 'session-ended', 'wait 1000'],
  ['closing', 'finalize-answer', 'settle, drop, done, close-ledger'],
  ['closing', 'deadline', 'settle, drop, done, close-ledger'],
  ['stopping', 'partial', ''],
  ['stopping', 'stop-answer', 'drop, stopped, close-ledger'],
]

describe('the machine of a session', () => {
  it.each([
    ['a socket', socketTable, socketTable, socket],
    ['a stream', streamTable, socketTable, stream],
    ['a lasting socket', lastingSocketTable, lastingSocketTable, lastingSocket],
    ['a lasting stream', lastingStreamTable, lastingSocketTable, lastingStream],
  ])('makes the transitions in the table of %s', (_what, table, base, policy) => {
    const own = rowsOf(table)
    const isOwn = new Set(own.map(([input]) => input))
    const rows = [...rowsOf(base).filter(([input]) => !isOwn.has(input)), ...own]
    expect(new Set(rows.map(([input]) => input))).toEqual(new Set(Object.keys(inputs)))
    for (const [input, phase, after] of rows) {
      const next = nameOf(step(at(phases[phase]), inputs[input], policy).state.phase)
      const expected = after === '.' ? nameOf(phases[phase]) : after
      expect(`${input} in ${phase}: ${next}`).toBe(`${input} in ${phase}: ${expected}`)
    }
  })

  it.each(actions)('in %s, %s: %s', (phase, input, expected) => {
    expect(doneBy(step(at(phases[phase]), inputs[input], lastingSocket))).toBe(expected)
  })

  it('stays in done, stopped and failed, and does nothing there', () => {
    for (const phase of [phases.done, phases.stopped, phases.failed]) {
      for (const input of Object.values(inputs)) expect(step(at(phase), input)).toEqual({ state: at(phase) })
    }
  })

  it('keeps the end of the audio until it can finalize, from every phase before streaming', () => {
    for (const phase of [phases.idle, phases.authorizing, phases.connecting, phases.starting]) {
      let state = step(at(phase), inputs['audio-over']).state
      for (const input of [inputs.begin, inputs.authorized, inputs.connected, inputs['start-answer']]) {
        state = step(state, 'connection' in input ? { ...input, connection: state.connection.id } : input).state
      }
      expect(state.phase).toEqual({ name: 'draining' })
    }
  })

  it('waits for the buffered audio before it finalizes', () => {
    expect(step(at(phases.streaming), inputs['audio-over'], socket, { isSent: false }).state.phase.name).toBe(
      'draining',
    )
  })
})

describe('a token', () => {
  it('that is refused is replaced once, and the refusal ends the session when the same or another is refused', () => {
    const renewed = step(at(phases.starting), inputs.refused)
    expect(renewed.state.phase).toEqual(before('authorizing', { refusal }))
    expect(renewed.effects?.map(({ action }) => action)).toContainEqual({
      do: 'authorize',
      connection: 2,
      need: { refused: 'first' },
    })
    const same = { type: 'authorized', connection: 2, token: { ...tokenOf('first'), fresh: false } } as const
    expect(step(renewed.state, same).state.phase).toEqual({ name: 'failed', error: refusal })
    const other = step(renewed.state, { ...same, token: tokenOf('second') })
    expect(other.state.phase.name).toBe('connecting')
    expect(step(other.state, { ...inputs.refused, connection: 2 }).state.phase).toEqual({
      name: 'failed',
      error: refusal,
    })
  })

  it('is still renewed after an attempt to renew it failed', () => {
    const renewing = at(before('authorizing', { refusal, isResuming: true }))
    const later = new SpeechError('overloaded', 'Later.')
    const waiting = step(renewing, { type: 'token-failed', connection, error: later }, lastingSocket)
    expect(waiting.state.phase).toEqual({ name: 'waiting', isAudioOver: false, refusal, delayMs: 500 })
    const retried = step(waiting.state, inputs.retry, lastingSocket)
    expect(retried.effects?.map(({ action }) => action)).toContainEqual({
      do: 'authorize',
      connection: 2,
      need: { refused: 'first' },
    })
    // Another token arrived, and the connection with it was lost: that token was not refused.
    const connecting = at(before('connecting', { refusal, isResuming: true }))
    expect(
      step(connecting, { type: 'link-failed', connection, error: later }, lastingSocket).state.phase,
    ).toMatchObject({
      refusal: undefined,
    })
  })
})

describe('a retry', () => {
  it('follows a first attempt only after an answer that means "later"', () => {
    const outcome = (code: ErrorCode, phase: PhaseKey, policy: SessionPolicy, retryable?: boolean): string => {
      const error = new SpeechError(code, 'Said.', retryable === undefined ? {} : { retryable })
      const type = phase === 'authorizing' ? 'token-failed' : 'link-failed'
      return step(at(phases[phase]), { type, connection, error }, policy).state.phase.name
    }
    for (const phase of ['authorizing', 'connecting', 'starting'] as const) {
      for (const code of ['overloaded', 'going-away', 'connection-lost', 'too-many-attempts'] as const) {
        expect([code, phase, outcome(code, phase, lastingSocket)]).toEqual([code, phase, 'waiting'])
        expect([code, phase, outcome(code, phase, socket)]).toEqual([code, phase, 'failed'])
        expect([code, phase, outcome(code, phase, lastingSocket, false)]).toEqual([code, phase, 'failed'])
      }
      for (const code of ['connection-failed', 'connect-timeout', 'refused', 'tenant-denied', 'internal'] as const) {
        expect([code, phase, outcome(code, phase, lastingSocket)]).toEqual([code, phase, 'failed'])
      }
    }
  })

  it('is announced as reconnecting, with its delay; the steps of the next connection are not announced', () => {
    const { outputs, state } = step(at(phases.connecting), inputs.lost, lastingSocket)
    expect(outputs?.at(-1)).toEqual({
      do: 'reconnecting',
      event: { attempt: 1, delayMs: 500, cause: 'connection-lost' },
    })
    expect(doneBy(step(state, inputs.retry, lastingSocket))).toBe('wait 20000, authorize')
  })

  it('does not follow when the budget leaves no time for it', () => {
    const late = at(phases.streaming, { retries: { attempts: 3, sinceMs: 39_000, servesSinceMs: Infinity } })
    expect(step(late, inputs.lost, lastingSocket).state.phase).toEqual({ name: 'failed', error: lost })
    // Progress restores the budget.
    const { state } = step(late, inputs.read, lastingSocket, { hasProgress: true })
    expect(step(state, inputs.lost, lastingSocket).state.phase.name).toBe('waiting')
  })

  it('after too-fast comes with bursts', () => {
    const error = new SpeechError('too-fast', 'Slower.', { retryable: true })
    const { outputs } = step(at(phases.streaming), { type: 'link-failed', connection, error }, lastingSocket)
    expect(outputs).toContainEqual({ do: 'slow', speed: 'with bursts' })
  })
})

describe('a later connection that is opening', () => {
  it.each<[InputKey, string]>([
    ['lost', 'waiting'],
    ['link-failed', 'waiting'],
    ['refused', 'authorizing'],
    ['start-answer, refused', 'failed'],
    ['link-ended', 'failed'],
    ['deadline', 'waiting'],
    ['session-ended', 'starting'],
    ['stop', 'stopped'],
    ['failed', 'failed'],
  ])('after %s: %s', (input, expected) => {
    const reopening = at(before('starting', { isResuming: true }), { hasStreamed: true })
    expect(nameOf(step(reopening, inputs[input], lastingSocket).state.phase)).toBe(expected)
  })
})

describe('a deadline', () => {
  it('exists in every phase that waits for another party, and in none that waits for the user', () => {
    const waits = Object.entries(phases).filter(([, { name }]) => isWait(name))
    expect(waits.map(([key]) => key)).toEqual(
      'authorizing connecting starting reusing draining finalizing unanswered closing stopping'.split(' '),
    )
  })

  it.each([
    ['authorizing', 'token-timeout'],
    ['connecting', 'connect-timeout'],
    ['starting', 'start-timeout'],
    ['draining', 'finalize-timeout'],
    ['finalizing', 'finalize-timeout'],
    ['stopping', 'stop-timeout'],
  ] as const)('of %s is a %s', (phase, code) => {
    const { phase: ended } = step(at(phases[phase]), inputs.deadline).state
    expect(ended.name === 'failed' && ended.error.code).toBe(code)
  })

  it('states from which position on the audio has no result', () => {
    const { phase } = step(at(phases.finalizing), inputs.deadline, socket, { pendingFromMs: 1_250 }).state
    expect(phase.name === 'failed' && phase.error.message).toMatch(/Pending from 1250 ms\.$/)
  })

  it('starts again with results while finalizing, and with buffered audio that is sent while draining', () => {
    const isAnew = (phase: PhaseKey, input: InputKey): boolean => {
      const { effects = [] } = step(at(phases[phase]), inputs[input], lastingSocket, { hasProgress: true })
      return effects.some(({ action }) => action.do === 'wait' && action.input.type === 'deadline')
    }
    const keys = Object.keys(phases) as PhaseKey[]
    expect(keys.filter((phase) => isAnew(phase, 'read'))).toEqual(['finalizing', 'unanswered'])
    expect(keys.filter((phase) => isAnew(phase, 'progress'))).toEqual(['draining'])
  })
})

describe('a final', () => {
  it('that only repeats the previous one is not emitted', () => {
    const next = step(at(phases.streaming), inputs.final, lastingSocket, { isRepeated: () => true })
    expect([doneBy(next), next.raise]).toEqual(['repeated-final', undefined])
  })

  it('with an error is emitted immediately if no other connection may follow', () => {
    expect(doneBy(step(at(phases.streaming), inputs['final, error'], socket))).toBe('read')
  })

  it('with an error is emitted when the session ends, and becomes milestones when it continues', () => {
    const held = step(at(phases.streaming), inputs['final, error'], lastingSocket).state
    expect(doneBy(step(held, inputs.failed, lastingSocket))).toBe('read, drop, failed, close-ledger')
    expect(step(held, inputs.lost, lastingSocket).outputs?.[0]).toEqual({ do: 'continue-after', finals: [failedFinal] })
    const finalizing = { ...held, phase: phases.finalizing }
    // Audio that was sent is not settled by a final with an error.
    expect(doneBy(step(finalizing, inputs['session-ended'], lastingSocket))).toBe('read, drop, done, close-ledger')
  })

  it('of every channel makes the way in which the connection ends irrelevant', () => {
    const answered = { isAnswered: true }
    expect(step(at(phases.finalizing), inputs.lost, lastingStream, answered).state.phase.name).toBe('done')
    expect(step(at(phases.streaming), inputs.lost, lastingStream, answered).state.phase.name).toBe('waiting')
  })

  it('of every channel ends a session of one recognition', () => {
    const all = { isFinal: true }
    expect(step(at(phases.streaming), inputs['all finals'], stream, all).state.phase.name).toBe('done')
    expect(step(at(phases.streaming), inputs['all finals'], lastingStream, all).state.phase.name).toBe('streaming')
  })
})

/**
 * Pending finals are `emitted` as they are, `continued` by the next recognition, `dropped`, or still `held`. The session has
 * one pending final; no sound follows.
 */
describe('a pending final', () => {
  const fateIn = ({ state, outputs = [] }: ClientStep): string => {
    const isEmitted = outputs.some((output) => output.do === 'read' && output.event === failedFinal)
    const isContinued = outputs.some((output) => output.do === 'continue-after' && output.finals.includes(failedFinal))
    const isHeld = state.pendingFinals.includes(failedFinal)
    return [isEmitted && 'emitted', isContinued && 'continued', isHeld && 'held'].filter(Boolean).join('+') || 'dropped'
  }
  const noResumption: SessionPolicy = { ...lastingSocket, resumption: undefined }
  const oneRecognition: SessionPolicy = { ...lastingSocket, isContinuous: false }
  const fixedToken: SessionPolicy = { ...lastingSocket, isTokenRenewable: false }
  const policies = { lastingSocket, lastingStream, noResumption, oneRecognition, fixedToken }

  it.each<[PhaseKey, InputKey, keyof typeof policies, string, string]>([
    // The connection is lost.
    ['streaming', 'lost', 'lastingSocket', 'waiting', 'continued'],
    ['draining', 'lost', 'lastingSocket', 'waiting+over', 'continued'],
    ['finalizing', 'lost', 'lastingSocket', 'waiting+over', 'continued'],
    ['unanswered', 'lost', 'lastingSocket', 'waiting+over', 'continued'],
    ['closing', 'lost', 'lastingSocket', 'waiting+over', 'continued'],
    ['stopping', 'lost', 'lastingSocket', 'failed', 'emitted'],
    ['streaming', 'lost', 'noResumption', 'failed', 'emitted'],
    ['finalizing', 'lost', 'noResumption', 'failed', 'emitted'],
    ['closing', 'lost', 'noResumption', 'done', 'emitted'],
    ['streaming', 'lost', 'oneRecognition', 'waiting', 'continued'],
    // The token is refused.
    ['streaming', 'refused', 'lastingSocket', 'waiting', 'continued'],
    ['finalizing', 'refused', 'lastingSocket', 'waiting+over', 'continued'],
    ['closing', 'refused', 'lastingSocket', 'waiting+over', 'continued'],
    ['streaming', 'refused', 'fixedToken', 'failed', 'emitted'],
    ['finalizing', 'refused', 'fixedToken', 'failed', 'emitted'],
    ['closing', 'refused', 'fixedToken', 'done', 'emitted'],
    ['stopping', 'refused', 'lastingSocket', 'failed', 'emitted'],
    // The service ends the session with an error that no other connection would help.
    ['streaming', 'session-ended, error', 'lastingSocket', 'failed', 'emitted'],
    ['finalizing', 'session-ended, error', 'lastingSocket', 'failed', 'emitted'],
    ['closing', 'session-ended, error', 'lastingSocket', 'done', 'emitted'],
    ['stopping', 'session-ended, error', 'lastingSocket', 'stopped', 'dropped'],
    // The service closes the connection.
    ['streaming', 'link-ended', 'lastingSocket', 'waiting', 'continued'],
    ['draining', 'link-ended', 'lastingSocket', 'waiting+over', 'continued'],
    ['finalizing', 'link-ended', 'lastingSocket', 'waiting+over', 'continued'],
    ['closing', 'link-ended', 'lastingSocket', 'done', 'emitted'],
    ['stopping', 'link-ended', 'lastingSocket', 'stopped', 'dropped'],
    ['streaming', 'link-ended', 'lastingStream', 'paused+alone', 'continued'],
    ['draining', 'link-ended', 'lastingStream', 'done', 'emitted'],
    ['finalizing', 'link-ended', 'lastingStream', 'done', 'emitted'],
    ['unanswered', 'link-ended', 'lastingStream', 'done', 'emitted'],
    ['streaming', 'link-ended', 'noResumption', 'failed', 'emitted'],
    // The service ends the recognition.
    ['streaming', 'session-ended', 'lastingSocket', 'paused', 'continued'],
    ['streaming', 'session-ended', 'oneRecognition', 'done', 'emitted'],
    ['draining', 'session-ended', 'lastingSocket', 'done', 'emitted'],
    ['finalizing', 'session-ended', 'lastingSocket', 'done', 'emitted'],
    ['unanswered', 'session-ended', 'lastingSocket', 'closing', 'held'],
    ['closing', 'finalize-answer', 'lastingSocket', 'done', 'emitted'],
    ['closing', 'finalize-answer, refused', 'lastingSocket', 'done', 'emitted'],
    ['stopping', 'session-ended', 'lastingSocket', 'stopped', 'dropped'],
    // The service does not answer in time.
    ['draining', 'deadline', 'lastingSocket', 'failed', 'emitted'],
    ['finalizing', 'deadline', 'lastingSocket', 'failed', 'emitted'],
    ['unanswered', 'deadline', 'lastingSocket', 'failed', 'emitted'],
    ['closing', 'deadline', 'lastingSocket', 'done', 'emitted'],
    ['stopping', 'deadline', 'lastingSocket', 'failed', 'emitted'],
    // The user stops the session, or ends its audio.
    ['streaming', 'stop', 'lastingSocket', 'stopping', 'held'],
    ['finalizing', 'stop', 'lastingSocket', 'stopping', 'held'],
    ['finalizing', 'stop', 'lastingStream', 'stopped', 'dropped'],
    ['closing', 'stop', 'lastingSocket', 'stopped', 'emitted'],
    ['closing', 'stop', 'lastingStream', 'stopped', 'emitted'],
    ['stopping', 'stop-answer', 'lastingSocket', 'stopped', 'dropped'],
    ['stopping', 'stop-answer, refused', 'lastingSocket', 'failed', 'emitted'],
    ['streaming', 'audio-over', 'lastingSocket', 'finalizing', 'held'],
    ['draining', 'drained', 'lastingSocket', 'finalizing', 'held'],
    // Something of the user fails.
    ['streaming', 'failed', 'lastingSocket', 'failed', 'emitted'],
    ['finalizing', 'failed', 'lastingSocket', 'failed', 'emitted'],
    ['closing', 'failed', 'lastingSocket', 'failed', 'emitted'],
  ])('in %s, %s, %s: the session is %s, the final %s', (phase, input, policy, expected, fate) => {
    const next = step(at(phases[phase], { pendingFinals: [failedFinal] }), inputs[input], policies[policy])
    expect([nameOf(next.state.phase), fateIn(next)]).toEqual([expected, fate])
  })

  it.each<[InputKey, Partial<SessionFacts>, boolean, number, string]>([
    ['handover-due', {}, true, 3, 'continued'],
    ['handover-due', {}, false, 1, 'held'],
    ['read', { hasProgress: true }, true, 3, 'continued'],
    ['read', {}, true, 1, 'held'],
    ['lost', {}, true, 3, 'continued'],
  ])('during a handover, %s, facts %o, successor ready %s: connection %i, the final %s', (...row) => {
    const [input, facts, isReady, id, fate] = row
    const successor = { id: 3, token: tokenOf('second'), update: undefined, isReady, endingToken: undefined }
    const state = at(phases.streaming, { pendingFinals: [failedFinal], lastId: 3, handover: { id: 2, successor } })
    const next = step(state, inputs[input], lastingSocket, facts)
    expect([next.state.phase.name, next.state.connection.id, fateIn(next)]).toEqual(['streaming', id, fate])
  })

  it('is followed by the next recognition if there is sound, also after a refused finalize request', () => {
    for (const [phase, input] of [
      ['streaming', 'session-ended'],
      ['draining', 'session-ended'],
      ['closing', 'finalize-answer, refused'],
    ] as const) {
      const state = at(phases[phase], { pendingFinals: [failedFinal] })
      const next = step(state, inputs[input], lastingSocket, { hasSound: true })
      expect([next.state.phase.name, fateIn(next)]).toEqual(['starting', 'continued'])
    }
  })

  it('is continued, and not emitted, when the budget leaves no time for another attempt', () => {
    const retries = { attempts: 3, sinceMs: 39_000, servesSinceMs: Infinity }
    const next = step(at(phases.streaming, { pendingFinals: [failedFinal], retries }), inputs.lost, lastingSocket)
    expect([next.state.phase.name, fateIn(next)]).toEqual(['failed', 'continued'])
  })
})

describe('a recognition that the service ends by itself', () => {
  const sound = { hasSound: true }
  const idle = { hasSound: true, progressMs: 0, nowMs: 1_000 }
  it.each<[string, SessionPolicy, Partial<SessionFacts>, PhaseKey, InputKey, string, string]>([
    ['waits for a sound', lastingSocket, {}, 'streaming', 'session-ended', 'paused', 'continue-after, pause, listen'],
    [
      'is followed by the next',
      lastingSocket,
      sound,
      'streaming',
      'session-ended',
      'starting',
      'continue-after, pause, wait 10000, restart',
    ],
    [
      'is followed by the next when the audio is over',
      lastingSocket,
      sound,
      'draining',
      'session-ended',
      'starting+over',
      'continue-after, pause, wait 10000, restart',
    ],
    [
      'is retried when it made no progress',
      lastingSocket,
      idle,
      'streaming',
      'session-ended',
      'waiting',
      'continue-after, pause, slow, continue-after, report-ledger, reconnecting, wait 500',
    ],
    ['is the last in silence', lastingSocket, {}, 'draining', 'session-ended', 'done', 'drop, done, close-ledger'],
    [
      'takes another connection',
      lastingStream,
      sound,
      'streaming',
      'link-ended',
      'authorizing',
      'continue-after, pause, wait 20000, authorize',
    ],
    [
      'takes another connection when the audio is over',
      lastingStream,
      sound,
      'draining',
      'link-ended',
      'authorizing+over',
      'continue-after, pause, wait 20000, authorize',
    ],
    [
      'is a loss without its finals',
      lastingStream,
      { ...sound, isWhole: false },
      'streaming',
      'link-ended',
      'waiting',
      'continue-after, report-ledger, reconnecting, wait 500',
    ],
    [
      'is a loss without its finals while finalizing',
      lastingStream,
      { ...sound, isWhole: false },
      'unanswered',
      'link-ended',
      'waiting+over',
      'continue-after, report-ledger, reconnecting, wait 500',
    ],
    [
      'is the answer to finalize',
      lastingStream,
      sound,
      'unanswered',
      'link-ended',
      'done',
      'settle, drop, done, close-ledger',
    ],
    [
      'is not the answer when it left audio unread',
      lastingStream,
      { ...sound, isUnread: true },
      'unanswered',
      'link-ended',
      'authorizing+over',
      'continue-after, pause, wait 20000, authorize',
    ],
    [
      'is followed by the next when finalize was refused',
      lastingSocket,
      sound,
      'closing',
      'finalize-answer, refused',
      'starting+over',
      'continue-after, pause, wait 10000, restart',
    ],
    [
      'is the last when finalize was refused in silence',
      lastingSocket,
      {},
      'closing',
      'finalize-answer, refused',
      'done',
      'drop, done, close-ledger',
    ],
    [
      'ends a session of one recognition',
      { ...lastingSocket, isContinuous: false },
      sound,
      'streaming',
      'session-ended',
      'done',
      'drop, done, close-ledger',
    ],
  ])('%s', (_what, policy, facts, phase, input, expected, done) => {
    const next = step(at(phases[phase]), inputs[input], policy, facts)
    expect([nameOf(next.state.phase), doneBy(next)]).toEqual([expected, done])
  })

  it('drops the rest as silence, and not as lost, if it has no sound', () => {
    const causeOf = ({ outputs = [] }: ClientStep): unknown => outputs.find((output) => output.do === 'drop')
    const ended = inputs['session-ended']
    expect(causeOf(step(at(phases.draining), ended, lastingSocket))).toEqual({ do: 'drop', cause: 'silence' })
    expect(causeOf(step(at(phases.draining), ended, socket))).toEqual({ do: 'drop', cause: 'ended' })
  })

  it('is announced as followed by another one, unless the connection is lost meanwhile', () => {
    const paused = step(at(phases.streaming), inputs['session-ended'], lastingSocket, sound).state
    const begins = (state: ClientState): unknown =>
      step(state, inputs['start-answer'], lastingSocket).outputs?.find((output) => output.do === 'begin')
    expect(begins(paused)).toEqual({ do: 'begin', isNextRecognition: true })
    expect(begins(at(phases.starting))).toEqual({ do: 'begin', isNextRecognition: false })
  })
})

describe('a handover', () => {
  const handover: Handover = { id: 2, successor: undefined }
  const successor = { id: 3, token: tokenOf('second'), update: undefined, isReady: false, endingToken: undefined }
  const opening = at(phases.streaming, { lastId: 3, handover: { id: 2, successor } })
  const ready = at(phases.streaming, { lastId: 3, handover: { id: 2, successor: { ...successor, isReady: true } } })
  const message = (signal: Signal): ClientInput => ({
    type: 'message',
    connection: 3,
    event: { type: 'response', request: 'recognize', success: true, operationResult: 'Success' },
    signal,
  })

  it('is planned a twentieth before the end of a token, and not for one without an end', () => {
    const starting = (expiresAtMs: number): ClientState =>
      at(phases.starting, { connection: { id: 1, token: tokenOf('first', expiresAtMs), update: undefined } })
    const planned = (expiresAtMs: number, maxConnectionMs: number): unknown =>
      step(starting(expiresAtMs), inputs['start-answer'], {
        ...lastingSocket,
        resumption: resolveResumption({ maxConnectionMs }),
      }).effects?.at(-1)?.action
    expect(planned(120_000, 1_000_000)).toEqual({
      do: 'wait',
      delayMs: 19_000,
      ref: false,
      input: { type: 'handover-time', dueMs: 750, endingToken: 'first' },
    })
    expect(planned(1_100_000, 400_000)).toMatchObject({
      delayMs: 380_000,
      input: { dueMs: 15_000, endingToken: undefined },
    })
    expect(planned(100_000, 1_000_000)).toMatchObject({ do: 'send-audio' })
  })

  it('opens a successor when its time has come, if audio was sent on the connection', () => {
    const state = at(phases.streaming, { lastId: 2, handover })
    const opened = step(state, inputs['handover-time'], lastingSocket)
    expect([doneBy(opened), opened.state.handover?.successor?.id]).toEqual(['wait 1000, wait 20000, authorize', 3])
    expect(step(state, inputs['handover-time'], lastingSocket, { hasSentAudio: false })).toEqual({ state })
  })

  it.each<[string, ClientInput, string]>([
    ['a token', { type: 'authorized', connection: 3, token: tokenOf('second') }, 'dial'],
    ['a link', { type: 'connected', connection: 3 }, 'start'],
    ['an event', { type: 'message', connection: 3, event: partial }, ''],
    ['the announcement of its end', { type: 'leaving', connection: 3 }, ''],
  ])('continues with %s of the successor', (_what, input, expected) => {
    const next = step(opening, input, lastingSocket)
    expect([next.state.handover?.successor?.id, doneBy(next)]).toEqual([3, expected])
  })

  it.each<[string, ClientInput]>([
    ['has no token', { type: 'token-failed', connection: 3, error: broken }],
    ['has no link', { type: 'link-failed', connection: 3, error: broken }],
    ['ends', { type: 'link-ended', connection: 3 }],
    ['refuses its start', message({ type: 'start-answer', error: broken })],
    ['ends its recognition', message({ type: 'session-ended' })],
    ['is late', { type: 'successor-late' }],
  ])('is given up when the successor %s', (_what, input) => {
    expect(step(opening, input, lastingSocket)).toEqual({ state: { ...opening, handover: undefined } })
  })

  it('is given up when the successor gets the token that ends', () => {
    const ending = { ...opening, handover: { id: 2, successor: { ...successor, endingToken: 'second' } } }
    const input: ClientInput = { type: 'authorized', connection: 3, token: tokenOf('second') }
    expect(step(ending, input, lastingSocket).state.handover).toBeUndefined()
  })

  it('takes place when the successor is ready: at the next progress, when it is due, or when the connection is lost', () => {
    expect(step(opening, message({ type: 'start-answer' }), lastingSocket).state).toEqual(ready)
    const progress = { hasProgress: true }
    for (const next of [
      step(ready, inputs.read, lastingSocket, progress),
      step(ready, inputs['handover-due'], lastingSocket),
      step(ready, inputs.lost, lastingSocket),
    ]) {
      expect([next.state.phase.name, next.state.connection.id]).toEqual(['streaming', 3])
      expect(doneBy(next)).toContain('begin')
    }
    for (const [state, input] of [
      [opening, inputs.read],
      [opening, inputs['handover-due']],
      [{ ...ready, phase: phases.draining }, inputs['handover-due']],
    ] as const) {
      expect(step(state, input, lastingSocket, progress).state.connection.id).toBe(1)
    }
  })

  it('follows soon when the connection announces its end, unless a successor is opening already', () => {
    expect(doneBy(step(at(phases.streaming, { handover }), inputs.leaving, lastingSocket))).toBe('wait 100')
    expect(step(opening, inputs.leaving, lastingSocket)).toEqual({ state: opening })
  })

  it('ends with the audio, a stop and a rest', () => {
    for (const input of [inputs['audio-over'], inputs.stop, inputs['session-ended']]) {
      expect(step(ready, input, lastingSocket).state.handover).toBeUndefined()
    }
  })
})

describe('an update', () => {
  it('is sent on the connection, and is in the start of the next ones', () => {
    const { state } = step(at(phases.streaming), inputs.update, lastingStream)
    const waiting = step(state, inputs.lost, lastingStream).state
    expect(step(waiting, inputs.retry, lastingStream).state.connection.update).toEqual(inputs.update.sum)
  })

  it('that arrived after the start of a connection is sent when it streams', () => {
    const starting = at(phases.starting, { update: inputs.update.update, hasStreamed: true })
    expect(doneBy(step(starting, inputs['start-answer'], lastingStream))).toMatch(/^begin, send-update, send-audio/)
  })
})

describe('the machine of a session, with any inputs in any order', () => {
  const input = fc.constantFrom<ClientInput>(...Object.values(inputs))
  const facts = fc.record({
    isSent: fc.boolean(),
    hasSound: fc.boolean(),
    hasProgress: fc.boolean(),
    isFinal: fc.boolean(),
    isWhole: fc.boolean(),
    isAnswered: fc.boolean(),
    isUnread: fc.boolean(),
    progressMs: fc.constantFrom(0, 1_000),
  })
  const policy = fc.constantFrom(socket, stream, lastingSocket, lastingStream)

  /** Signals and inputs of a connection are those of the current one or of its successor. */
  const from = (state: ClientState, input: ClientInput, isSuccessor: boolean): ClientInput =>
    'connection' in input
      ? { ...input, connection: (isSuccessor ? state.handover?.successor?.id : undefined) ?? state.connection.id }
      : input

  it('ends at most once, starts no effect whose lifetime is over, and never lacks a deadline', () => {
    const sequence = fc.array(fc.tuple(input, facts, fc.boolean()), { maxLength: 60 })
    fc.assert(
      fc.property(sequence, policy, (steps, ofOne) => {
        const machine = new ClientMachine(ofOne, quiet)
        let { state } = machine.start
        const done: string[] = []
        for (const [item, found, isSuccessor] of [[inputs.begin, quiet, false] as const, ...steps]) {
          const { state: before } = { state }
          const next = step(state, from(state, item, isSuccessor), ofOne, found)
          if (isEnd(before.phase)) expect(next).toEqual({ state: before })
          state = next.state
          const alive = machine.alive(state)
          for (const { lifetime } of next.effects ?? []) expect(alive).toContain(lifetime)
          expect(alive.size === 0).toBe(isEnd(state.phase))
          // A new wait has its deadline.
          const isNewWait = isWait(state.phase.name) && state.wait !== before.wait
          const deadline = next.effects?.filter(({ lifetime }) => lifetime === `wait:${state.wait}`)
          if (isNewWait) expect(deadline).toHaveLength(1)
          done.push(...doneBy(next).split(', '))
        }
        const count = (what: string): number => done.filter((name) => name === what).length
        expect(count('close-ledger')).toBe(isEnd(state.phase) ? 1 : 0)
        expect(count('watch-updates')).toBeLessThanOrEqual(1)
        expect(count('stop')).toBeLessThanOrEqual(1)
        if (ofOne.resumption === undefined) {
          expect(count('begin')).toBeLessThanOrEqual(1)
          expect(count('dial')).toBeLessThanOrEqual(2)
        }
      }),
      { numRuns: runs(2_000) },
    )
  })
})
