// Sends the spans of rxspeech to a collector of OpenTelemetry, by OTLP over HTTP. Install the SDK beside this file, and load
// the file into each process: docs/OPERATING.md, "Tracing", shows how.
'use strict'
const { isMainThread } = require('node:worker_threads')

// Engines have threads, which load this file too and have no spans.
if (isMainThread) {
  const { OTLPTraceExporter } = require('@opentelemetry/exporter-trace-otlp-http')
  const { defaultResource, resourceFromAttributes } = require('@opentelemetry/resources')
  const { BatchSpanProcessor, NodeTracerProvider } = require('@opentelemetry/sdk-trace-node')

  const name = resourceFromAttributes({ 'service.name': process.env.OTEL_SERVICE_NAME ?? 'rxspeech' })
  const provider = new NodeTracerProvider({
    resource: defaultResource().merge(name),
    // Batches leave the process every 5 s. A process of rxspeech that ends sends what is left.
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  })
  provider.register()
}
