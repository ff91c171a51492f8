import { refusalError } from '../errors/refusal.js'
import { SpeechError } from '../errors/speech-error.js'
import type { Machine, MachineResult } from '../kernel/machine.js'
import type { GapCause, SessionEvent } from '../protocol/session-event.js'
import type { AnnouncedState } from '../protocol/states.js'
import { deadlineError, isWait } from './deadlines.js'
import { causeOfClose, causeOfLoss, endingOf, fates, type EndCause, type Fate } from './endings.js'
import {
  hurryHandover,
  isHandoverReady,
  onSuccessor,
  openSuccessor,
  planHandover,
  withoutHandover,
} from './handover.js'
import {
  alive,
  isAudioOver,
  isEnd,
  isSending,
  connectionLifetime,
  handoverLifetime,
  sendingLifetime,
  waitLifetime,
} from './lifetimes.js'
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
  Context,
  MessageRead,
  ObservedInput,
  Phase,
  ReceiveOutput,
  SessionPolicy,
  TokenNeed,
  Waiting,
} from './states.js'

/** The life of a session. In `done`, `stopped` and `failed` no input has an effect. */
export class ClientMachine implements Machine<ClientState, ObservedInput, ClientOutput, ClientAction> {
  readonly #policy: SessionPolicy

  constructor(policy: SessionPolicy) {
    this.#policy = policy
  }

  get start(): ClientStep {
    return start
  }

