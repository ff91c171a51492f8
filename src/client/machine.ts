import type { ErrorCode } from '../errors/error-table.js'
import { SpeechError } from '../errors/speech-error.js'
import type { Machine, MachineResult } from '../kernel/machine.js'
import { mergeUpdates } from './merge-updates.js'
import type { GapCause } from '../protocol/session-event.js'
import type { AnnouncedState } from '../protocol/states.js'
import type { ControlSignal } from './protocol.js'
import type { Wait } from './settings.js'
import { afterProgress, nextAttempt, noRetries } from './retries.js'
import type {
  BeforeStreaming,
  ClientAction,
  ClientEffect,
  ClientInput,
  ClientOutput,
  ClientState,
  ClientStep,
  ConnectionInput,
  Handover,
  MessageRead,
  Phase,
  SessionFacts,
  SessionPolicy,
  Successor,
  TokenNeed,
  Waiting,
} from './states.js'

type Context = Pick<ClientMachine, 'policy' | 'facts'>

/** The life of a session. In `done`, `stopped` and `failed` no input has an effect. */
export class ClientMachine implements Machine<ClientState, ClientInput, ClientOutput, ClientAction> {
  readonly policy: SessionPolicy
  readonly facts: SessionFacts

  constructor(policy: SessionPolicy, facts: SessionFacts) {
    this.policy = policy
    this.facts = facts
  }

  get start(): ClientStep {
    return start
  }

  reduce(state: ClientState, input: ClientInput): ClientStep {
    return isEnd(state.phase) ? { state } : reduce(state, input, this)
  }

  alive(state: ClientState): ReadonlySet<string> {
    return alive(state)
  }

  result({ phase }: ClientState): MachineResult | undefined {
    return phase.name === 'failed' ? { error: phase.error } : isEnd(phase) ? 'complete' : undefined
  }
}

export const initialState: ClientState = {
  phase: { name: 'idle', isAudioOver: false },
  wait: 0,
  connection: { id: 0, token: undefined, update: undefined },
  lastId: 0,
  handover: undefined,
  retries: noRetries,
  hasStreamed: false,
  recognition: { sinceMs: Infinity, isNext: false },
  pendingFinals: [],
  update: undefined,
}

const start: ClientStep = {
  state: initialState,
  // Signals are subscribed first, because they may fire on subscription.
  effects: [
    { lifetime: 'session', action: { do: 'watch-signals' } },
    { lifetime: 'capture', action: { do: 'capture' } },
    { lifetime: 'session', action: { do: 'begin' } },
  ],
}

export const isEnd = ({ name }: Phase): boolean => name === 'done' || name === 'stopped' || name === 'failed'

const lifetimes = {
  connection: (id: number): string => `connection:${id}`,
  /** Audio is sent. */
  sending: (id: number): string => `sending:${id}`,
  handover: ({ id }: Handover): string => `handover:${id}`,
  /** The connection of the handover is opening. */
  opening: ({ id }: Successor): string => `opening:${id}`,
  wait: ({ wait }: ClientState): string => `wait:${wait}`,
}

const alive = (state: ClientState): ReadonlySet<string> => {
  const { phase, connection, handover } = state
  const names = new Set<string>()
  if (isEnd(phase)) return names
  names.add('session').add(lifetimes.wait(state))
  if (!isAudioOver(phase)) names.add('capture')
  if (phase.name === 'paused') names.add('listening')
  if (hasConnection(phase)) names.add(lifetimes.connection(connection.id))
  if (isSending(phase)) names.add(lifetimes.sending(connection.id))
  if (handover === undefined) return names
  const { successor } = handover
  names.add(lifetimes.handover(handover))
  if (successor === undefined) return names
  names.add(lifetimes.connection(successor.id))
  if (!successor.isReady) names.add(lifetimes.opening(successor))
  return names
}

const hasConnection = (phase: Phase): boolean =>
  phase.name === 'paused' ? phase.isConnected : phase.name !== 'idle' && phase.name !== 'waiting'

