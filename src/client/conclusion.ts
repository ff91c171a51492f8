// How a recognition, a connection or the session ends: the table of `endings.ts` is performed here.
import { refusalError } from '../errors/refusal.js'
import { SpeechError } from '../errors/speech-error.js'
import { causeOfClose, causeOfLoss, endingOf, fates, type EndCause, type Fate } from './endings.js'
import { withoutHandover } from './handover.js'
import { isAudioOver, isSending, connectionLifetime } from './lifetimes.js'
import { nextAttempt } from './retries.js'
import type { ClientOutput, ClientState, ClientStep, Context, Phase, Waiting } from './states.js'
import { afterOwnEnd, authorize, end, enter, join, nextRecognition, renewal, stream } from './steps.js'

/** Ends a recognition, a connection or the session as the table defines. `isConnected`: the connection is open. */
export const conclude = (
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
export const onLost = (state: ClientState, error: SpeechError, context: Context): ClientStep =>
  conclude(state, causeOfLoss(state.phase, error, context.policy), context, error)

const isRunning = ({ phase }: ClientState): boolean => isSending(phase) || phase.name === 'finalizing'

/** The error in a final of a running recognition, which is that of the connection if the service sends no other. */
export const failureOf = (state: ClientState): SpeechError | undefined => {
  const error = isRunning(state) ? state.pendingFinals[0]?.error : undefined
  return error === undefined ? undefined : refusalError(error)
}

/** The service closed the connection without an error. */
export const onClosed = (state: ClientState, context: Context): ClientStep => {
  const failed = failureOf(state)
  if (failed !== undefined) return onLost(state, failed, context)
  const error = isRunning(state) ? endedEarly() : endedUnanswered()
  return conclude(state, causeOfClose(state.phase, context.policy, context.snapshot), context, error)
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
