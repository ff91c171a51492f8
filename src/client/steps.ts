// The steps that inputs of every kind lead to: entering a phase, opening a connection, streaming, finalizing, the end.
import type { SpeechError } from '../errors/speech-error.js'
import type { GapCause } from '../protocol/session-event.js'
import type { AnnouncedState } from '../protocol/states.js'
import { isWait } from './deadlines.js'
import { planHandover, withoutHandover } from './handover.js'
import { connectionLifetime, handoverLifetime, sendingLifetime, waitLifetime } from './lifetimes.js'
import type {
  BeforeStreaming,
  ClientAction,
  ClientEffect,
  ClientOutput,
  ClientState,
  ClientStep,
  Context,
  Phase,
  SessionPolicy,
  TokenNeed,
} from './states.js'

export const emit = (event: Extract<ClientOutput, { readonly do: 'emit' | 'read' }>['event']): ClientOutput => ({
  do: 'emit',
  event,
})

export const announce = (state: AnnouncedState): ClientOutput => emit({ type: 'connection', state })

export const join = (outputs: readonly ClientOutput[], step: ClientStep): ClientStep => ({
  ...step,
  outputs: [...outputs, ...(step.outputs ?? [])],
})

/** Enters a phase and starts its deadline. */
export const enter = (
  state: ClientState,
  phase: Phase,
  policy: SessionPolicy,
  outputs: readonly ClientOutput[] = [],
  effects: readonly ClientEffect[] = [],
): ClientStep => {
  const next = { ...state, phase, wait: state.wait + 1 }
  return { state: next, outputs, effects: [...deadlineOf(next, policy), ...effects] }
}

export const restartDeadline = (state: ClientState, policy: SessionPolicy): ClientStep =>
  enter(state, state.phase, policy)

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
export const advance = (
  state: ClientState,
  phase: BeforeStreaming,
  policy: SessionPolicy,
  action: ClientAction,
): ClientStep =>
  enter(state, phase, policy, phase.isResuming ? [] : [announce(phase.name)], [
    { lifetime: connectionLifetime(state.connection.id), action },
  ])

/** Starts another connection with its token. */
export const authorize = (
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
export const renewal = ({ connection }: ClientState): TokenNeed => ({ refused: connection.token?.accessToken })

/** Streams on the current connection, beginning with the buffered audio. */
export const stream = (state: ClientState, isAudioOver: boolean, context: Context): ClientStep => {
  const { connection, recognition, update, lastId } = state
  const {
    policy,
    snapshot: { nowMs },
  } = context
  const name = isAudioOver ? 'draining' : 'streaming'
  // After the end of the audio only results are progress; else a service that always ends early is retried forever.
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

/** The service has ended a recognition that the client did not finalize. */
export const afterOwnEnd = (state: ClientState): ClientState => ({
  ...state,
  handover: undefined,
  recognition: { ...state.recognition, isNext: true },
})

export const nextRecognition = (
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

export const finalize = (state: ClientState, policy: SessionPolicy): ClientStep => {
  const { id } = state.connection
  return enter(
    withoutHandover(state),
    { name: 'finalizing', isAcknowledged: false },
    policy,
    [
      announce('finalizing'),
      { do: 'expect-finals' },
      ...(policy.finalizeBy === 'half-close' ? [{ do: 'confirm-finals' } as const] : []),
    ],
    [{ lifetime: connectionLifetime(id), action: { do: 'finalize', connection: id, by: policy.finalizeBy } }],
  )
}

export const end = (
  state: ClientState,
  phase: { readonly name: 'done' | 'stopped' } | { readonly name: 'failed'; readonly error: SpeechError },
  cause: GapCause,
): ClientStep => ({
  state: { ...state, phase, handover: undefined, pendingFinals: [] },
  outputs: [{ do: 'drop', cause }, announce(phase.name), { do: 'close-ledger' }],
})
