import { either } from 'fp-ts'
import { SpeechError } from '../../errors/speech-error.js'
import {
  contentType,
  readDataflowRequest,
  type DataflowRequest,
  type DataflowRequestName,
  type StartRequest,
} from '../../protocol/dataflow-messages.js'
import type { ServiceState } from '../../protocol/states.js'
import type { DataflowMessage } from '../../transport/link.js'

/** What is asked for within a session. */
export type SessionRequest = Exclude<DataflowRequest, { readonly request: 'Start' }>

/** What a client's message is answered with. */
export type DataflowAct =
  | { readonly type: 'start'; readonly request: StartRequest }
  | { readonly type: 'request'; readonly request: SessionRequest }
  | { readonly type: 'audio'; readonly bytes: Uint8Array }
  | { readonly type: 'finish' | 'nothing' }
  /** The stream ends. */
  | { readonly type: 'refuse'; readonly error: SpeechError; readonly request?: DataflowRequestName }
  /** The session goes on. */
  | { readonly type: 'decline'; readonly error: SpeechError; readonly request: DataflowRequestName | undefined }

type OpenState = Extract<ServiceState, 'opened' | 'started' | 'running' | 'flushing'>

/** What a message asks for, or the half-close (`finished`), in a state of the stream (service.md 4.1, decisions.md). */
export const dataflowAct = (message: DataflowMessage | 'finished', state: OpenState): DataflowAct => {
  if (message === 'finished') {
    return state === 'opened' ? notStarted('The stream ended without a Start message.') : { type: 'finish' }
  }
  switch (message.contentType) {
    case contentType.audio:
      return audioAct(message, state)
    case contentType.request:
      return requestAct(message.content, state)
    default: {
      const text = `content_type ${message.contentType} is not for clients; send REQUEST (2) with JSON or AUDIO (0) with bytes.`
      return { type: 'refuse', error: new SpeechError('unknown-content-type', text) }
    }
  }
}

const audioAct = ({ content, binaryContent: bytes }: DataflowMessage, state: OpenState): DataflowAct => {
  if (bytes.length === 0 && content !== '') {
    const text = 'An AUDIO message carries text and no bytes; a request needs content_type REQUEST (2).'
    return { type: 'refuse', error: new SpeechError('empty-audio', text) }
  }
  if (state === 'opened') return notStarted('Audio came before Start; send Start first and wait for its response.')
  return state === 'running' ? { type: 'audio', bytes } : { type: 'nothing' }
}

const requestAct = (content: string, state: OpenState): DataflowAct => {
  const read = readDataflowRequest(content)
  if (either.isLeft(read)) {
    const { error, request } = read.left
    if (state === 'opened') return { type: 'refuse', error }
    return { type: 'decline', error: request === 'Start' ? secondStart() : error, request }
  }
  const request = read.right
  if (request.request === 'Start') {
    return state === 'opened' ? { type: 'start', request } : { type: 'decline', error: secondStart(), request: 'Start' }
  }
  const { request: name } = request
  return state === 'opened'
    ? { ...notStarted(`${name} came before Start; send Start first.`), request: name }
    : { type: 'request', request }
}

const notStarted = (text: string): Extract<DataflowAct, { readonly type: 'refuse' }> => ({
  type: 'refuse',
  error: new SpeechError('not-started', text),
})

const secondStart = (): SpeechError =>
  new SpeechError('already-started', 'The session runs already; open another stream.')
