import { refusalError } from '../errors/refusal.js'
import { SpeechError } from '../errors/speech-error.js'
import type { Machine, MachineResult } from '../kernel/machine.js'
import type { GapCause } from '../protocol/session-event.js'
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
  Phase,
  SessionFacts,
  SessionPolicy,
  TokenNeed,
  Waiting,
} from './states.js'

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
        ? authorize(state, { ...firstAttempt, isAudioOver: phase.isAudioOver }, 'any', context)
        : { state }
    case 'stop':
      return conclude(state, causeOfStop(phase, context), context)
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
      return isWait(phase.name) ? conclude(state, 'deadline', context, deadlineError(phase.name, context)) : { state }
    case 'handover-time':
      return context.facts.hasSentAudio ? openSuccessor(state, input.dueMs, input.endingToken, context) : { state }
    case 'handover-due':
      return isHandoverReady(state) ? conclude(state, 'handover', context) : { state }
    case 'successor-late':
      return { state: { ...state, handover: undefined } }
    case 'gap':
      return { state, outputs: [{ do: 'gap', gap: input.gap }] }
    case 'inactive':
      return { state, outputs: [emit({ type: 'silent', forMs: input.forMs })] }
    case 'update':
      return onUpdate(state, input)
    case 'failed':
      return conclude(state, 'failed', context, input.error)
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
      return onClosed(state, context)
    case 'token-failed':
      return onLost(state, input.error, context)
    case 'link-failed':
      // A connection failure after all requested finals arrived counts as a normal end.
      return phase.name === 'finalizing' && context.facts.isAnswered && state.pendingFinals.length === 0
        ? onClosed(state, context)
        : onLost(state, input.error, context)
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
    { lifetime: waitLifetime(state), action: { do: 'wait', delayMs, input: { type }, ref: true } },
  ]
  if (phase.name === 'waiting') return wait(phase.delayMs, 'retry')
  return isWait(phase.name) ? wait(policy.deadlines[phase.name], 'deadline') : []
}

/** The next phase on the way to a connection. It is emitted as a state unless the session has streamed before. */
const advance = (state: ClientState, phase: BeforeStreaming, context: Context, action: ClientAction): ClientStep =>
  enter(state, phase, context, phase.isResuming ? [] : [announce(phase.name)], [
    { lifetime: connectionLifetime(state.connection.id), action },
  ])

