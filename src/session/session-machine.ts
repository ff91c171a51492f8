import { SpeechError } from '../errors/speech-error.js'
import type { ErrorCode } from '../errors/error-table.js'
import type { SessionState } from '../protocol/states.js'
import type { Meaning } from './dialogue.js'

/**
 * Where a session stands. `audioOver`: the source has ended, so that finalizing follows once the audio held back is
 * sent. `stopping` waits for the answer to a stop; it has no name on the outside.
 */
export type MachineState =
  | { readonly name: 'idle' }
  | { readonly name: 'authorizing' | 'connecting' | 'starting' | 'streaming'; readonly audioOver: boolean }
  | { readonly name: 'finalizing' | 'stopping' | 'done' | 'stopped' | 'failed' }

export type MachineInput =
  | { readonly type: 'begin' | 'authorized' | 'connected' | 'stop' | 'deadline' | 'link-ended' }
  /** The source has ended and nothing of its audio is held back any more (`drained`), or some is. */
  | { readonly type: 'audio-over'; readonly drained: boolean }
  | { readonly type: 'drained' }
  | { readonly type: 'heard'; readonly meaning: Meaning }
  | { readonly type: 'failed'; readonly error: SpeechError }

/** What the session has to do, in this order. */
export type Command =
  | { readonly do: 'authorize' | 'dial' | 'start' | 'stream' | 'finalize' | 'stop' | 'complete' }
  | { readonly do: 'announce'; readonly state: SessionState }
  | { readonly do: 'fail'; readonly error: SpeechError }

export interface Step {
  readonly state: MachineState
  readonly commands: readonly Command[]
}

/** The life of a session as a pure function. In `done`, `stopped` and `failed` nothing has an effect any more. */
export const step = (state: MachineState, input: MachineInput, endsWith: 'end-of-stream' | 'last-word'): Step => {
  if (state.name === 'done' || state.name === 'stopped' || state.name === 'failed') return stay(state)
  switch (input.type) {
    case 'begin':
      return enter({ name: 'authorizing', audioOver: false }, { do: 'authorize' })
    case 'authorized':
      return next(state, 'authorizing', 'connecting', { do: 'dial' })
    case 'connected':
      return next(state, 'connecting', 'starting', { do: 'start' })
    case 'audio-over':
      return onAudioOver(state, input.drained)
    case 'drained':
      return state.name === 'streaming' && state.audioOver ? finalize : stay(state)
    case 'stop':
      return onStop(state)
    case 'heard':
      return onHeard(state, input.meaning)
    case 'link-ended':
      return onLinkEnded(state, endsWith)
    case 'deadline':
      return fail(deadlineError(state.name))
    case 'failed':
      return fail(input.error)
  }
}

type Open = 'authorizing' | 'connecting' | 'starting' | 'streaming'

const stay = (state: MachineState): Step => ({ state, commands: [] })

const announced = (name: MachineState['name']): readonly Command[] =>
  name === 'stopping' ? [] : [{ do: 'announce', state: name }]

const enter = (state: MachineState, ...commands: readonly Command[]): Step => ({
  state,
  commands: [...announced(state.name), ...commands],
})

const fail = (error: SpeechError): Step => enter({ name: 'failed' }, { do: 'fail', error })

const finalize: Step = enter({ name: 'finalizing' }, { do: 'finalize' })
const done: Step = enter({ name: 'done' }, { do: 'complete' })
const stopped: Step = enter({ name: 'stopped' }, { do: 'complete' })

const next = (state: MachineState, from: Open, to: Open, command: Command): Step =>
  state.name === from && 'audioOver' in state ? enter({ name: to, audioOver: state.audioOver }, command) : stay(state)

const onAudioOver = (state: MachineState, drained: boolean): Step => {
  if (!('audioOver' in state)) return stay(state)
  return state.name === 'streaming' && drained ? finalize : stay({ ...state, audioOver: true })
}

const onStop = (state: MachineState): Step => {
  switch (state.name) {
    case 'streaming':
    case 'finalizing':
      return enter({ name: 'stopping' }, { do: 'stop' })
    case 'stopping':
      return stay(state)
    default:
      return stopped
  }
}

const onHeard = (state: MachineState, meaning: Meaning): Step => {
  switch (meaning.type) {
    case 'start-answer':
      if (state.name !== 'starting') return stay(state)
      if (meaning.error !== undefined) return fail(meaning.error)
      return enter({ name: 'streaming', audioOver: state.audioOver }, { do: 'stream' })
    case 'finalize-answer':
      return state.name === 'finalizing' && meaning.error !== undefined ? fail(meaning.error) : stay(state)
    case 'stop-answer':
      if (state.name !== 'stopping') return stay(state)
      return meaning.error === undefined ? stopped : fail(meaning.error)
    case 'last-word':
      if (state.name !== 'streaming' && state.name !== 'finalizing') return stay(state)
      return meaning.error === undefined ? done : fail(meaning.error)
    case 'none':
      return stay(state)
  }
}

const onLinkEnded = (state: MachineState, endsWith: 'end-of-stream' | 'last-word'): Step => {
  switch (state.name) {
    case 'stopping':
      return stopped
    case 'streaming':
    case 'finalizing':
      if (endsWith === 'end-of-stream') return done
      return fail(new SpeechError('connection-lost', 'The service closed the connection before the final result.'))
    default:
      return fail(
        new SpeechError('protocol-violation', 'The service closed the connection without answering the start.'),
      )
  }
}

const deadlines: Partial<Record<MachineState['name'], readonly [ErrorCode, string]>> = {
  authorizing: ['token-timeout', 'No token came in time; check the token source.'],
  connecting: [
    'connect-timeout',
    'The service did not accept the connection in time; check the address and the network.',
  ],
  starting: ['start-timeout', 'The service did not answer the start in time; try again or raise startTimeoutMs.'],
  finalizing: ['finalize-timeout', 'The service did not finish in time; what was received before stands.'],
  stopping: ['stop-timeout', 'The service did not confirm the stop in time.'],
}

const deadlineError = (name: MachineState['name']): SpeechError => {
  const [code, message] = deadlines[name] ?? ['internal', 'A deadline passed that nobody had set.']
  return new SpeechError(code, message)
}
