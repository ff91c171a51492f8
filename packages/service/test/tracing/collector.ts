import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SpanStatusCode, trace } from '@opentelemetry/api'
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-node'

/** A span of any process. */
export interface SeenSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  /** Empty for the first of a trace. */
  readonly parentId: string
  readonly isError: boolean
  readonly attributes: Readonly<Record<string, unknown>>
  readonly events: readonly string[]
  /** The whole span, to search for what must not be in it. */
  readonly text: string
}

const ofThisProcess = (span: ReadableSpan): SeenSpan => ({
  name: span.name,
  traceId: span.spanContext().traceId,
  spanId: span.spanContext().spanId,
  parentId: span.parentSpanContext?.spanId ?? '',
  isError: span.status.code === SpanStatusCode.ERROR,
  attributes: span.attributes,
  events: span.events.map(({ name }) => name),
  text: JSON.stringify([span.name, span.attributes, span.events, span.status]),
})

/** The parts of OTLP in JSON that are read here. */
interface ExportedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly status: { readonly code?: number }
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
  readonly events?: readonly { readonly name: string }[]
}

interface ExportRequest {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly ExportedSpan[] }[] }[]
}

const ofAnotherProcess = (span: ExportedSpan): SeenSpan => ({
  ...{ name: span.name, traceId: span.traceId, spanId: span.spanId, parentId: span.parentSpanId ?? '' },
  isError: span.status.code === SpanStatusCode.ERROR,
  attributes: Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
  events: (span.events ?? []).map(({ name }) => name),
  text: JSON.stringify(span),
})

/** Collects the spans of this process, and of others that send them by OTLP. */
export interface Collector {
  /** The environment of other processes, which makes them load `docs/deploy/tracing.cjs`. */
  readonly env: Readonly<Record<string, string>>
  readonly spans: () => readonly SeenSpan[]
  readonly named: (name: string) => readonly SeenSpan[]
  readonly clear: () => void
  readonly close: () => Promise<void>
}

/** Registers an SDK in this process, and listens for other processes. */
export const startCollector = async (): Promise<Collector> => {
  const exported: SeenSpan[] = []
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const { resourceSpans } = JSON.parse(Buffer.concat(parts).toString()) as ExportRequest
      for (const { scopeSpans } of resourceSpans) {
        for (const { spans } of scopeSpans) exported.push(...spans.map(ofAnotherProcess))
      }
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const exporter = new InMemorySpanExporter()
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  provider.register()
  const spans = (): readonly SeenSpan[] => [...exporter.getFinishedSpans().map(ofThisProcess), ...exported]
  return {
    env: {
      NODE_OPTIONS: `--require ${process.cwd()}/docs/deploy/tracing.cjs`,
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_BSP_SCHEDULE_DELAY: '50',
    },
    spans,
    named: (name) => spans().filter((span) => span.name === name),
    clear: () => {
      exporter.reset()
      exported.splice(0)
    },
    close: async () => {
      trace.disable()
      await provider.shutdown()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
