import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { Machine, MachineResult, Step as MachineStep } from 'rxspeech/internal/kernel/machine'
import type {
  RecognizeRequest,
  RecognizerMessage,
  RecognizerRequestName,
} from 'rxspeech/internal/protocol/recognizer-messages'
import {
  drainAtPause,
  lateResults,
  nextMessage,
  wait,
  type ClientMessage as CommonMessage,
  type CommonAction,
  type CommonInput,
  type CommonOutput,
  type End,
  type Timeout,
} from '../sessions/conversation.js'
import type { ClientRequest } from './protocol.js'
import type { RecognitionSession } from './recognition-session.js'

/**
 * The states of a recognition socket (PROTOCOL 6). `idle` is after a recognition, where late audio is ignored; in
 * `opened`, before the first one, it is refused.
 */
export type RecognizerState =
  | { readonly name: 'opened' | 'idle' }
  | { readonly name: 'started'; readonly before: 'opened' | 'idle' }
  | {
      readonly name: 'running'
      readonly recognition: RecognitionSession
      readonly isDraining: boolean
      /** False once the recognition has ended itself, while its last results are still to come. */
      readonly isTakingAudio: boolean
    }
  | { readonly name: 'flushing'; readonly recognition: RecognitionSession; readonly isDraining: boolean }
  | { readonly name: 'ended'; readonly result: MachineResult }

type Live = Exclude<RecognizerState, { readonly name: 'ended' }>
type Active = Extract<RecognizerState, { readonly recognition: RecognitionSession }>

/** The causes that can end a connection. */
export type EndCause = keyof typeof endings

/**
 * - `stay`: the connection continues
 * - `close`: the socket closes without a further message
 * - `refuse`: the `recognize` gets its response with the error, then the socket closes
 * - `final`: the recognition gets its one `final-result` with the error, then the socket closes
 * - `gone`: the session is reported as ended by its client's disconnect
 */
type Ending = 'stay' | 'close' | 'refuse' | 'final' | 'gone'

/**
 * How the socket ends, by cause and state. The close code is that of the error (docs/ERRORS.md), or 1000 for a cause
 * without one.
 */
export const endings = {
  'client-left': { opened: 'close', started: 'close', running: 'gone', flushing: 'gone', idle: 'close' },
  'idle-timeout': { opened: 'close', started: 'stay', running: 'stay', flushing: 'stay', idle: 'close' },
  drain: { opened: 'close', started: 'refuse', running: 'stay', flushing: 'stay', idle: 'close' },
  revoked: { opened: 'close', started: 'refuse', running: 'final', flushing: 'final', idle: 'close' },
  unreadable: { opened: 'close', started: 'close', running: 'final', flushing: 'final', idle: 'close' },
  'too-many-requests': { opened: 'close', started: 'close', running: 'final', flushing: 'final', idle: 'close' },
  'early-audio': { opened: 'close', started: 'stay', running: 'stay', flushing: 'stay', idle: 'stay' },
  'refused-audio': { opened: 'stay', started: 'stay', running: 'final', flushing: 'stay', idle: 'stay' },
  'recognition-failed': { opened: 'stay', started: 'stay', running: 'final', flushing: 'final', idle: 'stay' },
  'flush-timeout': { opened: 'stay', started: 'stay', running: 'stay', flushing: 'final', idle: 'stay' },
  fault: { opened: 'close', started: 'close', running: 'final', flushing: 'final', idle: 'close' },
} as const satisfies Readonly<Record<string, Readonly<Record<Live['name'], Ending>>>>

export type ClientMessage = CommonMessage<ClientRequest>

export type RecognizerInput =
  | CommonInput<ClientRequest>
  | { readonly type: 'ready'; readonly recognition: RecognitionSession }
  | { readonly type: 'not-ready'; readonly error: SpeechError }
  /** The recognition takes no more audio. */
  | { readonly type: 'audio-closed' }
  /** The recognition ended normally. */
  | { readonly type: 'recognition-ended'; readonly final: RecognizerMessage | undefined }
  | End<EndCause>

export type RecognizerOutput =
  | {
      readonly type: 'response'
      readonly request: RecognizerRequestName
      readonly recognitionId: string
      readonly error?: SpeechError | undefined
    }
  | { readonly type: 'final'; readonly message: RecognizerMessage }
  /** The final of an aborted recognition. */
  | { readonly type: 'failure'; readonly recognition: RecognitionSession; readonly error: SpeechError }
  | CommonOutput<RecognitionSession>

