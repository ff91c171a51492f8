import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { Machine, MachineResult, Step as MachineStep } from 'rxspeech/internal/kernel/machine'
import type { DataflowRequestName, StartRequest, UpdateRequest } from 'rxspeech/internal/protocol/dataflow-messages'
import type { CloseReason } from 'rxspeech/internal/transport/link'
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
import type { Admission } from '../sessions/session-context.js'
import type { ClientRequest } from './protocol.js'
import type { ProjectSession } from './project-session.js'

/** The states of a dataflow stream (PROTOCOL 6). */
export type DataflowState =
  | { readonly name: 'opened' }
  /** The token of the Start is verified, then its project opened. */
  | { readonly name: 'started'; readonly step: 'admission' | 'project'; readonly request: StartRequest }
  /** `leaving`: the reason for which the service ends a session that the client did not finalize. */
  | {
      readonly name: 'running' | 'flushing'
      readonly project: ProjectSession
      readonly leaving?: CloseReason | undefined
    }
  /** The session is aborted: each recognition sends its final first (PROTOCOL 5.16), and then `last` is sent. */
  | { readonly name: 'aborting'; readonly error: SpeechError; readonly last: readonly DataflowOutput[] }
  | { readonly name: 'ended'; readonly result: MachineResult }

type Live = Exclude<DataflowState, { readonly name: 'ended' }>
type Active = Extract<DataflowState, { readonly project: ProjectSession }>
type Aborting = Extract<DataflowState, { readonly name: 'aborting' }>

/** The causes that can end a stream. */
export type EndCause = keyof typeof endings

/**
 * - `stay`: the session continues
 * - `close`: the stream ends without a further message
 * - `refuse`: the `Start`, or the request that was sent instead, gets its response with the error, then the stream ends
 * - `finals`: each recognition has its final, then the stream ends
 * - `answer`: as `finals`, with a response without a name and with the error before the end
 * - `last`: the stream ends as the abort defines, without the finals that are missing
 * - `gone`: the stream ends, and the session is reported as ended by its client's disconnect
 */
type Ending = 'stay' | 'close' | 'refuse' | 'finals' | 'answer' | 'last' | 'gone'

/**
 * How the stream ends, by cause and state. The status is that of the error (docs/ERRORS.md), or OK for a cause without
 * one.
 */
export const endings = {
  'client-left': { opened: 'gone', started: 'gone', running: 'gone', flushing: 'gone', aborting: 'gone' },
  'start-timeout': { opened: 'refuse', started: 'stay', running: 'stay', flushing: 'stay', aborting: 'stay' },
  'not-started': { opened: 'refuse', started: 'stay', running: 'stay', flushing: 'stay', aborting: 'stay' },
  'start-failed': { opened: 'stay', started: 'refuse', running: 'stay', flushing: 'stay', aborting: 'stay' },
  drain: { opened: 'refuse', started: 'refuse', running: 'stay', flushing: 'stay', aborting: 'stay' },
  revoked: { opened: 'stay', started: 'refuse', running: 'finals', flushing: 'finals', aborting: 'stay' },
  unreadable: {
    opened: 'refuse',
    started: 'refuse',
    running: 'answer',
    flushing: 'answer',
    aborting: 'stay',
  },
  'too-many-requests': { opened: 'refuse', started: 'refuse', running: 'answer', flushing: 'answer', aborting: 'stay' },
  'refused-audio': { opened: 'stay', started: 'stay', running: 'answer', flushing: 'stay', aborting: 'stay' },
  'flush-timeout': { opened: 'stay', started: 'stay', running: 'stay', flushing: 'finals', aborting: 'last' },
  'project-failed': { opened: 'stay', started: 'stay', running: 'close', flushing: 'close', aborting: 'last' },
  fault: { opened: 'close', started: 'close', running: 'finals', flushing: 'finals', aborting: 'close' },
} as const satisfies Readonly<Record<string, Readonly<Record<Live['name'], Ending>>>>

export type ClientMessage = CommonMessage<ClientRequest>

export type DataflowInput =
  | CommonInput<ClientRequest>
  | { readonly type: 'admitted'; readonly admission: Admission }
  | { readonly type: 'ready'; readonly project: ProjectSession }
  /** The project has applied an Update, or refused it. */
  | { readonly type: 'updated'; readonly error: SpeechError | undefined }
  /** The project has emitted its last event. */
  | { readonly type: 'project-ended' }
  | End<EndCause>

export type DataflowOutput =
  | {
      readonly type: 'response'
      readonly request?: DataflowRequestName | undefined
      readonly error?: SpeechError | undefined
    }
  /**
   * Why the stream ends normally without a request of the client (PROTOCOL 5.11). `isDrained`: because the service
   * closes, and not because of the age of the session.
   */
  | { readonly type: 'leaving'; readonly reason: CloseReason; readonly isDrained: boolean }
  | CommonOutput<ProjectSession>

