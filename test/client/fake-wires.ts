import type { DataflowMessage, SocketMessage } from '../../src/transport/link.js'
import type { FakeResult } from './fake-recognition.js'
import { event, ok, recognizerMessage, response } from './virtual-session.js'

export interface FakeFinal extends Omit<FakeResult, 'kind'> {
  /** How far the audio was read, if the final says so. */
  readonly heardMs: number | undefined
  readonly error: boolean
}

/** The messages of one of the interfaces. */
export interface FakeWire<Message> {
  /** What a message requests; undefined for audio. */
  readonly request: (message: Message) => 'start' | 'finalize' | 'stop' | 'other' | undefined
  readonly audio: (message: Message) => Uint8Array
  readonly started: (isRefused: boolean) => Message
  readonly finalizing: (isRefused: boolean) => Message
  readonly stopped: Message
  readonly result: (result: FakeResult) => Message
  readonly final: (final: FakeFinal) => Message
  /** Whether the connection ends with its recognition. */
  readonly endsLink: boolean
}

const requestOf = (json: string): 'start' | 'finalize' | 'stop' | 'other' => {
  const { 'message-name': kebab, MessageName: pascal } = JSON.parse(json) as Readonly<Record<string, string>>
  switch (kebab ?? pascal) {
    case 'recognize':
    case 'Start':
      return 'start'
    case 'finalize-recognition':
    case 'Finalize':
      return 'finalize'
    case 'stop-recognition':
    case 'Stop':
      return 'stop'
    default:
      return 'other'
  }
}

const overloaded = 'overloaded: Later.'
const notRunning = 'no-recognition: Nothing runs.'
const failed = 'engine-failed: Broken.'

const spanOf = (times: FakeResult['times']): Record<string, string> =>
  times === undefined ? {} : { 'start-msec': String(times[0]), 'end-msec': String(times[1]) }

export const recognizerWire: FakeWire<SocketMessage> = {
  request: (message) => (typeof message === 'string' ? requestOf(message) : undefined),
  audio: (message) => (typeof message === 'string' ? new Uint8Array(0) : message),
  started: (isRefused) => recognizerMessage('recognize-response', isRefused ? { 'operation-result': overloaded } : ok),
  finalizing: (isRefused) =>
    recognizerMessage('finalize-recognition-response', isRefused ? { 'operation-result': notRunning } : ok),
  stopped: recognizerMessage('stop-recognition-response', ok),
  result: ({ kind, text, times }) => recognizerMessage(`${kind}-result`, { text, ...spanOf(times) }),
  final: ({ text, times, heardMs, error }) =>
    recognizerMessage('final-result', {
      ...(error ? { 'operation-result': failed } : ok),
      text,
      confidence: '0.9',
      ...spanOf(times),
      ...(heardMs !== undefined && { 'heard-msec': String(heardMs) }),
    }),
  endsLink: false,
}

const responseOf = (name: string, refusal: string | undefined): DataflowMessage =>
  response(JSON.stringify({ MessageName: name, 'operation-result': refusal ?? 'success' }))

const eventOf = (Name: string, Channel: number, times: FakeResult['times'], Data: object): DataflowMessage =>
  event(JSON.stringify({ Name, Channel, ...(times && { StartMsec: times[0], EndMsec: times[1] }), Data }))

export const dataflowWire: FakeWire<DataflowMessage> = {
  request: ({ contentType, content }) => (contentType === 2 ? requestOf(content) : undefined),
  audio: ({ binaryContent }) => binaryContent,
  started: (isRefused) => responseOf('StartResponse', isRefused ? overloaded : undefined),
  finalizing: (isRefused) => responseOf('FinalizeResponse', isRefused ? notRunning : undefined),
  stopped: responseOf('StopResponse', undefined),
  result: ({ kind, channel, times, text }) =>
    eventOf(kind === 'partial' ? 'SR Partial' : 'SR Milestone', channel, times, { Text: text }),
  final: ({ channel, times, text, heardMs, error }) =>
    eventOf('SR Final', channel, times, { Text: text, HeardMsec: heardMs, ...(error && { Error: failed }) }),
  endsLink: true,
}