const isAudioOver = (phase: Phase): boolean =>
  'isAudioOver' in phase ? phase.isAudioOver : phase.name !== 'streaming' && phase.name !== 'paused'

const isSending = ({ name }: Phase): boolean => name === 'streaming' || name === 'draining'

const reduce = (state: ClientState, input: ClientInput, context: Context): ClientStep => {
  const { phase, handover } = state
  if ('connection' in input) {
    const successor = handover?.successor
    return input.connection === successor?.id
      ? onSuccessor(state, successor, input)
      : onConnection(state, input, context)
  }
  switch (input.type) {
    case 'begin':
      return phase.name === 'idle'
        ? authorize(state, { ...first, isAudioOver: phase.isAudioOver }, 'any', context)
        : { state }
    case 'stop':
      return onStop(state, context)
    case 'audio-over':
      return join([{ do: 'end-audio' }], onAudioOver(state, context))
    case 'drained':
      return phase.name === 'draining' ? finalize(state, context) : { state }
    case 'progress':
      return phase.name === 'draining' ? restartDeadline(state, context) : { state }
    case 'sound':
      return phase.name === 'paused' ? nextRecognition(state, false, phase.isConnected, context) : { state }
    case 'read':
      return onRead(state, input, context)
    case 'retry':
      return phase.name === 'waiting' ? onRetry(state, phase, context) : { state }
    case 'deadline':
      return onDeadline(state, context)
    case 'handover-time':
      return context.facts.hasSentAudio ? openSuccessor(state, input.dueMs, input.endingToken, context) : { state }
    case 'handover-due':
      return handOver(state, context) ?? { state }
    case 'successor-late':
      return { state: { ...state, handover: undefined } }
    case 'gap':
      return { state, outputs: [{ do: 'gap', gap: input.gap }] }
    case 'inactive':
      return { state, outputs: [emit({ type: 'silent', forMs: input.forMs })] }
    case 'update':
      return onUpdate(state, input.update)
    case 'failed':
      return fail(state, input.error)
  }
}

const onConnection = (state: ClientState, input: ConnectionInput, context: Context): ClientStep => {
  const { phase, connection } = state
  switch (input.type) {
    case 'authorized':
      return onAuthorized(state, input.token, context)
    case 'connected':
      if (phase.name !== 'connecting') return { state }
      return advance(state, { ...phase, name: 'starting' }, context, { do: 'start', connection: connection.id })
    case 'message':
      return onMessage(state, input.event, input.signal, context)
    case 'leaving':
      return phase.name === 'streaming' ? hurryHandover(state, context) : { state }
    case 'link-ended':
      return onLinkEnded(state, context)
    case 'token-failed':
      return onLost(state, input.error, context)
    case 'link-failed':
      // A connection failure after all requested finals arrived counts as a normal end.
      return phase.name === 'finalizing' && context.facts.isAnswered
        ? onLinkEnded(state, context)
        : onLost(state, input.error, context)
  }
}

// Steps

const emit = (event: Extract<ClientOutput, { readonly do: 'emit' | 'read' }>['event']): ClientOutput => ({
  do: 'emit',
  event,
})

const announce = (state: AnnouncedState): ClientOutput => emit({ type: 'connection', state })

const join = (first: readonly ClientOutput[], step: ClientStep): ClientStep => ({
  ...step,
  outputs: [...first, ...(step.outputs ?? [])],
})

/** Enters a phase and starts its deadline. */
const enter = (
  state: ClientState,
  phase: Phase,
  context: Context,
  outputs: readonly ClientOutput[] = [],
  effects: readonly ClientEffect[] = [],
): ClientStep => {
  const next = { ...state, phase, wait: state.wait + 1 }
  return { state: next, outputs, effects: [...deadlineOf(next, context), ...effects] }
}

const restartDeadline = (state: ClientState, context: Context): ClientStep => enter(state, state.phase, context)

