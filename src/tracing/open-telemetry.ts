import { formatTraceparent, type SpanIds } from './traceparent.js'

/** The attributes of a span or of an event. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

/** A span of OpenTelemetry, as far as it is used here. */
export interface OpenTelemetrySpan {
  /** Its ids. */
  spanContext(): SpanIds
  /** Adds attributes. */
  setAttributes(attributes: SpanAttributes): unknown
  /** Adds an event that happens now. */
  addEvent(name: string, attributes?: SpanAttributes): unknown
  /** `code`: 2 for an error. */
  setStatus(status: { readonly code: number; readonly message?: string }): unknown
  /** Ends it now. */
  end(): void
}

/**
 * The parts of the package `@opentelemetry/api` that are used here. Pass the package itself:
 * `import * as openTelemetry from '@opentelemetry/api'`.
 */
export interface OpenTelemetry {
  /** Begins spans, and puts them into contexts. */
  readonly trace: {
    /** Returns what begins spans. */
    getTracer(name: string): {
      /** Begins a span within that of a context. */
      startSpan(
        name: string,
        options: { readonly kind: number; readonly attributes?: SpanAttributes },
        context: unknown,
      ): OpenTelemetrySpan
    }
    /** The context with a span in it. */
    setSpan(context: unknown, span: unknown): unknown
    /** The context with a span of another process in it. */
    setSpanContext(context: unknown, ids: SpanIds & { readonly isRemote: boolean }): unknown
  }
  /** The context of the code that runs. */
  readonly context: {
    /** That context. */
    active(): unknown
  }
  /** The context without a span. */
  readonly ROOT_CONTEXT: unknown
}

/** The values of `SpanKind` and `SpanStatusCode` of OpenTelemetry. */
const kinds = { internal: 0, server: 1, client: 2 } as const
const errorStatus = 2

const noTrace = '0'.repeat(32)

/** What begins a span. */
export interface SpanOptions {
  readonly name: string
  readonly kind: keyof typeof kinds
  readonly attributes?: SpanAttributes | undefined
}

/** A span that has begun. Its attributes never contain transcripts, tokens or names of clients. */
export class TraceSpan {
  readonly #api: OpenTelemetry
  readonly #context: unknown
  readonly #span: OpenTelemetrySpan

  constructor(api: OpenTelemetry, context: unknown, span: OpenTelemetrySpan) {
    this.#api = api
    this.#context = context
    this.#span = span
  }

  /** The header for requests that this span makes. */
  get traceparent(): string {
    return formatTraceparent(this.#span.spanContext())
  }

  /** What finds the trace where it was exported to. */
  get traceId(): string {
    return this.#span.spanContext().traceId
  }

  /** Begins a span within this one. */
  child(options: SpanOptions): TraceSpan | undefined {
    return beginSpan(this.#api, this.#api.trace.setSpan(this.#context, this.#span), options)
  }

  event(name: string, attributes?: SpanAttributes): void {
    this.#span.addEvent(name, attributes)
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes(attributes)
  }

  /** Marks the span as failed. `code`: the one of the error. */
  fail(code: string): void {
    this.#span.setAttributes({ 'error.type': code })
    this.#span.setStatus({ code: errorStatus, message: code })
  }

  end(): void {
    this.#span.end()
  }
}

/**
 * Begins a span within a context. Undefined if there is nothing to record and no trace to continue, which is so as long
 * as no SDK is registered.
 */
export const beginSpan = (
  api: OpenTelemetry,
  context: unknown,
  { name, kind, attributes = {} }: SpanOptions,
): TraceSpan | undefined => {
  const span = api.trace.getTracer('rxspeech').startSpan(name, { kind: kinds[kind], attributes }, context)
  return span.spanContext().traceId === noTrace ? undefined : new TraceSpan(api, context, span)
}

/** Begins a span within the active context of the caller. */
export const beginLocalSpan = (api: OpenTelemetry, options: SpanOptions): TraceSpan | undefined =>
  beginSpan(api, api.context.active(), options)
