// The header `traceparent` of W3C Trace Context: `00-<trace id>-<parent id>-<flags>`, in lower-case hexadecimal digits.
// https://www.w3.org/TR/trace-context/#traceparent-header

/** The header of HTTP and the metadata of gRPC that names the trace, and the span within it that caused a request. */
export const traceparentHeader = 'traceparent'

/** The ids of a span. */
export interface SpanIds {
  /** 32 hexadecimal digits, not all 0. */
  readonly traceId: string
  /** 16 hexadecimal digits, not all 0. */
  readonly spanId: string
  /** 1 if the trace is recorded, otherwise 0. */
  readonly traceFlags: number
}

const sampled = 1
/** Later versions may append fields, which are ignored; version `ff` is forbidden. */
const pattern = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/
/** Long enough for any later version; a longer value is not of this header. */
const maxLength = 256

/** Undefined for a value that is not one valid header, such as two of them joined. */
export const parseTraceparent = (value: string | undefined): SpanIds | undefined => {
  if (value === undefined || value.length > maxLength) return undefined
  const [, version, traceId, spanId, flags, rest] = pattern.exec(value) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  return version === '00' && rest !== undefined
    ? undefined
    : { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & sampled }
}

/** The header of a span. */
export const formatTraceparent = ({ traceId, spanId, traceFlags }: SpanIds): string =>
  `00-${traceId}-${spanId}-0${traceFlags & sampled}`
