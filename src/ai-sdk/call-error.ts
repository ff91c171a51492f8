import { isSpeechError, SpeechError } from '../errors/speech-error.js'

/** By these properties the AI SDK recognizes an `APICallError`, also one of another copy of its packages. */
const marks = Object.fromEntries(
  ['vercel.ai.error', 'vercel.ai.error.AI_APICallError'].map((name) => [Symbol.for(name), true]),
)

/**
 * The error of a session as the AI SDK expects it: it tries the call again if `isRetryable`, after the time that the
 * service gave. It is a `SpeechError` as before.
 */
export const callError = (error: unknown, url: string): unknown => {
  if (!isSpeechError(error)) return error
  const { code, message, retryable, retryAfterMs } = error
  const responseHeaders = retryAfterMs === undefined ? {} : { 'retry-after-ms': String(retryAfterMs) }
  return Object.assign(new SpeechError(code, message, { retryable, retryAfterMs, cause: error.cause }), {
    ...marks,
    url,
    requestBodyValues: {},
    responseHeaders,
    isRetryable: retryable,
  })
}