export type DataflowAction =
  | CommonAction<ProjectSession>
  | { readonly type: 'admit'; readonly request: StartRequest }
  /** Holds the slot of the session, and watches its token. */
  | { readonly type: 'hold'; readonly admission: Admission }
  | { readonly type: 'open'; readonly request: StartRequest; readonly admission: Admission }
  | { readonly type: 'run'; readonly session: ProjectSession }
  | { readonly type: 'update'; readonly project: ProjectSession; readonly request: UpdateRequest }
  | { readonly type: 'abort'; readonly project: ProjectSession; readonly error: SpeechError }

type Step = MachineStep<DataflowState, DataflowOutput, DataflowAction>

const admit = (request: StartRequest): Step => ({
  state: { name: 'started', step: 'admission', request },
  effects: [wait('admission', 'open'), { lifetime: 'admission', action: { type: 'admit', request } }],
})

const open = (request: StartRequest, admission: Admission): Step => ({
  state: { name: 'started', step: 'project', request },
  effects: [
    { lifetime: 'session', action: { type: 'hold', admission } },
    wait('opening', 'open'),
    { lifetime: 'opening', action: { type: 'open', request, admission } },
  ],
})

const run = (project: ProjectSession): Step => ({
  state: { name: 'running', project },
  outputs: [{ type: 'started', session: project }, response('Start')],
  effects: [
    { lifetime: 'running', action: { type: 'take-audio', session: project } },
    wait('running', 'session', project.maxSessionMs),
    { lifetime: 'project', action: { type: 'run', session: project } },
  ],
})

const flush = ({ project, leaving }: Active, outputs: readonly DataflowOutput[] = []): Step => ({
  state: { name: 'flushing', project, leaving },
  outputs: [...outputs, { type: 'flushing' }],
  effects: [wait('flushing', 'flush'), { lifetime: 'project', action: { type: 'finish', session: project } }],
})

const drain = (state: Live, pauseWithinMs: number): Step => {
  if (state.name !== 'running') return end(state, { type: 'end', cause: 'drain', error: closing() })
  const leaving = { ...state, leaving: serviceCloses }
  return pauseWithinMs <= 0 ? flush(leaving) : { state: leaving, effects: drainAtPause(state.project, pauseWithinMs) }
}

const timeout = (state: Live, which: Timeout): Step => {
  switch (which) {
    case 'start':
      return end(state, { type: 'end', cause: 'start-timeout', error: lateStart() })
    case 'idle':
      return { state }
    case 'open':
      return state.name === 'started' ? withFault(state, 'start-failed', lateOpening()) : { state }
    case 'session':
      return state.name === 'running' ? flush({ ...state, leaving: tooLong }) : { state }
    case 'pause':
      return state.name === 'running' ? flush(state) : { state }
    case 'flush':
      return state.name === 'flushing' || state.name === 'aborting'
        ? withFault(state, 'flush-timeout', lateResults())
        : { state }
  }
}

const handleMessage = (state: Live, message: ClientMessage): Step => {
  if (message.type === 'end') return end(state, message)
  if (state.name === 'opened') return handleFirst(state, message)
  return 'project' in state ? handleInSession(state, message) : { state }
}

const handleFirst = (
  state: Live & { readonly name: 'opened' },
  message: Exclude<ClientMessage, { readonly type: 'end' }>,
): Step => {
  const refuse = (error: SpeechError, request?: DataflowRequestName): Step =>
    end(state, { type: 'end', cause: 'not-started', error }, request)
  switch (message.type) {
    case 'Start':
      return admit(message.request)
    case 'invalid-request':
      return refuse(message.error)
    case 'finished':
      return refuse(notStarted('The stream ended without a Start message.'))
    case 'audio':
      return refuse(notStarted('Audio arrived before Start; send Start first and wait for its response.'))
    case 'Update':
    case 'Finalize':
    case 'Stop':
      return refuse(notStarted(`${message.type} arrived before Start; send Start first.`), message.type)
  }
}

/** Refuses a request; the session continues. */
const decline = (state: Active, error: SpeechError, request: DataflowRequestName | undefined): Step => ({
  state,
  outputs: [{ type: 'declined', error }, response(request, error)],
})

const handleInSession = (state: Active, message: Exclude<ClientMessage, { readonly type: 'end' }>): Step => {
  switch (message.type) {
    case 'Start':
      return decline(state, message.excess ?? alreadyStarted(), 'Start')
    case 'invalid-request': {
      const error = message.request === 'Start' ? alreadyStarted() : message.error
      return decline(state, message.excess ?? error, message.request)
    }
    case 'Update': {
      if (message.excess !== undefined) return decline(state, message.excess, 'Update')
      const { project } = state
      return {
        state,
        effects: [{ lifetime: 'project', action: { type: 'update', project, request: message.request } }],
      }
    }
    case 'Finalize':
      return state.name === 'running'
        ? flush(state, [response('Finalize')])
        : { state, outputs: [response('Finalize')] }
    case 'finished':
      return state.name === 'running' ? flush(state) : { state }
    case 'Stop':
      return { state: { name: 'ended', result: 'complete' }, outputs: [response('Stop'), { type: 'stopped' }] }
    case 'audio':
      // Audio after the end of the audio is ignored (PROTOCOL 5.7).
      return { state }
  }
}

