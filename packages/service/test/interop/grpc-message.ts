import { loadDataflow } from '../../../../src/transport/grpc/proto.js'

export const grpcHeaders = { 'content-type': 'application/grpc', te: 'trailers' } as const

/** A Start as a message of gRPC: no compression, its length, its bytes. */
export const startMessage = (token: string): Buffer => {
  const content = JSON.stringify({
    MessageName: 'Start',
    Audio: { SampleRate: 8000, ChannelCount: 1, Encoding: 'pcm' },
    Tenant: 'Default',
    ProjectName: 'transcribe',
    Token: token,
  })
  const bytes = loadDataflow().Stream.requestSerialize({ contentType: 2, content, binaryContent: new Uint8Array(0) })
  const head = Buffer.alloc(5)
  head.writeUInt32BE(bytes.length, 1)
  return Buffer.concat([head, bytes])
}
