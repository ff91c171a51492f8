import { IncomingMessage } from 'node:http'
import type { SchedulerLike } from 'rxjs'

/** Longer bodies are refused; a token request has some 200 bytes. */
export const maxFormBytes = 16 * 1024
/** So much of a body that is refused is still read, so that the peer comes to read the refusal. */
const maxDrainedBytes = 1024 * 1024
const maxReadMs = 10_000

export type FormBody =
  | { readonly type: 'whole'; readonly bytes: Buffer }
  | { readonly type: 'too-big'; readonly drained: boolean }
  | { readonly type: 'too-slow' }
  | { readonly type: 'aborted' }

/** True when the request declares an unpacked form. */
export const isForm = ({ headers }: IncomingMessage): boolean => {
  const [mediaType = ''] = (headers['content-type'] ?? '').split(';')
  const encoding = headers['content-encoding'] ?? 'identity'
  return mediaType.trim().toLowerCase() === 'application/x-www-form-urlencoded' && encoding.toLowerCase() === 'identity'
}

/** Reads a body of at most 16 KiB within ten seconds; never rejects, and keeps nothing of what is too long. */
export const readForm = (request: IncomingMessage, scheduler: SchedulerLike): Promise<FormBody> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = []
    let received = 0
    const settle = (body: FormBody): void => {
      deadline.unsubscribe()
      request.off('data', take).off('end', end).off('close', abort).off('error', abort)
      resolve(body)
    }
    const take = (chunk: Buffer): void => {
      received += chunk.length
      if (received <= maxFormBytes) chunks.push(chunk)
      else chunks.length = 0
      if (received > maxDrainedBytes) settle({ type: 'too-big', drained: false })
    }
    const end = (): void =>
      settle(
        received > maxFormBytes ? { type: 'too-big', drained: true } : { type: 'whole', bytes: Buffer.concat(chunks) },
      )
    const abort = (): void => settle({ type: 'aborted' })
    const deadline = scheduler.schedule(() => settle({ type: 'too-slow' }), maxReadMs)
    request.on('data', take).on('end', end).on('close', abort).on('error', abort)
  })

/**
 * The request once more, with the body that was read and with only the headers that a token request is made of: no
 * `Origin`, no `Accept`, nothing that could switch on another feature of the provider.
 */
export const replayForm = (request: IncomingMessage, path: string, body: Buffer): IncomingMessage => {
  const replay = new IncomingMessage(request.socket)
  const { host, authorization, 'content-type': contentType } = request.headers
  replay.method = 'POST'
  replay.url = path
  replay.httpVersionMajor = request.httpVersionMajor
  replay.headers = { accept: 'application/json', 'content-length': String(body.length) }
  if (host !== undefined) replay.headers.host = host
  if (authorization !== undefined) replay.headers.authorization = authorization
  if (contentType !== undefined) replay.headers['content-type'] = contentType
  // Else Node takes the end of the replay for an abort and destroys the socket.
  replay.complete = true
  replay.push(body)
  replay.push(null)
  return replay
}