const projectEnded = (state: Live): Step => {
  if (state.name === 'aborting') return sendLast(state)
  if (!('project' in state)) return { state }
  const { leaving } = state
  return {
    state: { name: 'ended', result: 'complete' },
    outputs:
      leaving === undefined
        ? []
        : [{ type: 'leaving', reason: { ...leaving, orderly: true }, isDrained: leaving === serviceCloses }],
  }
}

const handle = (state: Live, input: DataflowInput): Step => {
  switch (input.type) {
    case 'message':
      return handleMessage(state, input.message)
    case 'admitted':
      return state.name === 'started' && state.step === 'admission' ? open(state.request, input.admission) : { state }
    case 'ready':
      return state.name === 'started' && state.step === 'project' ? run(input.project) : { state }
    case 'updated':
      if (!('project' in state)) return { state }
      return input.error === undefined
        ? { state, outputs: [response('Update')] }
        : decline(state, input.error, 'Update')
    case 'project-ended':
      return projectEnded(state)
    case 'timeout':
      return timeout(state, input.timeout)
    case 'drain':
      return drain(state, input.pauseWithinMs)
    case 'end':
      return end(state, input)
  }
}

/** The server side of a dataflow stream (PROTOCOL 3 and 5): one session. */
export const dataflowMachine: Machine<DataflowState, DataflowInput, DataflowOutput, DataflowAction> = {
  start: {
    state: { name: 'opened' },
    effects: [wait('opened', 'start'), { lifetime: 'session', action: { type: 'listen' } }],
  },
  reduce: (state, input) => {
    if (state.name === 'ended') return { state }
    const step = handle(state, input)
    const isHandled = input.type === 'message' || input.type === 'ready'
    // While a session starts, messages wait; once it is aborted, none is answered.
    return isHandled && 'project' in step.state ? { ...step, effects: [...(step.effects ?? []), nextMessage] } : step
  },
  alive: (state) => (state.name === 'started' ? lifetimes[state.step] : lifetimes[state.name]),
  result: (state) => (state.name === 'ended' ? state.result : undefined),
}

const lifetimes = {
  opened: new Set(['session', 'opened']),
  admission: new Set(['session', 'admission']),
  project: new Set(['session', 'opening']),
  running: new Set(['session', 'project', 'running']),
  flushing: new Set(['session', 'project', 'flushing']),
  aborting: new Set(['session', 'project', 'aborting']),
  ended: new Set<string>(),
} as const satisfies Readonly<Record<string, ReadonlySet<string>>>

const response = (request: DataflowRequestName | undefined, error?: SpeechError): DataflowOutput => ({
  type: 'response',
  request,
  error,
})

/** Ends the stream as the table defines. `request` is the refused one, if it is not the Start. */
const end = (state: Live, { cause, error }: End<EndCause>, request: DataflowRequestName = 'Start'): Step => {
  const ended: DataflowState = { name: 'ended', result: error === undefined ? 'complete' : { error } }
  const ending: Ending = endings[cause][state.name]
  switch (ending) {
    case 'stay':
      return { state }
    case 'close':
      return { state: ended }
    case 'gone':
      return { state: { name: 'ended', result: 'complete' }, outputs: [{ type: 'gone' }] }
    case 'refuse':
      return { state: ended, outputs: [response(request, error)] }
    case 'finals':
      return abort(state, error, [])
    case 'answer':
      return abort(state, error, [response(undefined, error)])
    case 'last':
      return state.name === 'aborting' ? sendLast(state) : { state }
  }
}

const abort = (state: Live, error: SpeechError | undefined, last: readonly DataflowOutput[]): Step =>
  'project' in state && error !== undefined
    ? {
        state: { name: 'aborting', error, last },
        effects: [
          wait('aborting', 'flush'),
          { lifetime: 'project', action: { type: 'abort', project: state.project, error } },
        ],
      }
    : { state }

const sendLast = ({ error, last }: Aborting): Step => ({ state: { name: 'ended', result: { error } }, outputs: last })

/** An end because of a fault of the service, which is reported to its operator. */
const withFault = (state: Live, cause: EndCause, error: SpeechError): Step => {
  const step = end(state, { type: 'end', cause, error })
  return { ...step, outputs: [{ type: 'fault', error }, ...(step.outputs ?? [])] }
}

const serviceCloses: CloseReason = {
  code: 'going-away',
  message: 'The service is closing; continue elsewhere or later.',
}

const tooLong: CloseReason = {
  code: 'going-away',
  message: 'The session has reached its maximum duration; start another one.',
}

const notStarted = (text: string): SpeechError => new SpeechError('not-started', text)

const lateStart = (): SpeechError => notStarted('No Start message arrived in time; send it first.')

const closing = (): SpeechError =>
  new SpeechError('going-away', 'The service is closing; start the session elsewhere or later.')

const alreadyStarted = (): SpeechError =>
  new SpeechError('already-started', 'The session is already running; open another stream.')

const lateOpening = (): SpeechError => new SpeechError('engine-failed', 'The session was not ready in time; try again.')
