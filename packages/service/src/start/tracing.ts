import type * as Api from '@opentelemetry/api'
import { setTimeout as delay } from 'node:timers/promises'
import { requireOptional } from 'rxspeech-engines/threads/load-optional'
import type { OpenTelemetry } from 'rxspeech/internal/tracing/open-telemetry'

/** How long spans may take to be sent when a process ends, in milliseconds. */
const flushWithinMs = 2_000

/** What records spans, in this process. */
export interface Tracing {
  readonly openTelemetry: OpenTelemetry
  /** Sends the spans that the SDK of this process has not sent. */
  readonly flush: () => Promise<void>
}

/**
 * The API of OpenTelemetry, which records nothing unless an SDK is registered in this process. Undefined where the
 * package is not installed.
 */
export const openTracing = (): Tracing | undefined => {
  const api = loadApi()
  return api && { openTelemetry: api, flush: () => flush(api) }
}

const loadApi = (): typeof Api | undefined => {
  try {
    return requireOptional('@opentelemetry/api', 'Tracing', __filename) as typeof Api
  } catch {
    return undefined
  }
}

/** The API has no such method, but the providers of SDKs do. */
interface Flushable {
  forceFlush?(): Promise<void>
}

const flush = async ({ trace }: typeof Api): Promise<void> => {
  const provider = trace.getTracerProvider() as Flushable & { getDelegate?(): Flushable }
  const delegate = provider.getDelegate?.() ?? provider
  if (delegate.forceFlush === undefined) return
  const late = new AbortController()
  // A collector that does not answer is a matter of the SDK, which logs it.
  const flushed = delegate.forceFlush().catch(() => undefined)
  const timer = delay(flushWithinMs, undefined, { signal: late.signal }).catch(() => undefined)
  await Promise.race([flushed, timer]).finally(() => late.abort())
}
