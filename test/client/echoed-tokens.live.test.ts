import { Metadata, Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { inspect } from 'node:util'
import { WebSocketServer, type WebSocket } from 'ws'
import { afterEach, describe, expect, it } from 'vitest'
import { record } from '../../src/cassette/record/record.js'
import { contentType } from '../../src/protocol/dataflow-messages.js'
import { dataflow } from '../../src/client/dataflow/dataflow.js'
import { recognize } from '../../src/client/recognizer/recognize.js'
import type { Recognition } from '../../src/client/session.js'
import { loadDataflow } from '../../src/transport/grpc/proto.js'
import type { DataflowMessage } from '../../src/transport/link.js'
import { listen, stop } from '../transport/tcp-proxy.js'

const token = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhY21lIn0.c2lnbmF0dXJlL3NpZ25hdHVyZSs'
const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const

let ending: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ending.reverse()) await end()
  ending = []
})

/** All output of a session, in every form in which it might be printed, and its cassette. */
const printed = async (session: (wrap: ReturnType<typeof record>) => Recognition): Promise<string> => {
  const lines: string[] = []
  const observed: unknown[] = []
  await new Promise<void>((resolve) => {
    const recorded = session(record((line: string) => void lines.push(line)))
    recorded([new Uint8Array(320)]).subscribe({
      next: (event) => observed.push(event),
      error: (error: unknown) => {
        observed.push(error)
        resolve()
      },
      complete: resolve,
    })
  })
  return [
    ...observed.map((label) => inspect(label, { depth: 12, showHidden: true, breakLength: Infinity })),
    ...lines,
  ].join('\n')
}

const tracesOf = (text: string): readonly string[] =>
  [
    token,
    token.slice(0, 24),
    token.slice(-24),
    encodeURIComponent(token),
    Buffer.from(`client:${token}`).toString('base64').slice(12, 60),
  ].filter((trace) => text.includes(trace))

const escaped = Array.from(token, (character, index) =>
  index % 3 === 0 ? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}` : character,
).join('')

const ok = { 'operation-result': 'Success' }
type Fields = Readonly<Record<string, unknown>>

interface SocketEcho {
  readonly upgrade?: (socket: Socket) => void
  readonly answer?: (socket: WebSocket, name: string) => void
}

const refuse =
  (status: number, body: string, reason = 'No') =>
  (socket: Socket): void =>
    void socket.end(
      `HTTP/1.1 ${status} ${reason}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nX-Token: ${token}\r\nConnection: close\r\n\r\n${body}`,
    )
const messageText = (name: string, fields: Fields): string => JSON.stringify({ 'message-name': name, ...fields })
const plainAnswer = (socket: WebSocket, name: string): void => {
  if (name === 'recognize') socket.send(messageText('recognize-response', ok))
  else socket.send(messageText('final-result', { ...ok, text: 'done' }))
}
const before =
  (text: string) =>
  (socket: WebSocket, name: string): void => {
    if (name === 'recognize') plainAnswer(socket, name)
    else {
      socket.send(text)
      plainAnswer(socket, name)
    }
  }

const socketEchoes: Readonly<Record<string, SocketEcho>> = {
  'the body of a refused handshake': { upgrade: refuse(403, `tenant-denied: ${token} is not for Acme.`) },
  'the body of a refused handshake, percent-encoded': {
    upgrade: refuse(400, `refused: ?t=${encodeURIComponent(token)}`),
  },
  'the body of a refused handshake, in base64': {
    upgrade: refuse(403, `tenant-denied: Basic ${Buffer.from(`client:${token}`).toString('base64')}`),
  },
  'an answer that is no HTTP': { upgrade: (socket) => void socket.end(`no HTTP ${token}\r\n\r\n`) },
  'the reason of a close': { answer: (socket) => socket.close(1008, `I do not like ${token}`.slice(0, 120)) },
  'the reason of a close that names a code': {
    answer: (socket) => socket.close(4403, `tenant-denied: ${token}`.slice(0, 120)),
  },
  'the answer to the start': {
    answer: (socket) =>
      socket.send(messageText('recognize-response', { 'operation-result': `unauthenticated: ${token} ended.` })),
  },
  'the answer to the start, without a code': {
    answer: (socket) => socket.send(messageText('recognize-response', { 'operation-result': `bad token '${token}'` })),
  },
  'an answer to the start that cannot be read': {
    answer: (socket) => socket.send(`{"message-name":"recognize-response","why":"${escaped}"}`),
  },
  'a partial': { answer: before(messageText('partial-result', { text: `your ${token}` })) },
  'a milestone, escaped': { answer: before(`{"message-name":"milestone-result","text":"your ${escaped}"}`) },
  'the error of a final': {
    answer: (socket, name) =>
      name === 'recognize'
        ? plainAnswer(socket, name)
        : socket.send(messageText('final-result', { 'operation-result': `internal: ${token}`, text: token })),
  },
  'a message that is none': { answer: before(`no JSON but ${token}`) },
  'a message of an unknown name': { answer: before(messageText(token, { token })) },
}

const socketAt = async ({
  upgrade,
  answer = plainAnswer,
}: SocketEcho): Promise<(wrap: ReturnType<typeof record>) => Recognition> => {
  const server = createServer()
  const sockets = new WebSocketServer({ noServer: true })
  const open = new Set<Socket>()
  server.on('upgrade', (request, socket: Socket, head) => {
    open.add(socket)
    socket.on('error', () => undefined)
    if (upgrade !== undefined) return upgrade(socket)
    sockets.handleUpgrade(request, socket, head, (opened) =>
      opened.on('message', (data: Buffer, isBinary) => {
        if (!isBinary) answer(opened, (JSON.parse(data.toString()) as { 'message-name': string })['message-name'])
      }),
    )
  })
  ending.push(() => {
    open.forEach((socket) => socket.destroy())
    return stop(server)
  })
  const url = `ws://127.0.0.1:${await listen(server)}`
  return (wrap) => wrap(recognize, { url, model: 'm', token, format, resumption: false })
}