/** Phases that wait for the service or for a token have a deadline; `waiting` has its delay. */
const deadlineOf = (state: ClientState, { policy }: Context): readonly ClientEffect[] => {
  const { phase } = state
  const wait = (delayMs: number, type: 'retry' | 'deadline'): readonly ClientEffect[] => [
    // The timer keeps the process alive, because nothing else does when a connection breaks without notice.
    { lifetime: lifetimes.wait(state), action: { do: 'wait', delayMs, input: { type }, ref: true } },
  ]
  if (phase.name === 'waiting') return wait(phase.delayMs, 'retry')
  return isWait(phase.name) ? wait(policy.deadlines[phase.name], 'deadline') : []
}

/** The next phase on the way to a connection. It is emitted as a state unless the session has streamed before. */
const advance = (state: ClientState, phase: BeforeStreaming, context: Context, action: ClientAction): ClientStep =>
  enter(state, phase, context, phase.isResuming ? [] : [announce(phase.name)], [
    { lifetime: lifetimes.connection(state.connection.id), action },
  ])

const finalize = (state: ClientState, context: Context): ClientStep => {
  const { id } = state.connection
  return enter(
    withoutHandover(state),
    { name: 'finalizing', isAcknowledged: false },
    context,
    [announce('finalizing'), { do: 'expect-finals' }],
    [{ lifetime: lifetimes.connection(id), action: { do: 'finalize', connection: id } }],
  )
}

const withoutHandover = (state: ClientState): ClientState => ({ ...state, handover: undefined })

const end = (
  state: ClientState,
  phase: { readonly name: 'done' | 'stopped' } | { readonly name: 'failed'; readonly error: SpeechError },
  cause: GapCause,
): ClientStep => ({
  state: { ...state, phase, handover: undefined, pendingFinals: [] },
  outputs: [{ do: 'drop', cause }, announce(phase.name), { do: 'close-ledger' }],
})

/** Emits the pending finals, because no later result can replace them. */
const endWithFinals = (state: ClientState, step: ClientStep): ClientStep =>
  join(
    state.pendingFinals.map((event) => ({ do: 'read', event })),
    step,
  )

/** The service has finished as requested: all audio that was sent has its results, unless a final has an error. */
const finish = (state: ClientState): ClientStep =>
  join(state.pendingFinals.length === 0 ? [{ do: 'settle' }] : [], complete(state, 'ended'))

/** Audio that the service has not confirmed has no result. */
const complete = (state: ClientState, cause: 'ended' | 'silence'): ClientStep =>
  endWithFinals(state, end(state, { name: 'done' }, cause))

const stopped = (state: ClientState): ClientStep => end(state, { name: 'stopped' }, 'stopped')

const fail = (state: ClientState, error: SpeechError): ClientStep =>
  endWithFinals(state, end(state, { name: 'failed', error }, 'failed'))

// Opening a connection

const first = { refusal: undefined, isResuming: false, isReusing: false }

/** Starts another connection with its token. */
const authorize = (
  state: ClientState,
  phase: Omit<BeforeStreaming, 'name'>,
  need: TokenNeed,
  context: Context,
): ClientStep => {
  const id = state.lastId + 1
  const next = { ...state, lastId: id, connection: { id, token: undefined, update: state.update } }
  return advance(next, { ...phase, name: 'authorizing' }, context, { do: 'authorize', connection: id, need })
}

/** Requests a token to replace the refused one of the current connection. */
const renewal = ({ connection }: ClientState): TokenNeed => ({ refused: connection.token?.accessToken })

const onRetry = (state: ClientState, { isAudioOver, refusal }: Waiting, context: Context): ClientStep =>
  authorize(
    state,
    { isAudioOver, refusal, isResuming: true, isReusing: false },
    refusal === undefined ? 'any' : renewal(state),
    context,
  )

const onAuthorized = (
  state: ClientState,
  token: NonNullable<ClientState['connection']['token']>,
  context: Context,
): ClientStep => {
  const { phase, connection } = state
  if (phase.name !== 'authorizing') return { state }
  // The service would refuse the same token again.
  if (phase.refusal !== undefined && !token.fresh) return fail(state, phase.refusal)
  const { id, update } = connection
  const next = { ...state, connection: { ...connection, token } }
  return advance(next, { ...phase, name: 'connecting' }, context, { do: 'dial', connection: id, update })
}

