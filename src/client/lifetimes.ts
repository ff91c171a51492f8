import type { ClientState, Handover, Phase, Successor } from './states.js'

// The names of lifetimes. An effect runs as long as its lifetime is alive.

export const connectionLifetime = (id: number): string => `connection:${id}`
/** Audio is sent. */
export const sendingLifetime = (id: number): string => `sending:${id}`
export const handoverLifetime = ({ id }: Handover): string => `handover:${id}`
/** The connection of the handover is opening. */
export const openingLifetime = ({ id }: Successor): string => `opening:${id}`
export const waitLifetime = ({ wait }: ClientState): string => `wait:${wait}`

/** The lifetimes whose effects run in this state. */
export const alive = (state: ClientState): ReadonlySet<string> => {
  const { phase, connection, handover } = state
  const names = new Set<string>()
  if (isEnd(phase)) return names
  names.add('session').add(waitLifetime(state))
  if (!isAudioOver(phase)) names.add('capture')
  if (phase.name === 'paused') names.add('listening')
  if (hasConnection(phase)) names.add(connectionLifetime(connection.id))
  if (isSending(phase)) names.add(sendingLifetime(connection.id))
  if (handover === undefined) return names
  const { successor } = handover
  names.add(handoverLifetime(handover))
  if (successor === undefined) return names
  names.add(connectionLifetime(successor.id))
  if (!successor.isReady) names.add(openingLifetime(successor))
  return names
}

export const isEnd = ({ name }: Phase): boolean => name === 'done' || name === 'stopped' || name === 'failed'

const hasConnection = (phase: Phase): boolean =>
  phase.name === 'paused' ? phase.isConnected : phase.name !== 'idle' && phase.name !== 'waiting'

export const isAudioOver = (phase: Phase): boolean =>
  'isAudioOver' in phase ? phase.isAudioOver : phase.name !== 'streaming' && phase.name !== 'paused'

export const isSending = ({ name }: Phase): boolean => name === 'streaming' || name === 'draining'
