import { VirtualAction, VirtualTimeScheduler } from 'rxjs'
import type { Conversation } from '../../../server/src/listen/dialect.js'
import { RequestLimit } from '../../../server/src/sessions/request-limit.js'
import { defaultSessionLimits } from '../../../server/src/sessions/session-context.js'
import {
  readRecognizerRequest,
  writeRecognizerMessage,
  type RecognizerMessage,
} from '../../../../src/protocol/recognizer-messages.js'
import type { CloseReason, SocketMessage } from '../../../../src/transport/link.js'
import { memoryLinks, type MemoryLinkOptions } from '../../../../src/transport/memory/link.js'
import { ListenSession, type ListenClient } from '../../src/deepgram-listen/listen-session.js'
import { readOptions } from '../../src/deepgram-listen/options.js'

/** What the recognizer does; it accepts and finishes every recognition by default. */
export interface Script {
  readonly query?: string
  readonly links?: MemoryLinkOptions
  readonly refusal?: string
  /** The final is sent by the test. */
  readonly isSlow?: boolean
}

interface Recognizer {
  /** What it received: requests by their names, audio by its length. */
  readonly received: readonly (string | number)[]
  readonly tell: (message: RecognizerMessage) => void
  /** Ends the recognition. */
  readonly final: (heardMs?: number, operationResult?: string) => void
  readonly close: (reason?: CloseReason) => void
  /** Of its messages. */
  readonly unreadBytes: () => number
}

const rateHz = 8000

/** Resolves when all promises that can settle have settled. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A client on one end of the socket, scripted recognizers on the other; all in memory and in virtual time. */
export const openListen = async (script: Script = {}) => {
  const { query = 'encoding=linear16&sample_rate=8000', refusal = 'Success', isSlow = false } = script
  const clock = new VirtualTimeScheduler(VirtualAction, 0)
  const recognizers: Recognizer[] = []
  const converse = (): Promise<Conversation> => {
    const [near, far] = memoryLinks<SocketMessage, SocketMessage>(script.links)
    const received: (string | number)[] = []
    let heardBytes = 0
    const tell = (message: RecognizerMessage): void => far.send(writeRecognizerMessage(message))
    const final = (heardMs = (heardBytes * 500) / rateHz, operationResult = 'Success'): void => {
      heardBytes = 0
      tell({ message: 'final-result', operationResult, text: '', heardMs: Math.round(heardMs) })
    }
    far.incoming$.subscribe({
      next: (message) => {
        if (typeof message !== 'string') {
          received.push(message.length)
          heardBytes += message.length
          return
        }
        const read = readRecognizerRequest(message)
        const request = read._tag === 'Right' ? read.right.request : 'recognize'
        received.push(request)
        tell({ message: `${request}-response`, operationResult: request === 'recognize' ? refusal : 'Success' })
        if (request === 'finalize-recognition' && !isSlow) final()
      },
      error: () => received.push('lost'),
      complete: () => received.push('closed'),
    })
    recognizers.push({
      received,
      tell,
      final,
      close: (reason) => far.close(reason),
      unreadBytes: () => far.bufferedBytes,
    })
    return Promise.resolve(near)
  }
  const client: ListenClient = {
    converse,
    requests: new RequestLimit(defaultSessionLimits, clock),
    scheduler: clock,
    signal: new AbortController().signal,
    sessionId: 'id',
  }
  const options = readOptions(new URLSearchParams(query), 'socket')
  const session = await ListenSession.open(client, { tenant: 'Default', name: 'm' }, options)
  const [page, socket] = memoryLinks<SocketMessage, SocketMessage>(script.links)
  const messages: Readonly<Record<string, unknown>>[] = []
  let closedWith: CloseReason | 'normally' | undefined
  const close = socket.close.bind(socket)
  socket.close = (reason) => {
    closedWith ??= reason ?? 'normally'
    close(reason)
  }
  page.incoming$.subscribe({
    next: (message) => messages.push(JSON.parse(String(message)) as Readonly<Record<string, unknown>>),
    error: () => undefined,
  })
  const serving = session.serve(socket)
  return {
    clock,
    recognizers,
    recognizer: (at = recognizers.length - 1): Recognizer => {
      const one = recognizers[at]
      if (one === undefined) throw new Error('There is no such conversation.')
      return one
    },
    page,
    messages,
    serving,
    closedWith: () => closedWith,
    say: (type: string) => page.send(JSON.stringify({ type })),
    /** Milliseconds of silence. */
    speak: (ms: number) => page.send(new Uint8Array((ms * rateHz) / 500)),
    advanceTo: async (ms: number) => {
      clock.maxFrames = ms
      clock.flush()
      clock.frame = ms
      await settled()
    },
  }
}