/** Streams on the current connection, beginning with the buffered audio. */
const stream = (state: ClientState, isAudioOver: boolean, context: Context): ClientStep => {
  const { connection, recognition, update, lastId } = state
  const { nowMs } = context.facts
  const name = isAudioOver ? 'draining' : 'streaming'
  // After the end of the audio only results count as progress. Otherwise a service that always ends too early would be retried forever.
  const retries = isAudioOver ? state.retries : { ...state.retries, servesSinceMs: nowMs }
  const planned = planHandover(state, context)
  const next: ClientState = {
    ...state,
    retries,
    hasStreamed: true,
    recognition: { sinceMs: nowMs, isNext: false },
    handover: planned && { id: lastId + 1, successor: undefined },
    lastId: lastId + 1,
  }
  const onConnection = lifetimes.connection(connection.id)
  const effects: ClientEffect[] = []
  if (update !== undefined && update !== connection.update) {
    effects.push({ lifetime: onConnection, action: { do: 'send-update', connection: connection.id, update } })
  }
  if (!state.hasStreamed) effects.push({ lifetime: 'session', action: { do: 'watch-updates' } })
  effects.push({
    lifetime: lifetimes.sending(connection.id),
    action: { do: 'send-audio', connection: connection.id },
  })
  if (planned !== undefined && next.handover !== undefined) {
    effects.push({ lifetime: lifetimes.handover(next.handover), action: planned })
  }
  return enter(next, { name }, context, [{ do: 'begin', isNextRecognition: recognition.isNext }], effects)
}

// Messages of the service

const onMessage = (
  state: ClientState,
  event: Extract<ConnectionInput, { readonly type: 'message' }>['event'],
  signal: ControlSignal | undefined,
  { policy, facts }: Context,
): ClientStep => {
  const { phase } = state
  const isFinal = event.type === 'final'
  const read = (isOnTimeline: boolean): MessageRead => ({ type: 'read', isOnTimeline, isFinal, signal })
  if (isFinal && phase.name !== 'stopping' && facts.isRepeated(event)) {
    return { state, outputs: [{ do: 'activity' }, { do: 'repeated-final', event }] }
  }
  // If another connection may follow, only the way this one ends shows whether this final ends the session.
  if (isFinal && event.error !== undefined && policy.resumption !== undefined) {
    const next = { ...state, pendingFinals: [...state.pendingFinals, event] }
    return { state: next, outputs: [{ do: 'activity' }, { do: 'hold-final', event }], raise: [read(false)] }
  }
  const isRead =
    phase.name === 'stopping'
      ? // The service may still send results after a stop; they are ignored (PROTOCOL 4.2).
        event.type === 'response' || event.type === 'unknown'
      : // Only the answer to the session's first start is emitted.
        !(
          phase.name === 'starting' &&
          state.hasStreamed &&
          signal?.type === 'start-answer' &&
          signal.error === undefined
        )
  return {
    state,
    outputs: isRead ? [{ do: 'activity' }, { do: 'read', event }] : [{ do: 'activity' }],
    raise: [read(isRead)],
  }
}

/** Handles a message after the timeline of results has processed its event. */
const onRead = (state: ClientState, { isOnTimeline, isFinal, signal }: MessageRead, context: Context): ClientStep => {
  const { policy, facts } = context
  const isProgress = isOnTimeline && facts.hasProgress
  const next = isProgress ? { ...state, retries: afterProgress(state.retries) } : state
  if (signal !== undefined) return onSignal(next, signal, context)
  if (isFinal && facts.isFinal && isSending(state.phase) && !policy.isContinuous) return complete(next, 'ended')
  if (!isProgress) return { state: next }
  if (state.phase.name === 'finalizing') return restartDeadline(next, context)
  return handOver(next, context) ?? { state: next }
}

