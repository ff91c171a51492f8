import { VirtualTimeScheduler } from 'rxjs'
import type { DialectClient } from '../../../server/src/listen/dialect.js'
import { RequestLimit } from '../../../server/src/sessions/request-limit.js'
import { defaultSessionLimits } from '../../../server/src/sessions/session-context.js'
import { isSpeechError } from '../../../../src/errors/speech-error.js'
import {
  readRecognizerRequest,
  writeRecognizerMessage,
  type RecognizerMessage,
  type RecognizerRequest,
} from '../../../../src/protocol/recognizer-messages.js'
import type { SocketMessage } from '../../../../src/transport/link.js'
import { memoryLinks, type MemoryLinkOptions } from '../../../../src/transport/memory/link.js'
import { openAiRealtime } from '../../src/openai-realtime/openai-realtime.js'

export type Event = Readonly<Record<string, unknown>> & { readonly type: string }

/** What the recognizer does; it accepts and ends every recognition by default. */
export interface Script {
  readonly query?: string
  readonly links?: MemoryLinkOptions
  /** The `operation-result` of a recognition. */
  readonly answer?: (request: RecognizerRequest) => string
  /** The final is sent by the test. */
  readonly isSlow?: boolean
  readonly requestBurst?: number
  /** Milestones before a final. */
  readonly texts?: readonly string[]
}

const models = ['m', 'n'] as const

/** A client on one end of the dialect, and a scripted recognizer on the other; all in memory, without timers. */
export const openRealtime = async (script: Script = {}) => {
  const { query = '?intent=transcription&model=m', answer = () => 'Success', isSlow = false, texts = [] } = script
  const limits = { ...defaultSessionLimits, requestBurst: script.requestBurst ?? 100 }
  const [near, far] = memoryLinks<SocketMessage, SocketMessage>(script.links)
  const [page, socket] = memoryLinks<SocketMessage, SocketMessage>(script.links)
  const log: string[] = []
  const received: Uint8Array[] = []
  const requests: RecognizerRequest[] = []
  let heardBytes = 0
  let rateHz = 0
  const tell = (message: RecognizerMessage): void => far.send(writeRecognizerMessage(message))
  const final = (heardMs = (heardBytes * 500) / rateHz): void => {
    for (const text of texts) tell({ message: 'milestone-result', text, startMs: 0, endMs: 0 })
    heardBytes = 0
    tell({ message: 'final-result', operationResult: 'Success', text: '', heardMs: Math.round(heardMs) })
  }
  far.incoming$.subscribe({
    next: (message) => {
      if (typeof message !== 'string') {
        received.push(message)
        heardBytes += message.length
        return
      }
      const read = readRecognizerRequest(message)
      if (read._tag === 'Left') return
      const request = read.right
      requests.push(request)
      log.push(request.request)
      if (request.request === 'recognize') rateHz = request.sampleRateHz
      tell({ message: `${request.request}-response`, operationResult: answer(request) })
      if (request.request === 'finalize-recognition' && !isSlow) final()
    },
    error: () => undefined,
    complete: () => log.push('conversation closed'),
  })
  const client: DialectClient = {
    sessionId: '01234567-89ab-cdef-0123-456789abcdef',
    url: new URL(`http://service/v1/realtime${query}`),
    scheduler: new VirtualTimeScheduler(),
    requests: new RequestLimit(limits, new VirtualTimeScheduler()),
    signal: new AbortController().signal,
    tenant: 'Default',
    address: '127.0.0.1',
    models: [],
    findModel: (name) => {
      const found = models.find((model) => model === name)
      return found && { tenant: 'Default', name: found }
    },
    converse: () => Promise.resolve(near),
    get request(): never {
      throw new Error('unused')
    },
  }
  const [served] = openAiRealtime.sockets
  if (served === undefined) throw new Error('There is no socket.')
  const serving = (await served.accept(client))(socket)
  const events: Event[] = []
  let observe: (event: Event) => void = () => undefined
  page.incoming$.subscribe({
    next: (message) => {
      const event = JSON.parse(String(message)) as Event
      events.push(event)
      observe(event)
    },
    error: (error: unknown) => log.push(`socket ended: ${isSpeechError(error) ? error.code : String(error)}`),
    complete: () => log.push('socket ended'),
  })
  const send = (type: string, fields: object = {}): void => page.send(JSON.stringify({ type, ...fields }))
  return {
    page,
    far,
    serving,
    onEvent: (next: (event: Event) => void): void => {
      observe = next
    },
    log,
    requests,
    events,
    tell,
    final,
    send,
    /** The events of some kinds, without their ids. */
    of: (...types: readonly string[]) => events.filter(({ type }) => types.includes(type)),
    types: () => events.map(({ type }) => type),
    audio: () => Buffer.concat(received),
    update: (input: object, fields: object = {}): void =>
      send('session.update', { session: { type: 'transcription', audio: { input } }, ...fields }),
    append: (bytes: Uint8Array): void =>
      send('input_audio_buffer.append', { audio: Buffer.from(bytes).toString('base64') }),
  }
}

/** 100 ms at 24 kHz. */
export const audio = Uint8Array.from({ length: 4_800 }, (_, at) => at % 251)

const withTurns = (turn_detection: object | null) => async (script?: Script) => {
  const client = await openRealtime(script)
  client.update({ turn_detection })
  return client
}

/** A client that ends its items itself. */
export const byCommits = withTurns(null)

/** A client whose items are the segments of the service. */
export const bySpeech = withTurns({ type: 'server_vad' })

export const delta = 'conversation.item.input_audio_transcription.delta'
export const completed = 'conversation.item.input_audio_transcription.completed'
export const failed = 'conversation.item.input_audio_transcription.failed'
