import { loadDataflow } from '../../../../src/transport/grpc/proto.js'
import type { DataflowMessage } from '../../../../src/transport/link.js'

export const grpcHeaders = { 'content-type': 'application/grpc', te: 'trailers' } as const

/** A Start of mono PCM at 8 kHz. */
export const startRequest = (token: string): DataflowMessage => {
  const content = JSON.stringify({
    MessageName: 'Start',
    Audio: { SampleRate: 8000, ChannelCount: 1, Encoding: 'pcm' },
    Tenant: 'Default',
    ProjectName: 'transcribe',
    Token: token,
  })
  return { contentType: 2, content, binaryContent: new Uint8Array(0) }
}

/** The same as a message of gRPC: no compression, its length, its bytes. */
export const startMessage = (token: string): Buffer => {
  const bytes = loadDataflow().Stream.requestSerialize(startRequest(token))
  const head = Buffer.alloc(5)
  head.writeUInt32BE(bytes.length, 1)
  return Buffer.concat([head, bytes])
}