const onSignal = (state: ClientState, { type, error }: ControlSignal, context: Context): ClientStep => {
  const { phase } = state
  switch (type) {
    case 'start-answer':
      if (phase.name !== 'starting') return { state }
      return error === undefined ? stream(state, phase.isAudioOver, context) : onLost(state, error, context)
    case 'finalize-answer':
      return onFinalizeAnswer(state, error, context)
    case 'stop-answer':
      if (phase.name !== 'stopping') return { state }
      return error === undefined ? stopped(state) : fail(state, error)
    case 'session-ended':
      return onSessionEnded(state, error, context)
  }
}

const onFinalizeAnswer = (state: ClientState, error: SpeechError | undefined, context: Context): ClientStep => {
  const { phase } = state
  if (phase.name === 'finalizing') {
    if (error === undefined) return { state: { ...state, phase: { ...phase, isAcknowledged: true } } }
    // The service has ended the recognition by itself and reports that in a separate message.
    return error.code === 'no-recognition' ? { state } : onLost(state, error, context)
  }
  if (phase.name !== 'closing') return { state }
  // Refused because the recognition had already ended: the final and the request crossed.
  return error === undefined ? finish(state) : onRecognitionOver(state, true, true, context)
}

const onSessionEnded = (state: ClientState, error: SpeechError | undefined, context: Context): ClientStep => {
  const { phase } = state
  // The final and the stop crossed: the recognition has already ended.
  if (phase.name === 'stopping') return stopped(state)
  if (error !== undefined) return onLost(state, error, context)
  if (isSending(phase)) return onRecognitionOver(state, phase.name === 'draining', true, context)
  if (phase.name !== 'finalizing') return { state }
  return phase.isAcknowledged ? finish(state) : enter(state, { name: 'closing' }, context)
}

// The end of a recognition

/** A recognition counts as progress if it lasted this long or made this much audio definitive. */
const progressAfterMs = 10_000
const progressOfMs = 200

/** The service has ended a recognition that the client did not finalize. */
const onRecognitionOver = (
  state: ClientState,
  isAudioOver: boolean,
  isConnected: boolean,
  context: Context,
): ClientStep => {
  const { policy, facts } = context
  if (!policy.isContinuous) return complete(state, 'ended')
  if (!facts.hasSound && isAudioOver) return complete(state, 'silence')
  const pause: readonly ClientOutput[] = [{ do: 'continue-after', finals: state.pendingFinals }, { do: 'pause' }]
  const paused: ClientState = {
    ...state,
    handover: undefined,
    pendingFinals: [],
    recognition: { ...state.recognition, isNext: true },
  }
  if (!facts.hasSound) {
    return enter(paused, { name: 'paused', isConnected }, context, pause, [
      { lifetime: 'listening', action: { do: 'listen' } },
    ])
  }
  const hasProgress = facts.nowMs - state.recognition.sinceMs >= progressAfterMs || facts.progressMs >= progressOfMs
  if (hasProgress) return join(pause, nextRecognition(paused, isAudioOver, isConnected, context))
  const error = new SpeechError('connection-lost', 'The service ended the recognition as soon as it had begun.')
  const sending: ClientState = { ...paused, phase: { name: isAudioOver ? 'draining' : 'streaming' } }
  return join([...pause, { do: 'slow', speed: 'as spoken' }], onLost(sending, error, context))
}

const nextRecognition = (
  state: ClientState,
  isAudioOver: boolean,
  isConnected: boolean,
  context: Context,
): ClientStep => {
  const { id } = state.connection
  const phase = { isAudioOver, refusal: undefined, isResuming: true, isReusing: isConnected }
  return isConnected
    ? advance(state, { ...phase, name: 'starting' }, context, { do: 'restart', connection: id })
    : authorize(state, phase, 'any', context)
}

const onAudioOver = (state: ClientState, context: Context): ClientStep => {
  const { phase } = state
  if (phase.name === 'paused') return complete(state, 'silence')
  if ('isAudioOver' in phase) return { state: { ...state, phase: { ...phase, isAudioOver: true } } }
  if (phase.name !== 'streaming') return { state }
  return context.facts.isSent ? finalize(state, context) : enter(state, { name: 'draining' }, context)
}

