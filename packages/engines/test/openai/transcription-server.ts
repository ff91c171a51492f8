import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { listen, stop } from '../../../../test/transport/tcp-proxy.js'

/** A request as a server understands it. */
export interface Transcription {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  /** The fields of the form but the file, in order. */
  readonly fields: readonly (readonly [string, string])[]
  readonly wav: Buffer
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>
}

export type Respond = (response: ServerResponse, request: Transcription) => void

export const json =
  (body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Respond =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

export const plain =
  (body: string, status: number, headers: Readonly<Record<string, string>> = {}): Respond =>
  (response) =>
    response.writeHead(status, headers).end(body)

const partsOf = (body: Buffer, boundary: string): readonly (readonly [string, Buffer])[] =>
  body
    .toString('latin1')
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => {
      const at = part.indexOf('\r\n\r\n')
      const [, name = ''] = /name="([^"]*)"/.exec(part.slice(0, at)) ?? []
      return [name, Buffer.from(part.slice(at + 4, -2), 'latin1')]
    })

const bodyOf = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

export interface TranscriptionServer {
  readonly url: string
  readonly port: number
  readonly requests: readonly Transcription[]
  /** Answers the next requests with these, one after another, and all later ones with the last. */
  answer(...answers: readonly Respond[]): void
  /** Resolves when `count` requests have arrived. */
  received(count: number): Promise<void>
  close(): Promise<void>
}

/** A server of `/v1/audio/transcriptions` that is scripted. */
export const transcriptionServer = async (
  certificate?: { readonly key: Buffer | string; readonly cert: Buffer | string },
  port?: number,
): Promise<TranscriptionServer> => {
  const requests: Transcription[] = []
  let answers: readonly Respond[] = [json({ text: '' })]
  let wake: () => void = () => undefined
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const closed = new Promise<void>((resolve) => response.on('close', resolve))
    void bodyOf(request).then((body) => {
      const [, boundary = ''] = /boundary=(.*)$/.exec(request.headers['content-type'] ?? '') ?? []
      const parts = boundary === '' ? [] : partsOf(body, boundary)
      const transcription: Transcription = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        fields: parts.filter(([name]) => name !== 'file').map(([name, value]) => [name, value.toString()] as const),
        wav: parts.find(([name]) => name === 'file')?.[1] ?? Buffer.alloc(0),
        closed,
      }
      requests.push(transcription)
      const [next] = answers
      if (answers.length > 1) answers = answers.slice(1)
      next?.(response, transcription)
      wake()
    })
  }
  const server = certificate === undefined ? createServer(serve) : createSecureServer(certificate, serve)
  const bound = await listen(server, port)
  return {
    url: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${bound}`,
    port: bound,
    requests,
    answer: (...next) => {
      answers = next
    },
    received: async (count) => {
      while (requests.length < count) await new Promise<void>((resolve) => (wake = resolve))
    },
    close: () => {
      server.closeAllConnections()
      return stop(server)
    },
  }
}
