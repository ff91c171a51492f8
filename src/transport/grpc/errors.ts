import { Metadata } from '@grpc/grpc-js'
import { codesWith, errorTable, type ErrorCode } from '../../errors/error-table.js'
import { sanitizePeerText, parseRefusal, reasonText } from '../../errors/refusal.js'
import { SpeechError } from '../../errors/speech-error.js'
import { retryAfterMs, spreadRetryAfter } from '../../protocol/retry-after.js'
import type { CloseReason } from '../link.js'

/** Keeps the status within what every HTTP/2 peer takes as a header, percent-encoded. */
const maxDetailsBytes = 1024

export interface GrpcStatus {
  readonly code: number
  readonly details: string
}

/** A status as a client receives it. */
export interface ReceivedStatus extends Partial<GrpcStatus> {
  /** How long the client should wait, in milliseconds. */
  readonly retryAfterMs?: number | undefined
}

/**
 * The wait that a service asks for in the headers or trailers of a call: `retry-after` as in HTTP, which balancers send
 * too, or `grpc-retry-pushback-ms` of gRPC.
 */
export const requestedWaitMs = (metadata: readonly (Metadata | undefined)[], nowMs: number): number | undefined => {
  for (const fields of metadata) {
    const waitMs = retryAfterMs(textOf(fields, 'retry-after'), nowMs)
    if (waitMs !== undefined) return waitMs
    const pushback = textOf(fields, 'grpc-retry-pushback-ms')
    if (pushback !== undefined && /^\d{1,8}$/.test(pushback)) return Number(pushback)
  }
  return undefined
}

const textOf = (metadata: Metadata | undefined, name: string): string | undefined => {
  const [value] = metadata?.get(name) ?? []
  return typeof value === 'string' ? value : undefined
}

/** Refusals of the service that do not depend on the client, so that another attempt may succeed. */
const temporaryCodes = codesWith('temporary', 'for-clients')

/**
 * The status that ends a call for a reason: that of the error table with `<code>: <sentence>` as details, and, if
 * another attempt may succeed, the trailer `retry-after`, in seconds as in HTTP.
 */
export const refusalStatus = (
  reason: Omit<CloseReason, 'orderly'>,
  random?: () => number,
): GrpcStatus & { readonly metadata: Metadata } => {
  const metadata = new Metadata()
  const { code, retryAfterMs: waitMs } = reason
  if (waitMs !== undefined || temporaryCodes.has(code)) metadata.set('retry-after', spreadRetryAfter(waitMs, random))
  return { code: errorTable[code].grpcStatus, details: reasonText(reason, maxDetailsBytes), metadata }
}

/** The numbers of the gRPC status codes that have a corresponding code in the error table. */
const statusMeanings: Readonly<Record<number, ErrorCode>> = {
  1: 'connection-lost', // CANCELLED
  2: 'internal', // UNKNOWN
  4: 'connection-lost', // DEADLINE_EXCEEDED: this side sets no deadline, so an intermediary ended the call
  7: 'tenant-denied', // PERMISSION_DENIED
  8: 'overloaded', // RESOURCE_EXHAUSTED
  10: 'connection-lost', // ABORTED: to be retried at a higher level, as a session does
  12: 'protocol-violation', // UNIMPLEMENTED: no such service at this address
  13: 'internal', // INTERNAL
  14: 'connection-lost', // UNAVAILABLE
  15: 'connection-lost', // DATA_LOSS
  16: 'unauthenticated', // UNAUTHENTICATED
}

const tooBigOfPeer = 'The peer sent a message that is larger than maxMessageBytes.'

/** INTERNAL, in the numbers of gRPC. */
const internalStatus = 13

/**
 * Whether a server has ended the connection for its pings (HTTP/2 ENHANCE_YOUR_CALM, RFC 9113 section 7). The gRPC
 * package of Node reports only this as exhausted bandwidth.
 */
export const isCallForQuiet = ({ details = '' }: Partial<GrpcStatus>): boolean =>
  /too.many.pings|enhance.your.calm|^bandwidth exhausted/i.test(details)

/**
 * The error for the status of an open call; undefined for OK. Details with a code of the error table decide; otherwise
 * the number, and two texts that the gRPC packages of all languages share where the number is ambiguous. A message
 * beyond `maxMessageBytes`, the limit of this end, was sent by the peer: another call may have none.
 */
export const statusError = (status: ReceivedStatus, maxMessageBytes?: number): SpeechError | undefined => {
  const error = meaningOf(status, maxMessageBytes)
  const { retryAfterMs: waitMs } = status
  if (error === undefined || waitMs === undefined) return error
  const { code, message, cause, retryable } = error
  return new SpeechError(code, message, { cause, retryable, retryAfterMs: waitMs })
}

const meaningOf = (status: ReceivedStatus, maxMessageBytes: number | undefined): SpeechError | undefined => {
  // The gRPC package ends a call with an unreadable frame without either.
  const { code = internalStatus, details = '' } = status
  if (code === 0) return undefined
  const named = parseRefusal(details)
  if (named !== undefined) return named
  if (code === 8 && /larger than/i.test(details)) {
    const retryable = details.includes(`vs ${maxMessageBytes})`)
    return new SpeechError('message-too-big', retryable ? tooBigOfPeer : errorTable['message-too-big'].help, {
      retryable,
    })
  }
  // The answers of a balancer instead of the service (the same as for a WebSocket).
  if (/HTTP status code (429|503)$/.test(details)) {
    return new SpeechError('overloaded', errorTable.overloaded.help, { cause: new Error(details) })
  }
  if (isCallForQuiet(status) || (code === internalStatus && details.includes('RST_STREAM'))) {
    return new SpeechError('connection-lost', errorTable['connection-lost'].help)
  }
  const meaning = statusMeanings[code]
  return meaning === undefined
    ? new SpeechError(
        'refused',
        `The service refused with gRPC status ${code}: ${sanitizePeerText(details) || 'it sent no reason'}`,
      )
    : new SpeechError(meaning, errorTable[meaning].help, {
        cause: new Error(`gRPC status ${code}: ${sanitizePeerText(details)}`),
      })
}

/** A trailer beside the status OK: why the service ended a stream that the client did not finish (PROTOCOL 9). */
export const endTrailer = 'rxspeech-end'

const maxTrailerBytes = 512

export const orderlyEnd = (reason: CloseReason): Metadata => {
  const trailers = new Metadata()
  trailers.set(endTrailer, reasonText(reason, maxTrailerBytes))
  return trailers
}

/** The reason for the end in the trailers of a status; undefined without one. */
export const orderlyEndOf = (trailers: Metadata): SpeechError | undefined => {
  const [reason] = trailers.get(endTrailer)
  return typeof reason === 'string' ? parseRefusal(reason) : undefined
}
