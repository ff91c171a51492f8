import { SpeechError } from '../errors/speech-error.js'
import type { ErrorCode } from '../errors/error-table.js'
import type { GapCause } from '../protocol/session-event.js'
import type { AnnouncedState } from '../protocol/states.js'
import type { ControlSignal } from './protocol.js'
import { deadlineError } from './session-deadlines.js'
import type {
  BeforeStreaming,
  Command,
  MachineInput,
  MachineState,
  ProtocolTraits,
  Resting,
  Standing,
  Step,
} from './session-states.js'

/**
 * The life of a session as a pure function. In `done`, `stopped` and `failed` nothing has an effect any more. `standing` is
 * looked at where the service has ended a recognition, and not else.
 */
export const step = (state: MachineState, input: MachineInput, manners: ProtocolTraits, standing: Standing): Step => {
  if (isEnd(state)) return stay(state)
  switch (input.type) {
    case 'begin':
      return onBegin(state)
    case 'retry':
      return onRetry(state)
    // A successor is ready; with the audio at its end there is no need of it.
    case 'succeed':
      return state.name === 'streaming' ? { state, commands: [{ do: 'succeed' }] } : stay(state)
    case 'taken-over':
      return state.name === 'waiting' ? started(state) : stay(state)
    case 'authorized':
      return onAuthorized(state, input.fresh)
    case 'connected':
      return state.name === 'connecting' ? advance({ ...state, name: 'starting' }, { do: 'start' }) : stay(state)
    case 'audio-over':
      return onAudioOver(state, input.drained)
    case 'drained':
      return state.name === 'draining' ? finalizing : stay(state)
    case 'sound':
      return state.name === 'resting' ? nextRecognition(state) : stay(state)
    case 'all-final':
      return isSending(state) && !manners.continuous ? done : stay(state)
    case 'progress':
      return state.name === 'draining' ? { state, commands: [{ do: 'extend' }] } : stay(state)
    case 'stop':
      return onStop(state, manners)
    case 'heard':
      return onHeard(state, input.meaning, manners, standing)
    case 'link-ended':
      return onLinkEnded(state, manners, standing)
    case 'token-failed':
    case 'link-failed':
      return onLost(state, input.error, manners)
    case 'deadline':
      return onDeadline(state, input.pendingFromMs, manners)
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

/** The next step to a connection, which is told by its name unless it is to another one. */
const advance = (state: BeforeStreaming, ...commands: readonly Command[]): Step =>
  state.resuming ? { state, commands } : enter(state, ...commands)

const end = (name: 'done' | 'stopped' | 'failed', cause: GapCause, last: Command): Step => ({
  state: { name },
  commands: [{ do: 'drop', cause }, { do: 'announce', state: name }, last],
})

const after = (first: readonly Command[], { state, commands }: Step): Step => ({
  state,
  commands: [...first, ...commands],
})

const isSending = ({ name }: MachineState): boolean => name === 'streaming' || name === 'draining'

const finalizing: Step = enter({ name: 'finalizing', answered: false }, { do: 'finalize' })
const stopping: Step = { state: { name: 'stopping' }, commands: [{ do: 'drop', cause: 'stopped' }, { do: 'stop' }] }
/** The service has ended what it was asked to end: all that was sent has its results. */
const finished: Step = after([{ do: 'settle' }, { do: 'tell' }], end('done', 'ended', { do: 'complete' }))
/** The service has ended by itself: what it has not confirmed has no result. */
const done: Step = after([{ do: 'tell' }], end('done', 'ended', { do: 'complete' }))
/** The audio is over, and there was nothing more to be heard in it. */
const doneInSilence: Step = after([{ do: 'tell' }], end('done', 'silence', { do: 'complete' }))
const stopped: Step = end('stopped', 'stopped', { do: 'complete' })
const failed = (error: SpeechError): Step => after([{ do: 'tell' }], end('failed', 'failed', { do: 'fail', error }))

const onBegin = (state: MachineState): Step =>
  state.name === 'idle'
    ? advance(
        { name: 'authorizing', audioOver: state.audioOver, refusal: undefined, resuming: false },
        { do: 'authorize' },
      )
    : stay(state)

const onRetry = (state: MachineState): Step =>
  state.name === 'waiting'
    ? advance({ ...state, name: 'authorizing', resuming: true }, { do: state.refusal ? 'renew' : 'authorize' })
    : stay(state)

const onAuthorized = (state: MachineState, fresh: boolean): Step => {
  if (state.name !== 'authorizing') return stay(state)
  // The refused token once more: to present it again could only be refused again.
  if (state.refusal !== undefined && !fresh) return failed(state.refusal)
  return advance({ ...state, name: 'connecting' }, { do: 'dial' })
}

/** The connection was not made or broke, or the service ended the session with an error. */
const onLost = (state: MachineState, error: SpeechError, manners: ProtocolTraits): Step => {
  if (state.name === 'resting') return { state: { ...state, connected: false }, commands: [{ do: 'leave' }] }
  // The service ends its connections with their recognitions.
  if (isReusing(state) && error.retryable) return nextRecognition({ ...state, connected: false })
  if (isRefusedToken(state, error, manners)) {
    return advance({ ...state, name: 'authorizing', refusal: error }, { do: 'renew' })
  }
  // Whatever the connection ends with: the final was there.
  if (!resumes(state, error, manners)) return state.name === 'closing' ? done : failed(error)
  const refusal = error.code === 'unauthenticated' ? error : refusalToRenew(state)
  return { state: { name: 'waiting', audioOver: isAudioOver(state), refusal }, commands: [{ do: 'reconnect', error }] }
}

/** A token is still to be renewed where the attempt to renew it failed. */
const refusalToRenew = (state: MachineState): SpeechError | undefined =>
  state.name === 'authorizing' ? state.refusal : undefined

const isReusing = (state: MachineState): state is BeforeStreaming => state.name === 'starting' && state.reusing === true

/** After the first refusal of a token, before anything was streamed on its connection: another one. */
const isRefusedToken = (
  state: MachineState,
  error: SpeechError,
  { renews }: ProtocolTraits,
): state is BeforeStreaming =>
  error.code === 'unauthenticated' &&
  renews &&
  (state.name === 'connecting' || state.name === 'starting') &&
  state.refusal === undefined

/**
 * Answers that mean "later": whoever gave one is there, speaks the protocol, and has not judged what was asked. A first
 * attempt is repeated after these alone; a wrong address or a refused token fails at once (docs/PROTOCOL.md 5.13).
 */
const laterCodes: ReadonlySet<ErrorCode> = new Set(['overloaded', 'going-away', 'connection-lost', 'too-many-attempts'])

const resumes = (state: MachineState, error: SpeechError, manners: ProtocolTraits): boolean => {
  if (!manners.resumes) return false
  switch (state.name) {
    case 'authorizing':
    case 'connecting':
    case 'starting':
      return error.retryable && (state.resuming || laterCodes.has(error.code))
    case 'streaming':
    case 'draining':
    case 'finalizing':
    case 'closing':
      return error.retryable || (error.code === 'unauthenticated' && manners.renews)
    default:
      return false
  }
}

const isAudioOver = (state: MachineState): boolean =>
  'audioOver' in state ? state.audioOver : state.name !== 'streaming'

const onAudioOver = (state: MachineState, drained: boolean): Step => {
  if (state.name === 'resting') return doneInSilence
  if ('audioOver' in state) return stay({ ...state, audioOver: true })
  if (state.name !== 'streaming') return stay(state)
  return drained ? finalizing : stay({ name: 'draining' })
}

const onStop = (state: MachineState, { finalizeBy }: ProtocolTraits): Step => {
  switch (state.name) {
    case 'streaming':
    case 'draining':
      return stopping
    case 'finalizing':
      return finalizeBy === 'request' ? stopping : stopped
    case 'stopping':
      return stay(state)
    case 'closing':
      return after([{ do: 'tell' }], stopped)
    default:
      return stopped
  }
}

const onHeard = (state: MachineState, meaning: ControlSignal, manners: ProtocolTraits, standing: Standing): Step => {
  const { error } = meaning
  switch (meaning.type) {
    case 'start-answer':
      if (state.name !== 'starting') return stay(state)
      return error === undefined ? started(state) : onLost(state, error, manners)
    case 'finalize-answer':
      return onFinalizeAnswer(state, error, manners, standing)
    case 'stop-answer':
      if (state.name !== 'stopping') return stay(state)
      return error === undefined ? stopped : failed(error)
    case 'last-word':
      return onLastWord(state, error, manners, standing)
  }
}

const onFinalizeAnswer = (
  state: MachineState,
  error: SpeechError | undefined,
  manners: ProtocolTraits,
  standing: Standing,
): Step => {
  switch (state.name) {
    case 'finalizing':
      if (error === undefined) return stay({ ...state, answered: true })
      // The service has ended by itself, and says so in its own time.
      return error.code === 'no-recognition' ? stay(state) : onLost(state, error, manners)
    // Refused, for nothing ran any more: the final was said before the service was asked for it.
    case 'closing':
      return error === undefined ? finished : onRecognitionOver(true, true, manners, standing)
    default:
      return stay(state)
  }
}

/** What was held back goes out now, also where the audio is over. To stream tells `streaming`, or `resumed`. */
const started = ({ audioOver }: Pick<BeforeStreaming, 'audioOver'>): Step => ({
  state: { name: audioOver ? 'draining' : 'streaming' },
  commands: [{ do: 'stream' }],
})

const onLastWord = (
  state: MachineState,
  error: SpeechError | undefined,
  manners: ProtocolTraits,
  standing: Standing,
): Step => {
  // It crossed the stop: nothing runs any more that could be stopped.
  if (state.name === 'stopping') return stopped
  if (error !== undefined) return onLost(state, error, manners)
  switch (state.name) {
    case 'streaming':
    case 'draining':
      return onRecognitionOver(state.name === 'draining', true, manners, standing)
    case 'finalizing':
      return state.answered ? finished : { state: { name: 'closing' }, commands: [] }
    default:
      return stay(state)
  }
}

/** The service has ended a recognition that nobody finalized. */
const onRecognitionOver = (
  audioOver: boolean,
  connected: boolean,
  manners: ProtocolTraits,
  standing: Standing,
): Step => {
  if (!manners.continuous) return done
  const resting: Resting = { name: 'resting', audioOver, connected }
  if (!standing.hasSound) return audioOver ? doneInSilence : { state: resting, commands: [{ do: 'rest' }] }
  if (standing.hasProgress) return after([{ do: 'rest' }], nextRecognition(resting))
  return after(
    [{ do: 'rest' }, { do: 'slow' }],
    onLost(
      { name: audioOver ? 'draining' : 'streaming' },
      new SpeechError('connection-lost', 'The service ended the recognition as soon as it had begun.'),
      manners,
    ),
  )
}

const nextRecognition = ({ audioOver, connected }: Pick<Resting, 'audioOver' | 'connected'>): Step => {
  const begun = { audioOver, refusal: undefined, resuming: true }
  return connected
    ? advance({ name: 'starting', ...begun, reusing: true }, { do: 'restart' })
    : advance({ name: 'authorizing', ...begun }, { do: 'authorize' })
}

const onLinkEnded = (state: MachineState, manners: ProtocolTraits, standing: Standing): Step => {
  switch (state.name) {
    case 'stopping':
      return stopped
    case 'closing':
      return finished
    case 'resting':
      return { state: { ...state, connected: false }, commands: [{ do: 'leave' }] }
    case 'streaming':
    case 'draining':
    case 'finalizing':
      if (manners.endsWith === 'end-of-stream' && standing.isWhole) {
        // Some services say their finals and no answer to the request.
        const isAnswer =
          state.name === 'finalizing' && (state.answered || manners.finalizeBy === 'half-close' || standing.isAnswered)
        return isAnswer && !standing.isUnread
          ? finished
          : onRecognitionOver(isAudioOver(state), false, manners, standing)
      }
      return onLost(
        state,
        new SpeechError('connection-lost', 'The service closed the connection before the final result.'),
        manners,
      )
    default:
      if (isReusing(state)) return nextRecognition({ ...state, connected: false })
      return onLost(
        state,
        new SpeechError('protocol-violation', 'The service closed the connection without answering the start.'),
        manners,
      )
  }
}

const onDeadline = (state: MachineState, pendingFromMs: number | undefined, manners: ProtocolTraits): Step => {
  // No answer comes: the final is taken for it.
  if (state.name === 'closing') return finished
  const error = deadlineError(state.name, pendingFromMs)
  return 'resuming' in state && state.resuming ? onLost(state, error, manners) : failed(error)
}
