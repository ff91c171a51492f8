import { resolveResumption } from '../../../src/client/options.js'
import { ClientMachine, initialState } from '../../../src/client/machine.js'
import {
  isDeciding,
  type ClientInput,
  type ClientState,
  type ClientStep,
  type MessageRead,
  type ObservedInput,
  type Phase,
  type SessionPolicy,
  type Snapshot,
} from '../../../src/client/states.js'
import { SpeechError } from '../../../src/errors/speech-error.js'
import type { FinalEvent } from '../../../src/protocol/session-event.js'
import { happeningsOf } from '../happenings.js'

// States, inputs and policies of the tests of the machine, and what a step does in words.

/** The service has sent all results and made progress, and no sound follows. */
export const quiet: Snapshot = {
  nowMs: 100_000,
  isSent: true,
  hasSentAudio: true,
  pendingFromMs: undefined,
  hasSound: false,
  progressMs: 1_000,
  isWhole: true,
  isAnswered: false,
  isUnread: false,
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
export const socket: SessionPolicy = {
  endsWith: 'session-ended',
  finalizeBy: 'request',
  isTokenRenewable: true,
  isContinuous: false,
  resumption: undefined,
  deadlines,
}
export const stream: SessionPolicy = {
  ...socket,
  endsWith: 'end-of-stream',
  finalizeBy: 'half-close',
  isTokenRenewable: false,
}
/** Sessions that last as long as their source. */
export const lastingSocket: SessionPolicy = { ...socket, isContinuous: true, resumption }
export const lastingStream: SessionPolicy = { ...stream, isTokenRenewable: true, isContinuous: true, resumption }

export const broken = new SpeechError('internal', 'Broken.')
export const lost = new SpeechError('connection-lost', 'Lost.')
export const refusal = new SpeechError('unauthenticated', 'Not this token.')
export const tokenOf = (accessToken: string, expiresAtMs = Infinity) => ({ accessToken, fresh: true, expiresAtMs })

/** The state of a session in the given phase, on its first connection. */
export const at = (phase: Phase, more: Partial<ClientState> = {}): ClientState => ({
  ...initialState,
  phase,
  connection: { id: 1, token: tokenOf('first'), update: undefined },
  lastId: 1,
  recognition: { sinceMs: 0, isNext: false },
  ...more,
})
export const before = (name: 'authorizing' | 'connecting' | 'starting', more = {}): Phase => ({
  name,
  isAudioOver: false,
  refusal: undefined,
  isResuming: false,
  isReusing: false,
  ...more,
})

export const phases = {
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
export type PhaseKey = keyof typeof phases

export const connection = 1
export type Signal = NonNullable<Extract<ClientInput, { readonly type: 'read' }>['signal']>
const signalled = (signal?: Signal, more: Partial<MessageRead> = {}): MessageRead => ({
  type: 'read',
  signal,
  held: undefined,
  hasProgress: false,
  isLast: false,
  ...more,
})
export const partial = { type: 'partial', text: 'x' } as const
const final: FinalEvent = { type: 'final', text: 'x' }
export const failedFinal: FinalEvent = { ...final, error: 'internal: Broken.' }

export const inputs = {
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
  held: signalled(undefined, { held: failedFinal }),
  'all finals': signalled(undefined, { isLast: true }),
  'start-answer': signalled({ type: 'start-answer' }),
  'start-answer, refused': signalled({ type: 'start-answer', error: new SpeechError('refused', 'No.') }),
  'finalize-answer': signalled({ type: 'finalize-answer' }),
  'finalize-answer, refused': signalled({ type: 'finalize-answer', error: new SpeechError('refused', 'No.') }),
  'stop-answer': signalled({ type: 'stop-answer' }),
  'stop-answer, refused': signalled({ type: 'stop-answer', error: new SpeechError('refused', 'No.') }),
  'session-ended': signalled({ type: 'session-ended' }),
  'session-ended, error': signalled({ type: 'session-ended', error: new SpeechError('refused', 'No.') }),
} as const satisfies Record<string, ClientInput>
export type InputKey = keyof typeof inputs

/** What is known when an input has its turn, as changes of `quiet`; for a message that was read, also what it did. */
export type Seen = Partial<Snapshot & Pick<MessageRead, 'hasProgress' | 'isLast'>>

export const observed = (input: ClientInput, { hasProgress, isLast, ...more }: Seen = {}): ObservedInput => {
  if (!isDeciding(input)) return input
  const snapshot = { ...quiet, ...more }
  if (input.type !== 'read') return { ...input, snapshot }
  return { ...input, hasProgress: hasProgress ?? input.hasProgress, isLast: isLast ?? input.isLast, snapshot }
}

export const step = (state: ClientState, input: ClientInput, policy = socket, seen: Seen = {}): ClientStep =>
  new ClientMachine(policy).reduce(state, observed(input, seen))

/** What a step does: outputs, an event of the connection by its name, a message by its treatment, then effects. */
export const doneBy = ({ outputs = [], effects = [] }: ClientStep): string =>
  [
    ...outputs.flatMap((output) =>
      output.do === 'emit' ? happeningsOf(output.event) : [output.do === 'receive' ? output.as : output.do],
    ),
    ...effects.map(({ action }) => (action.do === 'wait' ? `wait ${action.delayMs}` : action.do)),
  ].join(', ')

/** The phase with the details that its name does not contain. */
export const nameOf = (phase: Phase): string => {
  const isOver = 'isAudioOver' in phase && phase.isAudioOver
  const isAlone = phase.name === 'paused' && !phase.isConnected
  const hasAnswer = phase.name === 'finalizing' && phase.isAcknowledged
  return [phase.name, isOver && 'over', isAlone && 'alone', hasAnswer && 'answered'].filter(Boolean).join('+')
}
