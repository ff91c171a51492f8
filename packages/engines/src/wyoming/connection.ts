import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { SchedulerLike } from 'rxjs'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { schedule } from 'rxspeech/internal/kernel/timers'
import { refusedBy, serverFailed, serverLost, serverSilent, type ServerName } from '../recognition-server.js'
import { MessageReader, type WyomingMessage } from './messages.js'

/** How a Wyoming server is reached. */
export interface WyomingServer {
  readonly url: URL
  readonly name: ServerName
  readonly ca: string | undefined
  readonly scheduler: SchedulerLike
}

/** Connecting, in milliseconds. */
const connectWithinMs = 2_000

const openSocket = ({ url, ca }: WyomingServer): Socket => {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = Number(url.port)
  return url.protocol === 'tls:'
    ? connectTls({ host, port, servername: isIP(host) === 0 ? host : '', ca })
    : connectTcp({ host, port })
}

/**
 * One conversation, on a connection of its own: sends the messages, and passes each answer to `receive` until that
 * returns a result. A server reports most failures only by closing the connection, so each of these ends as an error of
 * its own: no connection, bytes that are no messages, an end without a result, and no result within the deadline.
 * Rejects at once when the signal is aborted.
 */
export const converse = <Result>(
  server: WyomingServer,
  messages: Iterable<Uint8Array>,
  receive: (message: WyomingMessage) => Result | undefined,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<Result> =>
  new Promise((resolve, reject) => {
    const { name, scheduler, url } = server
    if (signal.aborted) return reject(aborted())
    const reader = new MessageReader()
    const socket = openSocket(server)
    let isOpen = false
    const release = (): void => {
      connecting.unsubscribe()
      answering.unsubscribe()
      signal.removeEventListener('abort', abort)
      socket.destroy()
    }
    const fail = (error: Error): void => {
      release()
      reject(error)
    }
    const abort = (): void => fail(aborted())
    const connecting = schedule(
      scheduler,
      connectWithinMs,
      () =>
        fail(
          serverLost(
            name,
            new SpeechError('connect-timeout', `No connection to ${name.peer} within ${connectWithinMs} ms.`),
          ),
        ),
      { ref: true },
    )
    const answering = schedule(scheduler, deadlineMs, () => fail(serverSilent(name, deadlineMs)), { ref: true })
    signal.addEventListener('abort', abort, { once: true })
    socket.setNoDelay()
    socket.once(url.protocol === 'tls:' ? 'secureConnect' : 'connect', () => {
      isOpen = true
      connecting.unsubscribe()
      // Held by the socket until the server takes it; no longer than the longest audio of one reading.
      for (const message of messages) socket.write(message)
    })
    socket.on('data', (bytes: Buffer) => {
      const received = reader.read(bytes)
      if (received === undefined)
        return fail(serverFailed(name, refusedBy(name, 'sent what is no message of Wyoming'), { retryable: false }))
      for (const message of received) {
        const result = message.type === 'error' ? refusal(message) : receive(message)
        if (result instanceof Error) return fail(result)
        if (result === undefined) continue
        release()
        return resolve(result)
      }
    })
    const refusal = ({ data: { text } }: WyomingMessage): Error =>
      serverFailed(name, refusedBy(name, 'reports an error', typeof text === 'string' ? text : ''))
    socket.on('error', (error) => fail(serverLost(name, error)))
    socket.on('close', () =>
      // It closes so too when it cannot read this audio, which is no loss of the server.
      fail(
        isOpen
          ? serverFailed(name, refusedBy(name, 'closed the connection without an answer'))
          : serverLost(name, undefined),
      ),
    )
  })

const aborted = (): Error => new DOMException('The reading was aborted.', 'AbortError')
