import { refusalError } from '../errors/refusal.js'
import type { SpeechError } from '../errors/speech-error.js'
import type { Machine, MachineResult } from '../kernel/machine.js'
import type { SessionEvent } from '../protocol/session-event.js'
import { conclude, failureOf, onClosed, onLost } from './conclusion.js'
import { deadlineError, isWait } from './deadlines.js'
import type { EndCause } from './endings.js'
import { hurryHandover, isHandoverReady, onSuccessor, openSuccessor, withoutHandover } from './handover.js'
import { alive, isEnd, isSending, connectionLifetime, sendingLifetime } from './lifetimes.js'
import type { ControlSignal } from './protocol.js'
import type { Wait } from './settings.js'
import { afterProgress, noRetries } from './retries.js'
import type {
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
  Waiting,
} from './states.js'
import {
  advance,
  authorize,
  emit,
  enter,
  finalize,
  join,
  nextRecognition,
  renewal,
  restartDeadline,
  stream,
} from './steps.js'

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

const firstAttempt = { refusal: undefined, isResuming: false, isReusing: false }

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

/** No final so far is the requested one. */
const crossed: ClientOutput = { do: 'expect-finals' }

const onFinalizeAnswer = (state: ClientState, error: SpeechError | undefined, context: Context): ClientStep => {
  const { phase } = state
  if (phase.name === 'finalizing') {
    const isAcknowledged = error === undefined
    if (isAcknowledged)
      return { state: { ...state, phase: { ...phase, isAcknowledged } }, outputs: [{ do: 'confirm-finals' }] }
    // The service has ended the recognition by itself and reports that in a separate message.
    return error.code === 'no-recognition' ? { state, outputs: [crossed] } : onLost(state, error, context)
  }
  if (phase.name !== 'closing') return { state }
  // Refused because the recognition had already ended: the final and the request crossed.
  return error === undefined
    ? conclude(state, 'answered', context, undefined, true)
    : join([crossed], conclude(state, 'recognition-over', context, undefined, true))
}

const onSessionEnded = (state: ClientState, error: SpeechError | undefined, context: Context): ClientStep => {
  const { phase } = state
  // In `stopping` the final and the stop crossed.
  if (error !== undefined && phase.name !== 'stopping') return onLost(state, error, context)
  const isAnswer = phase.name === 'finalizing' && phase.isAcknowledged
  return conclude(state, isAnswer ? 'answered' : 'session-ended', context, undefined, true)
}

/** A client that has half-closed the connection can send no request. */
const causeOfStop = (phase: Phase, policy: SessionPolicy): EndCause =>
  phase.name === 'finalizing' && policy.finalizeBy === 'half-close' ? 'stop-unsendable' : 'stop'

const onAudioOver = (state: ClientState, context: Context): ClientStep => {
  const { phase } = state
  const { policy, snapshot } = context
  if (phase.name === 'paused') return conclude(state, 'audio-over', context)
  if ('isAudioOver' in phase) return { state: { ...state, phase: { ...phase, isAudioOver: true } } }
  if (phase.name !== 'streaming') return { state }
  return snapshot.isSent ? finalize(state, policy) : enter(state, { name: 'draining' }, policy)
}

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
