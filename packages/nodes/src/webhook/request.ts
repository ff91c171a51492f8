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
  /** An agent for the URL's protocol. */
  readonly agent: Agent
}

export interface WebhookResponse {
  readonly status: number
  readonly retryAfter: string | undefined
}

/** The body of a response is ignored, but read up to this size so that the connection can be reused. */
const maxBodyBytes = 64 * 1024

/**
 * Sends one POST on subscription. Emits the status of the response and completes when the response ends, even if its
 * body fails. Redirects are responses like others. Errors are those of the system and of `pinAddress`. Unsubscribing
 * aborts the request.
 */
export const sendWebhook = (given: WebhookRequest, resolve?: Lookup): Observable<WebhookResponse> =>
  defer(() => pinAddress(given.url, given.allowPrivate, resolve)).pipe(switchMap((pinned) => post(given, pinned)))

const post = ({ url, body, headers, agent }: WebhookRequest, pinned: PinnedAddress): Observable<WebhookResponse> =>
  new Observable((subscriber) => {
    const bytes = Buffer.from(body)
    const send = url.protocol === 'https:' ? requestHttps : requestHttp
    const request = send(url, {
      method: 'POST',
      agent,
      headers: { ...headers, 'Content-Length': bytes.byteLength },
      lookup: pinnedLookup(pinned),
    })
    let hasResponse = false
    let isEnded = false
    const end = (): void => {
      isEnded = true
      subscriber.complete()
    }
    request.on('response', (response) => {
      hasResponse = true
      subscriber.next({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] })
      skipBody(request, response, end)
    })
    request.on('error', (error) => {
      // After the status, a failure of the body does not matter.
      if (!hasResponse) subscriber.error(error)
    })
    request.end(bytes)
    return () => {
      if (!isEnded) request.destroy()
    }
  })

/** A DNS lookup that returns the checked address, in both forms that Node calls. */
const pinnedLookup =
  ({ address, family }: PinnedAddress): LookupFunction =>
  (_host, options, callback) => {
    if (options.all === true) callback(null, [{ address, family }])
    else callback(null, address, family)
  }

/** Reads and ignores the body; one that is too long ends the connection. */
const skipBody = (request: ClientRequest, response: IncomingMessage, end: () => void): void => {
  let byteCount = 0
  response.on('data', (part: Buffer) => {
    byteCount += part.byteLength
    if (byteCount > maxBodyBytes) request.destroy()
  })
  response.on('error', () => undefined)
  response.on('end', end)
  response.on('close', end)
}