export type RecognizerAction =
  | CommonAction<RecognitionSession>
  | { readonly type: 'open'; readonly request: RecognizeRequest }
  | { readonly type: 'run'; readonly session: RecognitionSession }

type Step = MachineStep<RecognizerState, RecognizerOutput, RecognizerAction>

/** No recognition runs; the next one must begin within `idleMs`. */
const rest = (name: 'opened' | 'idle', outputs: readonly RecognizerOutput[] = []): Step => ({
  state: { name },
  outputs,
  effects: [wait(name, 'idle')],
})

const start = (before: 'opened' | 'idle', request: RecognizeRequest): Step => ({
  state: { name: 'started', before },
  effects: [wait('started', 'open'), { lifetime: 'started', action: { type: 'open', request } }],
})

const run = (recognition: RecognitionSession): Step => ({
  state: { name: 'running', recognition, isDraining: false, isTakingAudio: true },
  outputs: [{ type: 'started', session: recognition }, response('recognize', recognition.recognitionId)],
  effects: [
    { lifetime: 'running', action: { type: 'take-audio', session: recognition } },
    wait('running', 'session'),
    { lifetime: 'recognition', action: { type: 'run', session: recognition } },
  ],
})

const flush = ({ recognition, isDraining }: Active, outputs: readonly RecognizerOutput[] = []): Step => ({
  state: { name: 'flushing', recognition, isDraining },
  outputs: [...outputs, { type: 'flushing' }],
  effects: [wait('flushing', 'flush'), { lifetime: 'recognition', action: { type: 'finish', session: recognition } }],
})

/** A recognition has ended, and another may follow unless the service closes. */
const leave = ({ isDraining }: Active, outputs: readonly RecognizerOutput[]): Step =>
  isDraining ? { state: { name: 'ended', result: { error: goingAway() } }, outputs } : rest('idle', outputs)

const drain = (state: Live, pauseWithinMs: number): Step => {
  if (state.name === 'flushing') return { state: { ...state, isDraining: true } }
  if (state.name !== 'running') return end(state, { type: 'end', cause: 'drain', error: goingAway() })
  const draining = { ...state, isDraining: true }
  if (pauseWithinMs <= 0) return flush(draining)
  return { state: draining, effects: drainAtPause(state.recognition, pauseWithinMs) }
}

const timeout = (state: Live, which: Timeout): Step => {
  switch (which) {
    case 'start':
      return { state }
    case 'idle':
      return end(state, { type: 'end', cause: 'idle-timeout' })
    case 'open':
      return state.name === 'started' ? notReady(state.before, lateOpening(), true) : { state }
    case 'session':
    case 'pause':
      return state.name === 'running' ? flush(state) : { state }
    case 'flush': {
      if (state.name !== 'flushing') return { state }
      const error = lateResults()
      const step = end(state, { type: 'end', cause: 'flush-timeout', error })
      return { ...step, outputs: [{ type: 'fault', error }, ...(step.outputs ?? [])] }
    }
  }
}

const notReady = (before: 'opened' | 'idle', error: SpeechError, isFault = false): Step =>
  rest(before, [...(isFault ? [{ type: 'fault', error } as const] : []), ...refusal('recognize', '', error)])

/** Refuses a request; the connection continues. */
const decline = (state: Live, error: SpeechError, request: RecognizerRequestName, recognitionId = ''): Step => ({
  state,
  outputs: refusal(request, recognitionId, error),
})

const handleMessage = (state: Live, message: ClientMessage): Step => {
  if (message.type === 'audio') return end(state, { type: 'end', cause: 'early-audio', error: earlyAudio() })
  if (message.type === 'end') return end(state, message)
  const isActive = 'recognition' in state
  const request = message.type === 'invalid-request' ? message.request : message.type
  // Requests that end a recognition are accepted as long as the connection is open.
  if (message.excess !== undefined && !(isActive && request !== 'recognize')) {
    return decline(state, message.excess, request)
  }
  switch (message.type) {
    case 'recognize':
      if (state.name === 'opened' || state.name === 'idle') return start(state.name, message.request)
      return decline(state, alreadyStarted(), 'recognize')
    case 'stop-recognition':
      if (!isActive) return decline(state, noRecognition(), 'stop-recognition')
      return leave(state, [response('stop-recognition', state.recognition.recognitionId), { type: 'idle' }])
    case 'finalize-recognition':
      return finalize(state)
    case 'invalid-request': {
      const error = isActive && request === 'recognize' ? alreadyStarted() : message.error
      return decline(state, error, request)
    }
  }
}

