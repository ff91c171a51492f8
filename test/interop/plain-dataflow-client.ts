import { Client, credentials, loadPackageDefinition, Metadata, status, type ClientDuplexStream } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import type { LiveService } from './live-service.js'

interface Input {
  readonly message: { readonly content?: string; readonly binary_content?: Uint8Array; readonly content_type?: number }
}
interface Output {
  readonly message: { readonly content: string; readonly binary_content: Buffer; readonly content_type: number }
}
type Stub = Client & { Stream: (metadata: Metadata) => ClientDuplexStream<Input, Output> }

/** All that the service said on one stream, and how it ended. */
export interface Conversation {
  readonly responses: readonly Record<string, unknown>[]
  readonly events: readonly Record<string, unknown>[]
  readonly status: string
  readonly details: string
}

/** A client of the gRPC package alone, as one who knows only the proto would write it. */
export const converse = async (
  { service, ca }: LiveService,
  say: (stream: { request: (json: unknown) => void; raw: (input: Input['message']) => void; end: () => void }) => void,
  onResponse?: (response: Record<string, unknown>, stream: ClientDuplexStream<Input, Output>) => void,
): Promise<Conversation> => {
  const definition = loadPackageDefinition(
    loadSync('proto/dataflow.proto', { keepCase: true, defaults: true, enums: Number }),
  )
  const Dataflow = definition['dataflow'] as unknown as new (...args: ConstructorParameters<typeof Client>) => Stub
  const client = new Dataflow(service.access.grpc, credentials.createSsl(ca), {
    'grpc.ssl_target_name_override': 'localhost',
  })
  const stream = client.Stream(new Metadata())
  const responses: Record<string, unknown>[] = []
  const events: Record<string, unknown>[] = []
  const ended = new Promise<Conversation>((resolve) => {
    stream.on('data', ({ message }: Output) => {
      const json = JSON.parse(message.content) as Record<string, unknown>
      if (message.content_type === 3) {
        responses.push(json)
        onResponse?.(json, stream)
      } else events.push(json)
    })
    stream.on('error', () => undefined)
    stream.on('status', ({ code, details }) => {
      resolve({ responses, events, status: status[code], details })
    })
  })
  say({
    request: (json) => {
      stream.write({ message: { content: typeof json === 'string' ? json : JSON.stringify(json), content_type: 2 } })
    },
    raw: (message) => {
      stream.write({ message })
    },
    end: () => {
      stream.end()
    },
  })
  const conversation = await ended
  client.close()
  return conversation
}
