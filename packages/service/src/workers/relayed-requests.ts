import { createServer, request as sendRequest, type IncomingMessage, type RequestListener } from 'node:http'
import { Duplex } from 'node:stream'
import type { SchedulerLike } from 'rxjs'
import { readBody, refuseBody } from 'rxspeech-server/identity/http/read-body'
import { sendError } from 'rxspeech-server/identity/http/responses'

/** A request that a worker has received; its body is in Base64. */
export interface RelayedRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The address of the client. */
  readonly address?: string | undefined
}

export interface RelayedResponse {
  readonly status: number
  /** Pairs of name and value. */
  readonly headers: readonly (readonly string[])[]
  readonly body: string
}

/** These belong to one connection (RFC 9110 section 7.6.1), and each of the two has its own. */
const ownHeaders: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'expect'],
  ...['content-length', 'proxy-connection'],
])

export interface RelayOptions {
  readonly relay: (request: RelayedRequest) => Promise<RelayedResponse>
  readonly addressOf: (request: IncomingMessage) => string | undefined
  readonly scheduler: SchedulerLike
}

/** In a worker: passes HTTP requests to the process of the service, and its responses to the client. */
export const relayRequests = ({ relay, addressOf, scheduler }: RelayOptions): RequestListener => {
  const answer: (...exchange: Parameters<RequestListener>) => Promise<void> = async (request, response) => {
    const body = await readBody(request, scheduler)
    if (body.type !== 'complete') {
      refuseBody(response, body)
      return
    }
    const { method = 'GET', url = '/' } = request
    const headers = Object.fromEntries(
      Object.entries(request.headers).flatMap(([name, value]) =>
        value === undefined || ownHeaders.has(name) ? [] : [[name, value.toString()]],
      ),
    )
    const sent = { method, url, headers, body: body.bytes.toString('base64'), address: addressOf(request) }
    const relayed = await relay(sent).catch(() => undefined)
    if (response.destroyed) return
    if (relayed === undefined) sendError(response, 500, 'server_error', 'the service failed; try again')
    else response.writeHead(relayed.status, relayed.headers.flat()).end(Buffer.from(relayed.body, 'base64'))
  }
  return (request, response) => void answer(request, response)
}

/**
 * In the process of the service: answers requests of workers by a listener of HTTP requests, which gets them over a
 * connection in memory, so that it has Node's own requests and responses.
 */
export class RelayedRequests {
  readonly #server = createServer((request, response) => this.#listener(request, response))
  readonly #addresses = new WeakMap<object, string>()
  #listener: RequestListener = (_request, response) => response.writeHead(503).end()

  /** Sets the listener; until then the answer is 503. */
  handle(listener: RequestListener): void {
    this.#listener = listener
  }

  /** The address of the client of a relayed request. */
  readonly addressOf = ({ socket }: IncomingMessage): string | undefined => this.#addresses.get(socket)

  answer({ method, url, headers, body, address }: RelayedRequest): Promise<RelayedResponse> {
    const [near, far] = connectedPair()
    if (address !== undefined) this.#addresses.set(far, address)
    this.#server.emit('connection', far)
    return new Promise((resolve, reject) => {
      const bytes = Buffer.from(body, 'base64')
      const request = sendRequest({
        method,
        path: url,
        headers: { ...headers, 'content-length': bytes.length, connection: 'close' },
        createConnection: () => near,
      })
      request.on('error', reject).on('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject)
        response.on('end', () => {
          resolve({
            status: response.statusCode ?? 500,
            headers: headerPairs(response),
            body: Buffer.concat(chunks).toString('base64'),
          })
        })
      })
      request.end(bytes)
    })
  }
}

/** `Content-Length` stays: the response to HEAD has one without a body. */
const headerPairs = ({ rawHeaders }: IncomingMessage): readonly (readonly string[])[] =>
  rawHeaders.flatMap((name, index) => {
    const isName = index % 2 === 0
    const isOwn = ownHeaders.has(name.toLowerCase()) && name.toLowerCase() !== 'content-length'
    return isName && !isOwn ? [[name, rawHeaders[index + 1] ?? '']] : []
  })

/** One end of a connection in memory. */
class MemorySocket extends Duplex {
  peer: MemorySocket | undefined

  override _read(): void {
    // The peer writes when it has something.
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, onWritten: () => void): void {
    this.peer?.push(chunk)
    onWritten()
  }

  override _final(onFinished: () => void): void {
    this.peer?.push(null)
    onFinished()
  }
}

/** The data of one request is bounded, so neither end waits for the other. */
const connectedPair = (): readonly [MemorySocket, MemorySocket] => {
  const [near, far] = [new MemorySocket(), new MemorySocket()]
  near.peer = far
  far.peer = near
  return [near, far]
}