const onStop = (state: ClientState, context: Context): ClientStep => {
  const { phase } = state
  const { id } = state.connection
  switch (phase.name) {
    case 'stopping':
      return { state }
    case 'closing':
      return join(
        state.pendingFinals.map((event) => ({ do: 'read', event })),
        stopped(state),
      )
    case 'finalizing':
      if (context.policy.finalizeBy === 'half-close') return stopped(state)
      break
    case 'streaming':
    case 'draining':
      break
    default:
      return stopped(state)
  }
  const next = withoutHandover(state)
  return enter(
    next,
    { name: 'stopping' },
    context,
    [{ do: 'drop', cause: 'stopped' }],
    [{ lifetime: lifetimes.connection(id), action: { do: 'stop', connection: id } }],
  )
}

// The end of a connection

const onLinkEnded = (state: ClientState, context: Context): ClientStep => {
  const { phase } = state
  const { policy, facts } = context
  switch (phase.name) {
    case 'stopping':
      return stopped(state)
    case 'closing':
      return finish(state)
    case 'paused':
      return { state: { ...state, phase: { ...phase, isConnected: false } } }
    case 'streaming':
    case 'draining':
    case 'finalizing': {
      if (policy.endsWith !== 'end-of-stream' || !facts.isWhole) return onLost(state, endedEarly(), context)
      // Some services send their finals but no answer to the request.
      const isAnswer =
        phase.name === 'finalizing' && (phase.isAcknowledged || policy.finalizeBy === 'half-close' || facts.isAnswered)
      return isAnswer && !facts.isUnread
        ? finish(state)
        : onRecognitionOver(state, phase.name !== 'streaming', false, context)
    }
    default:
      if (isReusing(phase)) return nextRecognition(state, phase.isAudioOver, false, context)
      return onLost(state, endedUnanswered(), context)
  }
}

const endedEarly = (): SpeechError =>
  new SpeechError('connection-lost', 'The service closed the connection before the final result.')
const endedUnanswered = (): SpeechError =>
  new SpeechError('protocol-violation', 'The service closed the connection without answering the start.')

const isReusing = (phase: Phase): phase is BeforeStreaming => phase.name === 'starting' && phase.isReusing

/** The connection failed to open or broke, or the service ended the session with an error. */
const onLost = (state: ClientState, error: SpeechError, context: Context): ClientStep => {
  const { phase } = state
  if (phase.name === 'paused') return { state: { ...state, phase: { ...phase, isConnected: false } } }
  // This service closes its connection at the end of each recognition.
  if (isReusing(phase) && error.retryable) return nextRecognition(state, phase.isAudioOver, false, context)
  if (isRefusedToken(phase, error, context))
    return authorize(state, { ...phase, refusal: error }, renewal(state), context)
  if (isResumable(phase, error, context)) return reconnect(state, error, context)
  // The final has arrived, so the way the connection ends does not matter.
  return phase.name === 'closing' ? complete(state, 'ended') : fail(state, error)
}

/** After the first refusal of a token, before its connection has streamed, another token is requested. */
const isRefusedToken = (phase: Phase, error: SpeechError, { policy }: Context): phase is BeforeStreaming =>
  error.code === 'unauthenticated' &&
  policy.isTokenRenewable &&
  (phase.name === 'connecting' || phase.name === 'starting') &&
  phase.refusal === undefined

/**
 * Temporary failures: the service is available and speaks the protocol, but has not decided on the request. The first
 * connection is retried only after these; a wrong address or a refused token fails at once (PROTOCOL 5.13).
 */
const laterCodes: ReadonlySet<ErrorCode> = new Set(['overloaded', 'going-away', 'connection-lost', 'too-many-attempts'])

const isResumable = (phase: Phase, error: SpeechError, { policy }: Context): boolean => {
  if (policy.resumption === undefined) return false
  switch (phase.name) {
    case 'authorizing':
    case 'connecting':
    case 'starting':
      return error.retryable && (phase.isResuming || laterCodes.has(error.code))
    case 'streaming':
    case 'draining':
    case 'finalizing':
    case 'closing':
      return error.retryable || (error.code === 'unauthenticated' && policy.isTokenRenewable)
    default:
      return false
  }
}

