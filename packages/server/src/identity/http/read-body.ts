import type { IncomingMessage, ServerResponse } from 'node:http'
import type { SchedulerLike } from 'rxjs'
import { sendError, type Headers } from './responses.js'

/** Longer bodies are refused; a token request has about 200 bytes. */
const maxBodyBytes = 16 * 1024
/** How much of a refused body is still read, so that the client can read the refusal. */
const maxDrainedBytes = 1024 * 1024
const maxReadMs = 10_000

export type RequestBody =
  | { readonly type: 'complete'; readonly bytes: Buffer }
  | { readonly type: 'too-big'; readonly isDrained: boolean }
  | { readonly type: 'too-slow' }
  | { readonly type: 'aborted' }

const closeHeaders: Headers = { Connection: 'close' }

/** Answers a request whose body is too long or too slow. */
export const refuseBody = (response: ServerResponse, body: Exclude<RequestBody, { type: 'complete' }>): void => {
  switch (body.type) {
    case 'too-big': {
      const description = `the body must have at most ${maxBodyBytes} bytes`
      sendError(response, 413, 'invalid_request', description, body.isDrained ? {} : closeHeaders)
      return
    }
    case 'too-slow':
      sendError(response, 408, 'invalid_request', 'the body did not arrive in time', closeHeaders)
      return
    case 'aborted':
      return
  }
}

/** Reads a body of at most 16 KiB within ten seconds. Never rejects; discards a body that is too long. */
export const readBody = (request: IncomingMessage, scheduler: SchedulerLike): Promise<RequestBody> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = []
    let receivedBytes = 0
    const settle = (body: RequestBody): void => {
      deadline.unsubscribe()
      request.off('data', onData).off('end', onEnd).off('close', onAbort).off('error', onAbort)
      resolve(body)
    }
    const onData = (chunk: Buffer): void => {
      receivedBytes += chunk.length
      if (receivedBytes <= maxBodyBytes) chunks.push(chunk)
      else chunks.length = 0
      if (receivedBytes > maxDrainedBytes) settle({ type: 'too-big', isDrained: false })
    }
    const onEnd = (): void =>
      settle(
        receivedBytes > maxBodyBytes
          ? { type: 'too-big', isDrained: true }
          : { type: 'complete', bytes: Buffer.concat(chunks) },
      )
    const onAbort = (): void => settle({ type: 'aborted' })
    const deadline = scheduler.schedule(() => settle({ type: 'too-slow' }), maxReadMs)
    request.on('data', onData).on('end', onEnd).on('close', onAbort).on('error', onAbort)
  })
