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

/** The only flag that is known. */
export const sampled = 1

/** The header of a span. */
export const formatTraceparent = ({ traceId, spanId, traceFlags }: SpanIds): string =>
  `00-${traceId}-${spanId}-0${traceFlags & sampled}`