const finalize = (state: ClientState, context: Context): ClientStep => {
  const { id } = state.connection
  return enter(
    withoutHandover(state),
    { name: 'finalizing', isAcknowledged: false },
    context,
    [announce('finalizing'), { do: 'expect-finals' }],
    [{ lifetime: connectionLifetime(id), action: { do: 'finalize', connection: id, by: context.policy.finalizeBy } }],
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
  if (phase.refusal !== undefined && !token.fresh) {
    return conclude(state, 'failed', context, phase.refusal)
  }
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
  if (isFinal && phase.name !== 'stopping' && facts.isRepeated(event)) {
    return { state, outputs: [{ do: 'repeated-final', event }] }
  }
  if (isFinal && event.error !== undefined) {
    const next = { ...state, pendingFinals: [...state.pendingFinals, event] }
    const read: MessageRead = { type: 'read', isOnTimeline: false, isFinal, signal }
    const effects = isSending(phase) ? [endAfter(event.error, state, policy)] : []
    return { state: next, outputs: [{ do: 'hold-final', event }], effects, raise: [read] }
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
  const outputs: readonly ClientOutput[] | undefined = isRead ? [{ do: 'read', event }] : undefined
  // A partial changes nothing: it makes no audio definitive and ends nothing.
  if (event.type === 'partial') return { state, outputs }
  return { state, outputs, raise: [{ type: 'read', isOnTimeline: isRead, isFinal, signal }] }
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
const onRead = (state: ClientState, { isOnTimeline, isFinal, signal }: MessageRead, context: Context): ClientStep => {
  const { policy, facts } = context
  const isProgress = isOnTimeline && facts.hasProgress
  const isRetried = isProgress && state.retries.attempts > 0
  const next = isRetried ? { ...state, retries: afterProgress(state.retries) } : state
  if (signal !== undefined) return onSignal(next, signal, context)
  if (isFinal && facts.isFinal && isSending(state.phase) && !policy.isContinuous) {
    return conclude(next, 'recognition-over', context)
  }
  if (!isProgress) return { state: next }
  if (state.phase.name === 'finalizing') return restartDeadline(next, context)
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
  const ending = endingOf(state, cause, context.policy, context.facts)
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
  const isOver = isAudioOver(phase)
  switch (ending) {
    case 'stay':
      return { state }
    case 'disconnect':
      return phase.name === 'paused' ? { state: { ...state, phase: { ...phase, isConnected: false } } } : { state }
    case 'renew':
      return 'isResuming' in phase ? authorize(state, { ...phase, refusal: error }, renewal(state), context) : { state }
    case 'reopen':
      return nextRecognition(state, isOver, false, context)
    case 'resume':
      return reconnect(state, error, context)
    case 'hand-over':
      return handOver(state, context)
    case 'pause':
      return enter(
        afterOwnEnd(state),
        { name: 'paused', isConnected },
        context,
        [{ do: 'pause' }],
        [{ lifetime: 'listening', action: { do: 'listen' } }],
      )
    case 'next':
      return join([{ do: 'pause' }], nextRecognition(afterOwnEnd(state), isOver, isConnected, context))
    case 'retry': {
      const slow: readonly ClientOutput[] = [{ do: 'pause' }, { do: 'slow', speed: 'as spoken' }]
      const sending: ClientState = { ...afterOwnEnd(state), phase: { name: isOver ? 'draining' : 'streaming' } }
      return join(slow, onLost(sending, endedAtOnce(), context))
    }
    case 'close':
      return enter(state, { name: 'closing' }, context)
    case 'ask':
      return enter(
        withoutHandover(state),
        { name: 'stopping' },
        context,
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

/** The service closed the connection without an error; one in a final counts as that of the connection. */
const onClosed = (state: ClientState, context: Context): ClientStep => {
  const isRunning = isSending(state.phase) || state.phase.name === 'finalizing'
  const failed = isRunning ? state.pendingFinals[0]?.error : undefined
  if (failed !== undefined) return onLost(state, refusalError(failed), context)
  const error = isRunning ? endedEarly() : endedUnanswered()
  return conclude(state, causeOfClose(state.phase, context.policy, context.facts), context, error)
}

/** A client that has half-closed the connection can send no request. */
const causeOfStop = (phase: Phase, { policy }: Context): EndCause =>
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
  if (phase.name === 'paused') return conclude(state, 'audio-over', context)
  if ('isAudioOver' in phase) return { state: { ...state, phase: { ...phase, isAudioOver: true } } }
  if (phase.name !== 'streaming') return { state }
  return context.facts.isSent ? finalize(state, context) : enter(state, { name: 'draining' }, context)
}

/** A handover connection that is ready takes over at once; otherwise the session waits for the next attempt. */
const reconnect = (state: ClientState, error: SpeechError, context: Context): ClientStep => {
  const { policy, facts } = context
  const { phase, handover } = state
  const isOver = isAudioOver(phase)
  const outputs: ClientOutput[] = [{ do: 'report-ledger' }]
  const left: ClientState = { ...state, handover: undefined, recognition: { ...state.recognition, isNext: false } }
  const successor = handover?.successor
  if (successor?.isReady === true) return join(outputs, stream({ ...left, connection: successor }, isOver, context))
  if (error.code === 'too-fast') outputs.push({ do: 'slow', speed: 'with bursts' })
  const next = policy.resumption && nextAttempt(state.retries, policy.resumption, error, facts.nowMs)
  if (next === undefined) {
    return join([...outputs, ...outputsOf('emit', state.pendingFinals)], end(left, { name: 'failed', error }, 'failed'))
  }
  const { retries, attempt, delayMs } = next
  outputs.push({ do: 'reconnecting', event: { attempt, delayMs, cause: error.code } })
  const waiting: Waiting = { name: 'waiting', isAudioOver: isOver, refusal: refusalToRenew(phase, error), delayMs }
  return enter({ ...left, retries }, waiting, context, outputs)
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
