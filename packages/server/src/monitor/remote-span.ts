import {
  beginSpan,
  type OpenTelemetry,
  type SpanOptions,
  type TraceSpan,
} from 'rxspeech/internal/tracing/open-telemetry'
import { sampled, type SpanIds } from 'rxspeech/internal/tracing/traceparent'

/** Later versions may append fields, which are ignored; version `ff` is forbidden. */
const pattern = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/
/** Long enough for any later version; a longer value is not of this header. */
const maxLength = 256

/** Reads the header `traceparent`. Undefined for a value that is not one valid header, such as two of them joined. */
export const parseTraceparent = (value: string | undefined): SpanIds | undefined => {
  if (value === undefined || value.length > maxLength) return undefined
  const [, version, traceId, spanId, flags, rest] = pattern.exec(value) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  return version === '00' && rest !== undefined
    ? undefined
    : { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & sampled }
}

/**
 * Begins a span for a request of another process. Without a valid header it begins a trace of its own. Returns
 * undefined if there is nothing to record and no trace to continue, which is so as long as no SDK is registered.
 */
export const beginRemoteSpan = (
  api: OpenTelemetry,
  traceparent: string | undefined,
  options: SpanOptions,
): TraceSpan | undefined => {
  const ids = parseTraceparent(traceparent)
  const { ROOT_CONTEXT: root, trace } = api
  return beginSpan(api, ids === undefined ? root : trace.setSpanContext(root, { ...ids, isRemote: true }), options)
}
