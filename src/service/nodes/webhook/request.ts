import { request as requestHttp, type Agent, type ClientRequest, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import { defer, Observable, switchMap } from 'rxjs'
import { pinAddress, type Lookup, type PinnedAddress } from './address.js'

export interface WebhookRequest {
  readonly url: URL
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly allowPrivate: boolean
  /** Only of the URL's own protocol. */
  readonly agent: Agent
}

export interface WebhookAnswer {
  readonly status: number
  readonly retryAfter: string | undefined
}

/** What a receiver says beside its status is not read; a little of it is let in, so that the connection can be kept. */
const maxAnswerBytes = 64 * 1024

/**
 * One POST, sent on subscription; emits the answer's status, which decides, and completes when the answer is over, whatever
 * becomes of its body. Redirects are answers like others. Errors are the system's own, and those of `pinAddress`.
 * Unsubscribing ends the request.
 */
export const sendWebhook = (given: WebhookRequest, resolve?: Lookup): Observable<WebhookAnswer> =>
  defer(() => pinAddress(given.url, given.allowPrivate, resolve)).pipe(switchMap((pinned) => post(given, pinned)))

const post = ({ url, body, headers, agent }: WebhookRequest, pinned: PinnedAddress): Observable<WebhookAnswer> =>
  new Observable((subscriber) => {
    const bytes = Buffer.from(body)
    const send = url.protocol === 'https:' ? requestHttps : requestHttp
    const request = send(url, {
      method: 'POST',
      agent,
      headers: { ...headers, 'Content-Length': bytes.byteLength },
      lookup: answering(pinned),
    })
    let isAnswered = false
    let isOver = false
    const end = (): void => {
      isOver = true
      subscriber.complete()
    }
    request.on('response', (response) => {
      isAnswered = true
      subscriber.next({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] })
      passOver(request, response, end)
    })
    request.on('error', (error) => {
      // Once there is a status, what happens to the rest does not matter.
      if (!isAnswered) subscriber.error(error)
    })
    request.end(bytes)
    return () => {
      if (!isOver) request.destroy()
    }
  })

/** Answers what was found before, in both forms in which Node asks. */
const answering =
  ({ address, family }: PinnedAddress): LookupFunction =>
  (_host, options, callback) => {
    if (options.all === true) callback(null, [{ address, family }])
    else callback(null, address, family)
  }

/** A body that is too long costs the connection, and nothing else. */
const passOver = (request: ClientRequest, response: IncomingMessage, end: () => void): void => {
  let byteCount = 0
  response.on('data', (part: Buffer) => {
    byteCount += part.byteLength
    if (byteCount > maxAnswerBytes) request.destroy()
  })
  response.on('error', () => undefined)
  response.on('end', end)
  response.on('close', end)
}