type Call = ServerDuplexStream<DataflowMessage, DataflowMessage>
const message = (type: number, content: string): DataflowMessage => ({
  contentType: type,
  content,
  binaryContent: new Uint8Array(0),
})
const event = (fields: Fields): DataflowMessage => message(contentType.event, JSON.stringify(fields))
const fail =
  (code: number, details: string) =>
  (call: Call): void => {
    const metadata = new Metadata()
    metadata.set('x-token', token)
    call.emit('error', { code, details, metadata })
  }
const answering =
  (...messages: readonly DataflowMessage[]) =>
  (call: Call): void => {
    call.write(message(contentType.response, '{"operation-result":"success"}'))
    for (const message of messages) call.write(message)
  }

const streamEchoes: Readonly<Record<string, (call: Call) => void>> = {
  'the details of a status': fail(16, `${token} has ended`),
  'the details of a status that names a code': fail(7, `tenant-denied: ${token} is not for Acme.`),
  'the details of an unknown status': fail(9, `?token=${encodeURIComponent(token)}`),
  'the details of a status, in base64': fail(3, `Basic ${Buffer.from(`client:${token}`).toString('base64')}`),
  'the answer to the start': (call) =>
    void call.write(message(contentType.response, JSON.stringify({ 'operation-result': `unauthenticated: ${token}` }))),
  'an answer to the start that cannot be read': (call) => void call.write(message(contentType.response, `no ${token}`)),
  'the data of an event': answering(event({ Name: 'Echo', Data: { Request: { Token: token }, [token]: [token] } })),
  'the name and tags of an event': answering(event({ Name: `Echo ${token}`, GroupId: token, Tags: [token] })),
  'the data of an event, escaped': answering(message(contentType.event, `{"Name":"Echo","Data":"${escaped}"}`)),
  'a milestone': answering(
    event({
      Name: 'SR Milestone',
      Channel: 0,
      Data: { Text: token, Words: [{ Text: token, StartMsec: 0, EndMsec: 1, Confidence: 1 }] },
    }),
  ),
  'an event that cannot be read': answering(message(contentType.event, `{"Name":5,"Token":"${token}"}`)),
  'a message of an unknown type': answering(message(77, token)),
}

const streamAt = async (echo: (call: Call) => void): Promise<(wrap: ReturnType<typeof record>) => Recognition> => {
  const server = new Server()
  const Stream = (call: Call): void => {
    call.on('error', () => undefined)
    call.on('data', ({ contentType: type }: DataflowMessage) => {
      if (type === contentType.request) echo(call)
    })
    call.on('end', () => {
      call.write(event({ Name: 'SR Final', Channel: 0, Data: { Text: 'done' } }))
      call.end()
    })
  }
  server.addService({ ...loadDataflow() }, { Stream })
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    )
  })
  ending.push(() => server.forceShutdown())
  const options = { url: `grpc://127.0.0.1:${port}`, tenant: 't', project: 'p' }
  return (wrap) => wrap(dataflow, { ...options, token, format, resumption: false })
}

describe('a token that a service repeats over a WebSocket', () => {
  it.each(Object.entries(socketEchoes))('appears in no event, error or cassette: %s', async (how, echo) => {
    const text = await printed(await socketAt(echo))
    expect(tracesOf(text)).toEqual([])
    if (how !== 'an answer that is no HTTP') expect(text).toContain('***')
  })
})

describe('a token that a service repeats over gRPC', () => {
  it.each(Object.entries(streamEchoes))('appears in no event, error or cassette: %s', async (_how, echo) => {
    const text = await printed(await streamAt(echo))
    expect(tracesOf(text)).toEqual([])
    expect(text).toContain('***')
  })
})
