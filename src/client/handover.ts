import { connectionLifetime, handoverLifetime, openingLifetime } from './lifetimes.js'
import type {
  ClientAction,
  ClientInput,
  ClientState,
  ClientStep,
  ConnectionInput,
  Handover,
  SessionPolicy,
  Successor,
} from './states.js'
import { renewalLeadMs } from './token.js'

// The next connection opens while the current one is in use, and then takes over.

/** The next connection takes over at the latest when this share of `renewalLeadMs` remains. */
const minLead = 1 / 4

/** Within this time, in milliseconds, a connection that has broken fails; one that only received a GOAWAY continues. */
const breaksWithinMs = 100

/** How long a connection may be used after a GOAWAY, in milliseconds. */
const drainAllowanceMs = 3_000

/** When the next connection opens: before the token expires, or before the maximum age of the current connection. */
export const planHandover = (
  { connection }: ClientState,
  policy: SessionPolicy,
  nowMs: number,
): ClientAction | undefined => {
  if (policy.resumption === undefined) return undefined
  const { maxConnectionMs } = policy.resumption
  const tokenMs = (connection.token?.expiresAtMs ?? Infinity) - nowMs
  const leftMs = Math.min(tokenMs, maxConnectionMs)
  if (leftMs <= 0 || leftMs === Infinity) return undefined
  const leadMs = renewalLeadMs(leftMs)
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
export const hurryHandover = (state: ClientState, policy: SessionPolicy): ClientStep => {
  if (policy.resumption === undefined || state.handover?.successor !== undefined) return { state }
  const handover: Handover = { id: state.lastId + 1, successor: undefined }
  const input: ClientInput = { type: 'handover-time', dueMs: drainAllowanceMs, endingToken: undefined }
  const action: ClientAction = { do: 'wait', delayMs: breaksWithinMs, input, ref: false }
  return {
    state: { ...state, lastId: handover.id, handover },
    effects: [{ lifetime: handoverLifetime(handover), action }],
  }
}

export const openSuccessor = (
  state: ClientState,
  dueMs: number,
  endingToken: string | undefined,
  policy: SessionPolicy,
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
        lifetime: handoverLifetime(handover),
        action: { do: 'wait', delayMs: dueMs, input: { type: 'handover-due' }, ref: false },
      },
      {
        lifetime: openingLifetime(successor),
        action: { do: 'wait', delayMs: connecting + starting, input: { type: 'successor-late' }, ref: false },
      },
      { lifetime: connectionLifetime(id), action: { do: 'authorize', connection: id, need } },
    ],
  }
}

/** If the next connection cannot be opened, the current one is used until it ends, and then resumed as usual. */
export const onSuccessor = (state: ClientState, successor: Successor, input: ConnectionInput): ClientStep => {
  const { id } = successor
  const become = (next: Successor, ...actions: readonly ClientAction[]): ClientStep => ({
    state: { ...state, handover: state.handover && { ...state.handover, successor: next } },
    effects: actions.map((action) => ({ lifetime: connectionLifetime(id), action })),
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

/** A ready connection takes over at the next progress, where the least audio is sent twice, or when due. */
export const isHandoverReady = ({ phase, handover }: ClientState): boolean =>
  phase.name === 'streaming' && handover?.successor?.isReady === true

export const withoutHandover = (state: ClientState): ClientState => ({ ...state, handover: undefined })
