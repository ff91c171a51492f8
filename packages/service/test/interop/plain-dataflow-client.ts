import {
  type Client,
  credentials,
  loadPackageDefinition,
  Metadata,
  status,
  type CallOptions,
  type ClientOptions,
  type ClientDuplexStream,
} from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import type { Reachable } from './live-service.js'

interface Input {
  readonly message: { readonly content?: string; readonly binary_content?: Uint8Array; readonly content_type?: number }
}
interface Output {
  readonly message: { readonly content: string; readonly binary_content: Buffer; readonly content_type: number }
}
type Stub = Client & { Stream: (metadata: Metadata, options: CallOptions) => ClientDuplexStream<Input, Output> }

/** All that the service sent on one stream, and how it ended. */
export interface Conversation {
  readonly responses: readonly Record<string, unknown>[]
  readonly events: readonly Record<string, unknown>[]
  readonly status: string
  readonly details: string
  /** The trailer `retry-after`. */
  readonly retryAfter: string | undefined
}

type Stream = ClientDuplexStream<Input, Output>

/** One stream of a client with only the gRPC package, as one who knows only the proto would write it. */
export interface PlainStream {
  readonly stream: Stream
  readonly request: (json: unknown) => void
  readonly raw: (input: Input['message']) => void
  /** What arrived so far. */
  readonly responses: readonly Record<string, unknown>[]
  readonly events: readonly Record<string, unknown>[]
  /** Resolves at the first response or at the end. */
  readonly answered: Promise<unknown>
  readonly ended: Promise<Conversation>
}

export const plainClient = ({ service, ca }: Reachable, more: ClientOptions = {}): Stub => {
  const definition = loadPackageDefinition(
    loadSync('proto/dataflow.proto', { keepCase: true, defaults: true, enums: Number }),
  )
  const Dataflow = definition['dataflow'] as unknown as new (...args: ConstructorParameters<typeof Client>) => Stub
  const channel = ca === undefined ? credentials.createInsecure() : credentials.createSsl(ca)
  const options = { ...more, ...(ca !== undefined && { 'grpc.ssl_target_name_override': 'localhost' }) }
  return new Dataflow(service.access.grpc, channel, options)
}

export const openStream = (
  client: Stub,
  onResponse?: (response: Record<string, unknown>, stream: Stream) => void,
  options: CallOptions = {},
  metadata: Metadata = new Metadata(),
): PlainStream => {
  const stream = client.Stream(metadata, options)
  const responses: Record<string, unknown>[] = []
  const events: Record<string, unknown>[] = []
  const ended = new Promise<Conversation>((resolve) => {
    stream.on('error', () => undefined)
    stream.on('status', ({ code, details, metadata }) => {
      const retryAfter = metadata.get('retry-after')[0]?.toString()
      resolve({ responses, events, status: status[code], details, retryAfter })
    })
  })
  const answer = new Promise<void>((resolve) => {
    stream.on('data', ({ message }: Output) => {
      const json = JSON.parse(message.content) as Record<string, unknown>
      if (message.content_type === 3) {
        responses.push(json)
        onResponse?.(json, stream)
        resolve()
      } else events.push(json)
    })
  })
  return {
    stream,
    request: (json) => {
      stream.write({ message: { content: typeof json === 'string' ? json : JSON.stringify(json), content_type: 2 } })
    },
    raw: (message) => {
      stream.write({ message })
    },
    responses,
    events,
    answered: Promise.race([answer, ended]),
    ended,
  }
}

/** One stream on a separate channel, from its opening to its end. */
export const converse = async (
  service: Reachable,
  send: (stream: { request: (json: unknown) => void; raw: (input: Input['message']) => void; end: () => void }) => void,
  onResponse?: (response: Record<string, unknown>, stream: Stream) => void,
): Promise<Conversation> => {
  const client = plainClient(service)
  const { stream, request, raw, ended } = openStream(client, onResponse)
  send({
    request,
    raw,
    end: () => {
      stream.end()
    },
  })
  const conversation = await ended
  client.close()
  return conversation
}