/** A handover connection that is ready takes over at once; otherwise the session waits for the next attempt. */
const reconnect = (state: ClientState, error: SpeechError, context: Context): ClientStep => {
  const { policy, facts } = context
  const { phase, pendingFinals, handover } = state
  const isOver = isAudioOver(phase)
  const outputs: ClientOutput[] = [{ do: 'continue-after', finals: pendingFinals }, { do: 'report-ledger' }]
  const left: ClientState = {
    ...state,
    pendingFinals: [],
    handover: undefined,
    recognition: { ...state.recognition, isNext: false },
  }
  const successor = handover?.successor
  if (successor?.isReady === true) return join(outputs, stream({ ...left, connection: successor }, isOver, context))
  if (error.code === 'too-fast') outputs.push({ do: 'slow', speed: 'with bursts' })
  const next = policy.resumption && nextAttempt(state.retries, policy.resumption, error, facts.nowMs)
  if (next === undefined) return join(outputs, fail(left, error))
  const { retries, attempt, delayMs } = next
  outputs.push({ do: 'reconnecting', attempt, delayMs, cause: error.code })
  const waiting: Waiting = { name: 'waiting', isAudioOver: isOver, refusal: refusalToRenew(phase, error), delayMs }
  return enter({ ...left, retries }, waiting, context, outputs)
}

/** Whether a token must still be renewed, because the attempt to renew it failed. */
const refusalToRenew = (phase: Phase, error: SpeechError): SpeechError | undefined => {
  if (error.code === 'unauthenticated') return error
  return phase.name === 'authorizing' ? phase.refusal : undefined
}

const deadlineErrors = {
  authorizing: ['token-timeout', 'No token came in time; check the token source.'],
  connecting: [
    'connect-timeout',
    'The service did not accept the connection in time; check the address and the network.',
  ],
  starting: ['start-timeout', 'The service did not answer the start in time; try again or raise timeouts.startMs.'],
  draining: ['finalize-timeout', 'The service stopped taking audio before its end; what was received before stands.'],
  finalizing: ['finalize-timeout', 'The service did not finish in time; what was received before stands.'],
  stopping: ['stop-timeout', 'The service did not confirm the stop in time; nothing more was delivered.'],
  closing: ['finalize-timeout', 'The service did not close in time.'],
} as const satisfies Readonly<Record<Wait, readonly [ErrorCode, string]>>

export const isWait = (name: Phase['name']): name is Wait => name in deadlineErrors

const onDeadline = (state: ClientState, context: Context): ClientStep => {
  const { phase } = state
  if (!isWait(phase.name)) return { state }
  // There is no answer; the final counts as the answer.
  if (phase.name === 'closing') return finish(state)
  const [code, message] = deadlineErrors[phase.name]
  const { pendingFromMs } = context.facts
  const isPending = code === 'finalize-timeout' && pendingFromMs !== undefined
  const error = new SpeechError(code, isPending ? `${message} Pending from ${pendingFromMs} ms.` : message)
  return 'isResuming' in phase && phase.isResuming ? onLost(state, error, context) : fail(state, error)
}

// Handover: the next connection opens while the current one is in use

/** The handover begins this long before the token expires, or a twentieth of the remaining time if that is shorter. */
const maxLeadMs = 60_000

/** The next connection takes over at the latest when this share of the lead time remains. */
const minLead = 1 / 4

/** Within this time, in milliseconds, a connection that has broken fails; one that only received a GOAWAY continues. */
const breaksWithinMs = 100

/** How long a connection may be used after a GOAWAY, in milliseconds. */
const drainAllowanceMs = 3_000

/** When the next connection opens: before the token expires, or before the maximum age of the current connection. */
const planHandover = ({ connection }: ClientState, { policy, facts }: Context): ClientAction | undefined => {
  if (policy.resumption === undefined) return undefined
  const { maxConnectionMs } = policy.resumption
  const tokenMs = (connection.token?.expiresAtMs ?? Infinity) - facts.nowMs
  const leftMs = Math.min(tokenMs, maxConnectionMs)
  if (leftMs <= 0 || leftMs === Infinity) return undefined
  const leadMs = Math.min(maxLeadMs, leftMs / 20)
  return {
    do: 'wait',
    delayMs: leftMs - leadMs,
    ref: false,
    input: {
      type: 'handover-time',
      dueMs: leadMs * (1 - minLead),
      endingToken: tokenMs <= maxConnectionMs ? connection.token?.accessToken : undefined,
    },
  }
}