  reduce(state: ClientState, input: ObservedInput): ClientStep {
    return isEnd(state.phase) ? { state } : reduce(state, input, this.#policy)
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

const reduce = (state: ClientState, input: ObservedInput, policy: SessionPolicy): ClientStep => {
  if ('connection' in input) {
    const successor = state.handover?.successor
    return input.connection === successor?.id
      ? onSuccessor(state, successor, input)
      : onConnection(state, input, policy)
  }
  const { phase } = state
  switch (input.type) {
    case 'begin':
      return phase.name === 'idle'
        ? authorize(state, { ...firstAttempt, isAudioOver: phase.isAudioOver }, 'any', policy)
        : { state }
    case 'stop':
      return conclude(state, causeOfStop(phase, policy), contextOf(policy, input))
    case 'audio-over':
      return join([{ do: 'end-audio' }], onAudioOver(state, contextOf(policy, input)))
    case 'drained':
      return phase.name === 'draining' ? finalize(state, policy) : { state }
    case 'progress':
      return phase.name === 'draining' ? restartDeadline(state, policy) : { state }
    case 'sound':
      return phase.name === 'paused' ? nextRecognition(state, false, phase.isConnected, policy) : { state }
    case 'read':
      return onRead(state, input, contextOf(policy, input))
    case 'retry':
      return phase.name === 'waiting' ? onRetry(state, phase, policy) : { state }
    case 'deadline':
      return isWait(phase.name) ? onDeadline(state, phase.name, contextOf(policy, input)) : { state }
    case 'handover-time':
      return input.snapshot.hasSentAudio ? openSuccessor(state, input.dueMs, input.endingToken, policy) : { state }
    case 'handover-due':
      return isHandoverReady(state) ? conclude(state, 'handover', contextOf(policy, input)) : { state }
    case 'successor-late':
      return { state: withoutHandover(state) }
    case 'gap':
      return { state, outputs: [{ do: 'gap', gap: input.gap }] }
    case 'inactive':
      return { state, outputs: [emit({ type: 'silent', forMs: input.forMs })] }
    case 'update':
      return onUpdate(state, input)
    case 'failed':
      return conclude(state, 'failed', contextOf(policy, input), input.error)
  }
}

const contextOf = (policy: SessionPolicy, { snapshot }: Pick<Context, 'snapshot'>): Context => ({ policy, snapshot })

const onDeadline = (state: ClientState, wait: Wait, context: Context): ClientStep =>
  conclude(state, 'deadline', context, failureOf(state) ?? deadlineError(wait, context.snapshot.pendingFromMs))

const onConnection = (
  state: ClientState,
  input: Extract<ObservedInput, ConnectionInput>,
  policy: SessionPolicy,
): ClientStep => {
  const { phase, connection } = state
  switch (input.type) {
    case 'authorized':
      return onAuthorized(state, input.token, contextOf(policy, input))
    case 'connected':
      if (phase.name !== 'connecting') return { state }
      return advance(state, { ...phase, name: 'starting' }, policy, { do: 'start', connection: connection.id })
    case 'message':
      return onMessage(state, input.event, input.signal)
    case 'leaving':
      return phase.name === 'streaming' ? hurryHandover(state, policy) : { state }
    case 'link-ended':
      return onClosed(state, contextOf(policy, input))
    case 'token-failed':
      return onLost(state, input.error, contextOf(policy, input))
    case 'link-failed':
      // A connection failure after all requested finals arrived counts as a normal end.
      return phase.name === 'finalizing' && input.snapshot.isAnswered && state.pendingFinals.length === 0
        ? onClosed(state, contextOf(policy, input))
        : onLost(state, input.error, contextOf(policy, input))
  }
}

// Steps

const emit = (event: Extract<ClientOutput, { readonly do: 'emit' | 'read' }>['event']): ClientOutput => ({
  do: 'emit',
  event,
})

const announce = (state: AnnouncedState): ClientOutput => emit({ type: 'connection', state })

const join = (outputs: readonly ClientOutput[], step: ClientStep): ClientStep => ({
  ...step,
  outputs: [...outputs, ...(step.outputs ?? [])],
})

/** Enters a phase and starts its deadline. */
const enter = (
  state: ClientState,
  phase: Phase,
  policy: SessionPolicy,
  outputs: readonly ClientOutput[] = [],
  effects: readonly ClientEffect[] = [],
): ClientStep => {
  const next = { ...state, phase, wait: state.wait + 1 }
  return { state: next, outputs, effects: [...deadlineOf(next, policy), ...effects] }
}

const restartDeadline = (state: ClientState, policy: SessionPolicy): ClientStep => enter(state, state.phase, policy)

/** Phases that wait for the service or for a token have a deadline; `waiting` has its delay. */
const deadlineOf = (state: ClientState, policy: SessionPolicy): readonly ClientEffect[] => {
  const { phase } = state
  const wait = (delayMs: number, type: 'retry' | 'deadline'): readonly ClientEffect[] => [
    // The timer keeps the process alive, because nothing else does when a connection breaks without notice.
    { lifetime: waitLifetime(state), action: { do: 'wait', delayMs, input: { type }, ref: true } },
  ]
  if (phase.name === 'waiting') return wait(phase.delayMs, 'retry')
  return isWait(phase.name) ? wait(policy.deadlines[phase.name], 'deadline') : []
}

/** The next phase on the way to a connection. It is emitted as a state unless the session has streamed before. */
const advance = (state: ClientState, phase: BeforeStreaming, policy: SessionPolicy, action: ClientAction): ClientStep =>
  enter(state, phase, policy, phase.isResuming ? [] : [announce(phase.name)], [
    { lifetime: connectionLifetime(state.connection.id), action },
  ])

const finalize = (state: ClientState, policy: SessionPolicy): ClientStep => {
  const { id } = state.connection
  return enter(
    withoutHandover(state),
    { name: 'finalizing', isAcknowledged: false },
    policy,
    [announce('finalizing'), { do: 'expect-finals' }],
    [{ lifetime: connectionLifetime(id), action: { do: 'finalize', connection: id, by: policy.finalizeBy } }],
  )
}

const end = (
  state: ClientState,
  phase: { readonly name: 'done' | 'stopped' } | { readonly name: 'failed'; readonly error: SpeechError },
  cause: GapCause,
): ClientStep => ({
  state: { ...state, phase, handover: undefined, pendingFinals: [] },
  outputs: [{ do: 'drop', cause }, announce(phase.name), { do: 'close-ledger' }],
})

// Opening a connection

const firstAttempt = { refusal: undefined, isResuming: false, isReusing: false }

/** Starts another connection with its token. */
const authorize = (
  state: ClientState,
  phase: Omit<BeforeStreaming, 'name'>,
  need: TokenNeed,
  policy: SessionPolicy,
): ClientStep => {
  const id = state.lastId + 1
  const next = { ...state, lastId: id, connection: { id, token: undefined, update: state.update } }
  return advance(next, { ...phase, name: 'authorizing' }, policy, { do: 'authorize', connection: id, need })
}

/** Requests a token to replace the refused one of the current connection. */
const renewal = ({ connection }: ClientState): TokenNeed => ({ refused: connection.token?.accessToken })

const onRetry = (state: ClientState, { isAudioOver, refusal }: Waiting, policy: SessionPolicy): ClientStep =>
  authorize(
    state,
    { isAudioOver, refusal, isResuming: true, isReusing: false },
    refusal === undefined ? 'any' : renewal(state),
    policy,
  )

const onAuthorized = (
  state: ClientState,
  token: NonNullable<ClientState['connection']['token']>,
  context: Context,
): ClientStep => {
  const { phase, connection } = state
  if (phase.name !== 'authorizing') return { state }
  // The service would refuse the same token again.
  if (phase.refusal !== undefined && !token.fresh) {
    return conclude(state, 'failed', context, phase.refusal)
  }
  const { id, update } = connection
  const next = { ...state, connection: { ...connection, token } }
  return advance(next, { ...phase, name: 'connecting' }, context.policy, { do: 'dial', connection: id, update })
}

/** Streams on the current connection, beginning with the buffered audio. */
const stream = (state: ClientState, isAudioOver: boolean, context: Context): ClientStep => {
  const { connection, recognition, update, lastId } = state
  const {
    policy,
    snapshot: { nowMs },
  } = context
  const name = isAudioOver ? 'draining' : 'streaming'
  // After the end of the audio only results count as progress. Otherwise a service that always ends too early would be retried forever.
  const retries = isAudioOver ? state.retries : { ...state.retries, servesSinceMs: nowMs }
  const planned = planHandover(state, policy, nowMs)
  const next: ClientState = {
    ...state,
    retries,
    hasStreamed: true,
    recognition: { sinceMs: isAudioOver ? Infinity : nowMs, isNext: false },
    pendingFinals: [],
    handover: planned && { id: lastId + 1, successor: undefined },
    lastId: lastId + 1,
  }
  const onConnection = connectionLifetime(connection.id)
  const effects: ClientEffect[] = []
  if (update !== undefined && update !== connection.update) {
    effects.push({ lifetime: onConnection, action: { do: 'send-update', connection: connection.id, update } })
  }
  if (!state.hasStreamed) effects.push({ lifetime: 'session', action: { do: 'watch-updates' } })
  effects.push({
    lifetime: sendingLifetime(connection.id),
    action: { do: 'send-audio', connection: connection.id },
  })
  if (planned !== undefined && next.handover !== undefined) {
    effects.push({ lifetime: handoverLifetime(next.handover), action: planned })
  }
  return enter(next, { name }, policy, [{ do: 'begin', isNextRecognition: recognition.isNext }], effects)
}

// Messages of the service

const onMessage = (
  state: ClientState,
  event: Extract<ConnectionInput, { readonly type: 'message' }>['event'],
  signal: ControlSignal | undefined,
): ClientStep => ({ state, outputs: [{ do: 'receive', event, signal, as: treatmentOf(state, event, signal) }] })

const treatmentOf = (
  { phase, hasStreamed }: ClientState,
  event: SessionEvent,
  signal: ControlSignal | undefined,
): ReceiveOutput['as'] => {
  // The service may still send results after a stop; they are ignored (PROTOCOL 4.2).
  if (phase.name === 'stopping') return event.type === 'response' || event.type === 'unknown' ? 'read' : 'ignored'
  if (event.type === 'final' && event.error !== undefined) return 'held'
  // Only the answer to the session's first start is emitted.
  const isRestart = phase.name === 'starting' && hasStreamed
  return isRestart && signal?.type === 'start-answer' && signal.error === undefined ? 'ignored' : 'read'
}

/** After a final with an error the connection ends, and says more about it; one that stays open counts as lost. */
const endAfter = (error: string, { connection: { id } }: ClientState, { deadlines }: SessionPolicy): ClientEffect => ({
  lifetime: sendingLifetime(id),
  action: {
    do: 'wait',
    delayMs: deadlines.closing,
    input: { type: 'link-failed', connection: id, error: refusalError(error) },
    ref: true,
  },
})

/** Handles a message after the timeline of results has processed its event. */
const onRead = (state: ClientState, input: MessageRead, context: Context): ClientStep => {
  const { held, signal, hasProgress, isLast } = input
  const { policy } = context
  if (held?.error !== undefined) {
    const next = { ...state, pendingFinals: [...state.pendingFinals, held] }
    if (signal !== undefined) return onSignal(next, signal, context)
    return { state: next, effects: isSending(state.phase) ? [endAfter(held.error, state, policy)] : [] }
  }
  const isRetried = hasProgress && state.retries.attempts > 0
  const next = isRetried ? { ...state, retries: afterProgress(state.retries) } : state
  if (signal !== undefined) return onSignal(next, signal, context)
  if (isLast && isSending(state.phase) && !policy.isContinuous) return conclude(next, 'recognition-over', context)
  if (!hasProgress) return { state: next }
  if (state.phase.name === 'finalizing') return restartDeadline(next, policy)
  return isHandoverReady(next) ? conclude(next, 'handover', context) : { state: next }
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
      return conclude(state, error === undefined ? 'session-ended' : 'failed', context, error)
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
  return conclude(state, error === undefined ? 'answered' : 'recognition-over', context, undefined, true)
}

const onSessionEnded = (state: ClientState, error: SpeechError | undefined, context: Context): ClientStep => {
  const { phase } = state
  // In `stopping` the final and the stop crossed.
  if (error !== undefined && phase.name !== 'stopping') return onLost(state, error, context)
  const isAnswer = phase.name === 'finalizing' && phase.isAcknowledged
  return conclude(state, isAnswer ? 'answered' : 'session-ended', context, undefined, true)
}

// The end of a recognition, a connection or the session

/** Ends a recognition, a connection or the session as the table defines. `isConnected`: the connection is still open. */
const conclude = (
  state: ClientState,
  cause: EndCause,
  context: Context,
  error = endedEarly(),
  isConnected = false,
): ClientStep => {
  const { pendingFinals } = state
  const ending = endingOf(state, cause, context.policy, context.snapshot)
  const failed = isDone(ending) ? pendingFinals[0]?.error : undefined
  // Some speech has no result, so this is not the regular end.
  if (failed !== undefined)
    return join(outputsOf('emit', pendingFinals), perform(state, 'fail', context, refusalError(failed), isConnected))
  return join(
    ending === 'finish' ? [{ do: 'settle' }] : outputsOf(fates[ending], pendingFinals),
    perform(state, ending, context, error, isConnected),
  )
}

const isDone = (ending: keyof typeof fates): boolean =>
  ending === 'finish' || ending === 'complete' || ending === 'silence'

const outputsOf = (fate: Fate, finals: ClientState['pendingFinals']): readonly ClientOutput[] => {
  if (fate === 'emit') return finals.map((event) => ({ do: 'read', event }))
  return fate === 'continue' ? [{ do: 'continue-after', finals }] : []
}

/** The pending finals have been handled. */
const perform = (
  state: ClientState,
  ending: keyof typeof fates,
  context: Context,
  error: SpeechError,
  isConnected: boolean,
): ClientStep => {
  const { phase, connection } = state
  const { policy } = context
  const isOver = isAudioOver(phase)
  switch (ending) {
    case 'stay':
      return { state }
    case 'disconnect':
      return phase.name === 'paused' ? { state: { ...state, phase: { ...phase, isConnected: false } } } : { state }
    case 'renew':
      return 'isResuming' in phase ? authorize(state, { ...phase, refusal: error }, renewal(state), policy) : { state }
    case 'reopen':
      return nextRecognition(state, isOver, false, policy)
    case 'resume':
      return reconnect(state, error, context)
    case 'hand-over':
      return handOver(state, context)
    case 'pause':
      return enter(
        afterOwnEnd(state),
        { name: 'paused', isConnected },
        policy,
        [{ do: 'pause' }],
        [{ lifetime: 'listening', action: { do: 'listen' } }],
      )
    case 'next':
      return join([{ do: 'pause' }], nextRecognition(afterOwnEnd(state), isOver, isConnected, policy))
    case 'retry': {
      const slow: readonly ClientOutput[] = [{ do: 'pause' }, { do: 'slow', speed: 'as spoken' }]
      const sending: ClientState = { ...afterOwnEnd(state), phase: { name: isOver ? 'draining' : 'streaming' } }
      return join(slow, onLost(sending, endedAtOnce(), context))
    }
    case 'close':
      return enter(state, { name: 'closing' }, policy)
    case 'ask':
      return enter(
        withoutHandover(state),
        { name: 'stopping' },
        policy,
        [{ do: 'drop', cause: 'stopped' }],
        [{ lifetime: connectionLifetime(connection.id), action: { do: 'stop', connection: connection.id } }],
      )
    case 'finish':
    case 'complete':
      return end(state, { name: 'done' }, 'ended')
    case 'silence':
      return join([{ do: 'pause' }], end(state, { name: 'done' }, 'silence'))
    case 'stopped':
    case 'stopped-after-final':
      return end(state, { name: 'stopped' }, 'stopped')
    case 'fail':
      return end(state, { name: 'failed', error }, 'failed')
  }
}

const endedEarly = (): SpeechError =>
  new SpeechError('connection-lost', 'The service closed the connection before the final result.')
const endedUnanswered = (): SpeechError =>
  new SpeechError('protocol-violation', 'The service closed without answering the start.')
const endedAtOnce = (): SpeechError => new SpeechError('connection-lost', 'The service ended the recognition at once.')

/** The connection failed to open or broke, or the service ended the session with an error. */
const onLost = (state: ClientState, error: SpeechError, context: Context): ClientStep =>
  conclude(state, causeOfLoss(state.phase, error, context.policy), context, error)

const isRunning = ({ phase }: ClientState): boolean => isSending(phase) || phase.name === 'finalizing'

/** The error in a final of a recognition that runs: it counts as that of the connection if the service says no more about it. */
const failureOf = (state: ClientState): SpeechError | undefined => {
  const error = isRunning(state) ? state.pendingFinals[0]?.error : undefined
  return error === undefined ? undefined : refusalError(error)
}

/** The service closed the connection without an error. */
const onClosed = (state: ClientState, context: Context): ClientStep => {
  const failed = failureOf(state)
  if (failed !== undefined) return onLost(state, failed, context)
  const error = isRunning(state) ? endedEarly() : endedUnanswered()
  return conclude(state, causeOfClose(state.phase, context.policy, context.snapshot), context, error)
}

/** A client that has half-closed the connection can send no request. */
const causeOfStop = (phase: Phase, policy: SessionPolicy): EndCause =>
  phase.name === 'finalizing' && policy.finalizeBy === 'half-close' ? 'stop-unsendable' : 'stop'

/** The service has ended a recognition that the client did not finalize. */
const afterOwnEnd = (state: ClientState): ClientState => ({
  ...state,
  handover: undefined,
  recognition: { ...state.recognition, isNext: true },
})

const nextRecognition = (
  state: ClientState,
  isAudioOver: boolean,
  isConnected: boolean,
  policy: SessionPolicy,
): ClientStep => {
  const { id } = state.connection
  const phase = { isAudioOver, refusal: undefined, isResuming: true, isReusing: isConnected }
  return isConnected
    ? advance(state, { ...phase, name: 'starting' }, policy, { do: 'restart', connection: id })
    : authorize(state, phase, 'any', policy)
}

const onAudioOver = (state: ClientState, context: Context): ClientStep => {
  const { phase } = state
  const { policy, snapshot } = context
  if (phase.name === 'paused') return conclude(state, 'audio-over', context)
  if ('isAudioOver' in phase) return { state: { ...state, phase: { ...phase, isAudioOver: true } } }
  if (phase.name !== 'streaming') return { state }
  return snapshot.isSent ? finalize(state, policy) : enter(state, { name: 'draining' }, policy)
}

/** A handover connection that is ready takes over at once; otherwise the session waits for the next attempt. */
const reconnect = (state: ClientState, error: SpeechError, context: Context): ClientStep => {
  const { policy, snapshot } = context
  const { phase, handover } = state
  const isOver = isAudioOver(phase)
  const outputs: ClientOutput[] = [{ do: 'report-ledger' }]
  const left: ClientState = { ...state, handover: undefined, recognition: { ...state.recognition, isNext: false } }
  const successor = handover?.successor
  if (successor?.isReady === true) return join(outputs, stream({ ...left, connection: successor }, isOver, context))
  if (error.code === 'too-fast') outputs.push({ do: 'slow', speed: 'with bursts' })
  const next = policy.resumption && nextAttempt(state.retries, policy.resumption, error, snapshot.nowMs)
  if (next === undefined) {
    return join([...outputs, ...outputsOf('emit', state.pendingFinals)], end(left, { name: 'failed', error }, 'failed'))
  }
  const { retries, attempt, delayMs } = next
  outputs.push({ do: 'reconnecting', atMs: snapshot.nowMs, event: { attempt, delayMs, cause: error.code } })
  const waiting: Waiting = { name: 'waiting', isAudioOver: isOver, refusal: refusalToRenew(phase, error), delayMs }
  return enter({ ...left, retries }, waiting, policy, outputs)
}

/** Whether a token must still be renewed, because the attempt to renew it failed. */
const refusalToRenew = (phase: Phase, error: SpeechError): SpeechError | undefined => {
  if (error.code === 'unauthenticated') return error
  return phase.name === 'authorizing' ? phase.refusal : undefined
}

const handOver = (state: ClientState, context: Context): ClientStep =>
  stream({ ...state, connection: state.handover?.successor ?? state.connection }, false, context)

// Updates

const onUpdate = (
  state: ClientState,
  { update, sum }: Extract<ClientInput, { readonly type: 'update' }>,
): ClientStep => {
  const next = { ...state, update: sum }
  const { id } = state.connection
  if (!isSending(state.phase)) return { state: next }
  const action: ClientAction = { do: 'send-update', connection: id, update }
  return { state: next, effects: [{ lifetime: connectionLifetime(id), action }] }
}