const finalize = (state: Live): Step => {
  if (!('recognition' in state)) return decline(state, noRecognition(), 'finalize-recognition')
  const { recognitionId } = state.recognition
  if (state.name === 'flushing') return { state, outputs: [response('finalize-recognition', recognitionId)] }
  // Audio was dropped after the pause: the next final is not the one that the client requests (PROTOCOL 5.11).
  if (state.isDraining && !state.isTakingAudio) {
    return decline(state, goingAway(), 'finalize-recognition', recognitionId)
  }
  return flush(state, [response('finalize-recognition', recognitionId)])
}

const handle = (state: Live, input: RecognizerInput): Step => {
  switch (input.type) {
    case 'message':
      return handleMessage(state, input.message)
    case 'ready':
      return state.name === 'started' ? run(input.recognition) : { state }
    case 'not-ready':
      return state.name === 'started' ? notReady(state.before, input.error) : { state }
    case 'audio-closed':
      return { state: state.name === 'running' ? { ...state, isTakingAudio: false } : state }
    case 'recognition-ended': {
      const { final } = input
      const outputs: readonly RecognizerOutput[] = final === undefined ? [] : [{ type: 'final', message: final }]
      return 'recognition' in state ? leave(state, [{ type: 'idle' }, ...outputs]) : { state }
    }
    case 'timeout':
      return timeout(state, input.timeout)
    case 'drain':
      return drain(state, input.pauseWithinMs)
    case 'end':
      return end(state, input)
  }
}

/** The server side of a recognition socket (PROTOCOL 4 and 5): recognitions one after another on one connection. */
export const recognizerMachine: Machine<RecognizerState, RecognizerInput, RecognizerOutput, RecognizerAction> = {
  start: {
    state: { name: 'opened' },
    effects: [{ lifetime: 'session', action: { type: 'listen' } }, wait('opened', 'idle')],
  },
  reduce: (state, input) => {
    if (state.name === 'ended') return { state }
    const step = handle(state, input)
    const isHandled = input.type === 'message' || state.name === 'started'
    // While a recognition is opened, messages wait.
    if (!isHandled || step.state.name === 'started' || step.state.name === 'ended') return step
    return { ...step, effects: [...(step.effects ?? []), nextMessage] }
  },
  alive: (state) => lifetimes[state.name],
  result: (state) => (state.name === 'ended' ? state.result : undefined),
}

const lifetimes: Readonly<Record<RecognizerState['name'], ReadonlySet<string>>> = {
  opened: new Set(['session', 'opened']),
  started: new Set(['session', 'started']),
  running: new Set(['session', 'recognition', 'running']),
  flushing: new Set(['session', 'recognition', 'flushing']),
  idle: new Set(['session', 'idle']),
  ended: new Set(),
}

const response = (request: RecognizerRequestName, recognitionId: string, error?: SpeechError): RecognizerOutput => ({
  type: 'response',
  request,
  recognitionId,
  error,
})

const refusal = (
  request: RecognizerRequestName,
  recognitionId: string,
  error: SpeechError,
): readonly RecognizerOutput[] => [{ type: 'declined', error }, response(request, recognitionId, error)]

/** Ends the connection as the table defines. */
const end = (state: Live, { cause, error }: End<EndCause>): Step => {
  const ended: RecognizerState = { name: 'ended', result: error === undefined ? 'complete' : { error } }
  const ending: Ending = endings[cause][state.name]
  switch (ending) {
    case 'stay':
      return { state }
    case 'close':
      return { state: ended }
    case 'refuse':
      return { state: ended, outputs: [response('recognize', '', error)] }
    case 'gone':
      return { state: ended, outputs: [{ type: 'gone' }] }
    case 'final':
      return 'recognition' in state && error !== undefined
        ? { state: ended, outputs: [{ type: 'failure', recognition: state.recognition, error }] }
        : { state: ended }
  }
}

const alreadyStarted = (): SpeechError =>
  new SpeechError('already-started', 'A recognition runs on this connection; finalize or stop it first.')

const goingAway = (): SpeechError => new SpeechError('going-away', 'The service is closing; connect again later.')

const noRecognition = (): SpeechError =>
  new SpeechError('no-recognition', 'No recognition runs on this connection; send recognize first.')

const earlyAudio = (): SpeechError =>
  new SpeechError('not-started', 'Audio arrived before recognize; send recognize first.')

const lateOpening = (): SpeechError =>
  new SpeechError('engine-failed', 'The recognition was not ready in time; try again.')