/** The current connection will end at an unknown time. */
const hurryHandover = (state: ClientState, { policy }: Context): ClientStep => {
  if (policy.resumption === undefined || state.handover?.successor !== undefined) return { state }
  const handover: Handover = { id: state.lastId + 1, successor: undefined }
  const input: ClientInput = { type: 'handover-time', dueMs: drainAllowanceMs, endingToken: undefined }
  const action: ClientAction = { do: 'wait', delayMs: breaksWithinMs, input, ref: false }
  return {
    state: { ...state, lastId: handover.id, handover },
    effects: [{ lifetime: lifetimes.handover(handover), action }],
  }
}

const openSuccessor = (
  state: ClientState,
  dueMs: number,
  endingToken: string | undefined,
  { policy }: Context,
): ClientStep => {
  if (state.handover === undefined) return { state }
  const id = state.lastId + 1
  const successor: Successor = { id, token: undefined, update: state.update, isReady: false, endingToken }
  const handover: Handover = { ...state.handover, successor }
  const { connecting, starting } = policy.deadlines
  const need = endingToken === undefined ? 'any' : 'replacement'
  return {
    state: { ...state, lastId: id, handover },
    effects: [
      {
        lifetime: lifetimes.handover(handover),
        action: { do: 'wait', delayMs: dueMs, input: { type: 'handover-due' }, ref: false },
      },
      {
        lifetime: lifetimes.opening(successor),
        action: { do: 'wait', delayMs: connecting + starting, input: { type: 'successor-late' }, ref: false },
      },
      { lifetime: lifetimes.connection(id), action: { do: 'authorize', connection: id, need } },
    ],
  }
}

/** If the next connection cannot be opened, the current one is used until it ends, and its loss is handled like any other. */
const onSuccessor = (state: ClientState, successor: Successor, input: ConnectionInput): ClientStep => {
  const { id } = successor
  const become = (next: Successor, ...actions: readonly ClientAction[]): ClientStep => ({
    state: { ...state, handover: state.handover && { ...state.handover, successor: next } },
    effects: actions.map((action) => ({ lifetime: lifetimes.connection(id), action })),
  })
  switch (input.type) {
    case 'leaving':
      return { state }
    case 'authorized':
      if (input.token.accessToken === successor.endingToken) return { state: withoutHandover(state) }
      return become({ ...successor, token: input.token }, { do: 'dial', connection: id, update: successor.update })
    case 'connected':
      return become(successor, { do: 'start', connection: id })
    case 'message': {
      const { signal } = input
      if (signal === undefined) return { state }
      const isReady = signal.type === 'start-answer' && signal.error === undefined
      return isReady ? become({ ...successor, isReady }) : { state: withoutHandover(state) }
    }
    default:
      return { state: withoutHandover(state) }
  }
}

/** The next connection takes over when it is ready: at the next progress, where the least audio is sent twice, or when due. */
const handOver = (state: ClientState, context: Context): ClientStep | undefined => {
  const successor = state.handover?.successor
  if (state.phase.name !== 'streaming' || successor?.isReady !== true) return undefined
  const next: ClientState = { ...state, connection: successor, pendingFinals: [] }
  return join([{ do: 'continue-after', finals: state.pendingFinals }], stream(next, false, context))
}

// Updates

const onUpdate = (state: ClientState, update: ClientState['update'] & object): ClientStep => {
  const next = { ...state, update: mergeUpdates(state.update, update) }
  const { id } = state.connection
  if (!isSending(state.phase)) return { state: next }
  const action: ClientAction = { do: 'send-update', connection: id, update }
  return { state: next, effects: [{ lifetime: lifetimes.connection(id), action }] }
}
