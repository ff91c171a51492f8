import { SpeechError } from '../errors/speech-error.js'
import type { ErrorCode } from '../errors/error-table.js'
import type { GapCause } from '../protocol/session-event.js'
import type { AnnouncedState } from '../protocol/states.js'
import type { Ending, Meaning } from './dialogue.js'

/**
 * Where a session stands.
 * - `audioOver`: the source has ended, so that finalizing follows once the audio held back is sent.
 * - `refusal`: the token was refused as unauthenticated and another one is tried; that happens once.
 * - `draining`: as `streaming`, but the source has ended and the link still has to take the rest of the audio.
 * - `stopping`: waits for the answer to a stop.
 * The last two have no name on the outside.
 */
export type MachineState =
  | { readonly name: 'idle'; readonly audioOver: boolean }
  | { readonly name: BeforeStreaming; readonly audioOver: boolean; readonly refusal: SpeechError | undefined }
  | { readonly name: 'streaming' | 'draining' | 'finalizing' | 'stopping' | 'done' | 'stopped' | 'failed' }

export type BeforeStreaming = 'authorizing' | 'connecting' | 'starting'

export type MachineInput =
  | { readonly type: 'begin' | 'connected' | 'drained' | 'progress' | 'stop' | 'deadline' | 'link-ended' }
  /** A token is there; `fresh` unless it is the one that was refused before. */
  | { readonly type: 'authorized'; readonly fresh: boolean }
  /** The source has ended and nothing of its audio is held back any more (`drained`), or some is. */
  | { readonly type: 'audio-over'; readonly drained: boolean }
  | { readonly type: 'heard'; readonly meaning: Meaning }
  /** The connection was not made, or broke. */
  | { readonly type: 'link-failed'; readonly error: SpeechError }
  /** Something of the user's failed: the source, the token source, a signal. */
  | { readonly type: 'failed'; readonly error: SpeechError }

/** What the session has to do, in this order. `extend`: the deadline of the state begins anew. */
export type Command =
  | {
      readonly do: 'authorize' | 'renew' | 'dial' | 'start' | 'stream' | 'finalize' | 'stop' | 'extend' | 'complete'
    }
  | { readonly do: 'announce'; readonly state: AnnouncedState }
  | { readonly do: 'drop'; readonly cause: GapCause }
  | { readonly do: 'fail'; readonly error: SpeechError }

export interface Step {
  readonly state: MachineState
  readonly commands: readonly Command[]
}

/** What the machine has to know of a dialogue and of the token source. */
export interface Manners extends Ending {
  /** Whether the token source may have another token when one is refused. */
  readonly renews: boolean
}

/** The life of a session as a pure function. In `done`, `stopped` and `failed` nothing has an effect any more. */
export const step = (state: MachineState, input: MachineInput, manners: Manners): Step => {
  if (isEnd(state)) return stay(state)
  switch (input.type) {
    case 'begin':
      return onBegin(state)
    case 'authorized':
      return onAuthorized(state, input.fresh)
    case 'connected':
      return state.name === 'connecting' ? enter({ ...state, name: 'starting' }, { do: 'start' }) : stay(state)
    case 'audio-over':
      return onAudioOver(state, input.drained)
    case 'drained':
      return state.name === 'draining' ? finalizing : stay(state)
    case 'progress':
      return state.name === 'draining' ? { state, commands: [{ do: 'extend' }] } : stay(state)
    case 'stop':
      return onStop(state, manners)
    case 'heard':
      return onHeard(state, input.meaning, manners)
    case 'link-ended':
      return onLinkEnded(state, manners)
    case 'link-failed':
      return renewed(state, input.error, manners) ?? failed(input.error)
    case 'deadline':
      return failed(deadlineError(state.name))
    case 'failed':
      return failed(input.error)
  }
}

/** Whether nothing has an effect any more. */
export const isEnd = (state: MachineState): boolean =>
  state.name === 'done' || state.name === 'stopped' || state.name === 'failed'

const stay = (state: MachineState): Step => ({ state, commands: [] })

/** Enters a state that has a name on the outside. */
const enter = (state: MachineState & { readonly name: AnnouncedState }, ...commands: readonly Command[]): Step => ({
  state,
  commands: [{ do: 'announce', state: state.name }, ...commands],
})

const end = (name: 'done' | 'stopped' | 'failed', cause: GapCause, last: Command): Step => ({
  state: { name },
  commands: [{ do: 'drop', cause }, { do: 'announce', state: name }, last],
})

