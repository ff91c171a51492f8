import { createServer, type Socket } from 'node:net'
import { listen, stop } from '../../../../test/transport/tcp-proxy.js'
import { MessageReader, writeMessage, type WyomingMessage } from '../../src/wyoming/messages.js'

/** A connection as the server sees it. */
export interface Utterance {
  readonly messages: readonly WyomingMessage[]
  /** The bytes of all audio. */
  readonly audioBytes: number
  readonly socket: Socket
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>
}

/** Called for each message of a connection. */
export type Converse = (message: WyomingMessage, socket: Socket) => void

export const tell = (socket: Socket, type: string, data?: Readonly<Record<string, unknown>>): void => {
  socket.write(writeMessage(type, data))
}

/** Does something when the audio of an utterance has ended. */
export const atEnd =
  (act: (socket: Socket) => unknown): Converse =>
  ({ type }, socket) => {
    if (type === 'audio-stop') act(socket)
  }

export const info = {
  asr: [
    {
      name: 'one',
      models: [
        { name: 'tiny', languages: ['en', 'de'] },
        { name: 'large', languages: ['fr'] },
      ],
    },
  ],
}

/** Answers `describe`, and each utterance with this text. */
export const transcribes =
  (text: string): Converse =>
  ({ type }, socket) => {
    if (type === 'describe') tell(socket, 'info', info)
    if (type !== 'audio-stop') return
    tell(socket, 'transcript', { text })
    socket.end()
  }

export interface WyomingServer {
  readonly url: string
  readonly port: number
  readonly utterances: readonly Utterance[]
  converse: Converse
  close(): Promise<void>
}

/** A Wyoming server that is scripted. */
export const wyomingServer = async (converse: Converse = transcribes(''), port?: number): Promise<WyomingServer> => {
  const utterances: Utterance[] = []
  const sockets = new Set<Socket>()
  const script = { converse }
  const server = createServer((socket) => {
    sockets.add(socket)
    const reader = new MessageReader()
    const messages: WyomingMessage[] = []
    const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
    let audioBytes = 0
    utterances.push({
      messages,
      socket,
      closed,
      get audioBytes() {
        return audioBytes
      },
    })
    socket.on('error', () => undefined)
    socket.on('data', (bytes: Buffer) => {
      for (const message of reader.read(bytes) ?? []) {
        messages.push(message)
        audioBytes += message.payloadBytes
        script.converse(message, socket)
      }
    })
  })
  const bound = await listen(server, port)
  return {
    ...{ url: `tcp://127.0.0.1:${bound}`, port: bound, utterances },
    get converse() {
      return script.converse
    },
    set converse(next) {
      script.converse = next
    },
    close: () => {
      sockets.forEach((socket) => socket.destroy())
      return stop(server)
    },
  }
}