const finalizing: Step = enter({ name: 'finalizing' }, { do: 'finalize' })
const stopping: Step = { state: { name: 'stopping' }, commands: [{ do: 'drop', cause: 'stopped' }, { do: 'stop' }] }
const done: Step = end('done', 'ended', { do: 'complete' })
const stopped: Step = end('stopped', 'stopped', { do: 'complete' })
const failed = (error: SpeechError): Step => end('failed', 'failed', { do: 'fail', error })

const onBegin = (state: MachineState): Step =>
  state.name === 'idle'
    ? enter({ name: 'authorizing', audioOver: state.audioOver, refusal: undefined }, { do: 'authorize' })
    : stay(state)

const onAuthorized = (state: MachineState, fresh: boolean): Step => {
  if (state.name !== 'authorizing') return stay(state)
  // The refused token once more: to present it again could only be refused again.
  if (state.refusal !== undefined && !fresh) return failed(state.refusal)
  return enter({ ...state, name: 'connecting' }, { do: 'dial' })
}

/** After the first refusal of a token, before anything was streamed: another one. */
const renewed = (state: MachineState, error: SpeechError, { renews }: Manners): Step | undefined => {
  if (error.code !== 'unauthenticated' || !renews) return undefined
  if ((state.name !== 'connecting' && state.name !== 'starting') || state.refusal !== undefined) return undefined
  return enter({ ...state, name: 'authorizing', refusal: error }, { do: 'renew' })
}

const onAudioOver = (state: MachineState, drained: boolean): Step => {
  if ('audioOver' in state) return stay({ ...state, audioOver: true })
  if (state.name !== 'streaming') return stay(state)
  return drained ? finalizing : stay({ name: 'draining' })
}

const onStop = (state: MachineState, { finalizeBy }: Manners): Step => {
  switch (state.name) {
    case 'streaming':
    case 'draining':
      return stopping
    case 'finalizing':
      return finalizeBy === 'request' ? stopping : stopped
    case 'stopping':
      return stay(state)
    default:
      return stopped
  }
}

const onHeard = (state: MachineState, meaning: Meaning, manners: Manners): Step => {
  const { error } = meaning
  switch (meaning.type) {
    case 'start-answer':
      if (state.name !== 'starting') return stay(state)
      if (error !== undefined) return renewed(state, error, manners) ?? failed(error)
      // `streaming` is told in either case: what was held back goes out now.
      return {
        state: { name: state.audioOver ? 'draining' : 'streaming' },
        commands: [{ do: 'announce', state: 'streaming' }, { do: 'stream' }],
      }
    case 'finalize-answer':
      return state.name === 'finalizing' && error !== undefined ? failed(error) : stay(state)
    case 'stop-answer':
      if (state.name !== 'stopping') return stay(state)
      return error === undefined ? stopped : failed(error)
    case 'last-word':
      return onLastWord(state, error)
  }
}

const onLastWord = (state: MachineState, error: SpeechError | undefined): Step => {
  // It crossed the stop: nothing runs any more that could be stopped.
  if (state.name === 'stopping') return stopped
  if (error !== undefined) return failed(error)
  return state.name === 'streaming' || state.name === 'draining' || state.name === 'finalizing' ? done : stay(state)
}

const onLinkEnded = (state: MachineState, { endsWith }: Manners): Step => {
  switch (state.name) {
    case 'stopping':
      return stopped
    case 'streaming':
    case 'draining':
    case 'finalizing':
      if (endsWith === 'end-of-stream') return done
      return failed(new SpeechError('connection-lost', 'The service closed the connection before the final result.'))
    default:
      return failed(
        new SpeechError('protocol-violation', 'The service closed the connection without answering the start.'),
      )
  }
}

/** The states that wait for somebody else; `streaming` and `idle` wait for the user only. */
export type Wait = Extract<keyof typeof timeouts, MachineState['name']>

const timeouts = {
  authorizing: ['token-timeout', 'No token came in time; check the token source.'],
  connecting: [
    'connect-timeout',
    'The service did not accept the connection in time; check the address and the network.',
  ],
  starting: ['start-timeout', 'The service did not answer the start in time; try again or raise startTimeoutMs.'],
  draining: ['finalize-timeout', 'The service stopped taking audio before its end; what was received before stands.'],
  finalizing: ['finalize-timeout', 'The service did not finish in time; what was received before stands.'],
  stopping: ['stop-timeout', 'The service did not confirm the stop in time; nothing more was delivered.'],
} as const satisfies Partial<Record<MachineState['name'], readonly [ErrorCode, string]>>

/** Whether a state must not last longer than a deadline. */
export const isWait = (name: MachineState['name']): name is Wait => name in timeouts

const deadlineError = (name: MachineState['name']): SpeechError => {
  const [code, message] = isWait(name) ? timeouts[name] : (['internal', 'A deadline passed that nobody set.'] as const)
  return new SpeechError(code, message)
}
