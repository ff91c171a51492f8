import { Server, ServerCredentials, Client, credentials, type ServerDuplexStream } from '@grpc/grpc-js'
import { filter, firstValueFrom, interval, type Subscription } from 'rxjs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { SpeechError } from '../../../../src/errors/speech-error.js'
import { grpcServerLink } from '../../../../src/transport/grpc/server.js'
import { dialGrpc, type GrpcDialOptions } from '../../../../src/transport/grpc/client.js'
import type { DataflowMessage, Dial, Link } from '../../../../src/transport/link.js'
import { loadDataflow, undecodableContentType } from '../../../../src/transport/grpc/proto.js'
import { mailbox } from '../contract/harness.js'
import { testCertificates } from '../test-certificates.js'
import { errorCode } from '../../../../test/transport/error-code.js'
import { tcpProxy } from '../../../../test/transport/tcp-proxy.js'

type ServerCall = ServerDuplexStream<DataflowMessage, DataflowMessage>
type DataflowLink = Link<DataflowMessage, DataflowMessage>

const text = (content: string): DataflowMessage => ({ contentType: 2, content, binaryContent: new Uint8Array(0) })

const errorOf = (dial: Dial<DataflowMessage, DataflowMessage>): Promise<SpeechError> =>
  new Promise((resolve, reject) => {
    dial.subscribe({ next: () => reject(new Error('It connected.')), error: resolve })
  })

const endOf = (link: DataflowLink): Promise<SpeechError | 'complete'> =>
  new Promise((resolve) => link.incoming$.subscribe({ error: resolve, complete: () => resolve('complete') }))

const bind = (server: Server, serverCredentials: ServerCredentials, host = '127.0.0.1'): Promise<number> =>
  new Promise((resolve, reject) => {
    server.bindAsync(`${host}:0`, serverCredentials, (error, port) => (error === null ? resolve(port) : reject(error)))
  })

describe('dialGrpc', () => {
  let server: Server
  let address: string
  let peers: string[]
  let accepted: ReturnType<typeof mailbox<DataflowLink>>
  let calls: ReturnType<typeof mailbox<ServerCall>>
  let dialled: Subscription[]

  beforeEach(async () => {
    server = new Server()
    peers = []
    dialled = []
    accepted = mailbox()
    calls = mailbox()
    const Stream = (call: ServerCall): void => {
      peers.push(call.getPeer())
      calls.put(call)
      accepted.put(grpcServerLink(call, { closeTimeoutMs: 100 }))
    }
    server.addService({ ...loadDataflow() }, { Stream })
    address = `127.0.0.1:${await bind(server, ServerCredentials.createInsecure())}`
  })

  afterEach(() => {
    for (const subscription of dialled) subscription.unsubscribe()
    server.forceShutdown()
  })

  const connect = async (
    options: Partial<GrpcDialOptions> = {},
  ): Promise<{ near: DataflowLink; far: DataflowLink }> => {
    const near = new Promise<DataflowLink>((resolve, reject) => {
      dialled.push(dialGrpc({ url: address, insecure: true, ...options }).subscribe({ next: resolve, error: reject }))
    })
    return { near: await near, far: await accepted.take() }
  }

  it('opens another connection for more links than a server accepts on one', async () => {
    for (let count = 0; count < 101; count += 1) await connect()
    expect(new Set(peers.slice(0, 100)).size).toBe(1)
    expect(peers[100]).not.toBe(peers[0])
  })

  it('shares one connection between links with equal options, and none with others', async () => {
    await connect()
    await connect()
    await connect({ maxMessageBytes: 1000 })
    expect(peers[0]).toBe(peers[1])
    expect(peers[2]).not.toBe(peers[0])
  })

  it('keeps a shared connection while a link uses it, and opens another after the last has ended', async () => {
    const first = await connect()
    const second = await connect()
    first.far.close()
    expect(await endOf(first.near)).toBe('complete')
    second.near.send(text('still here'))
    expect((await firstValueFrom(second.far.incoming$)).content).toBe('still here')
    const third = await connect()
    expect(peers[2]).toBe(peers[0])
    second.far.close()
    third.far.close()
    expect(await endOf(second.near)).toBe('complete')
    expect(await endOf(third.near)).toBe('complete')
    await connect()
    expect(peers[3]).not.toBe(peers[0])
  })

  it('closes the connection after the last link', async () => {
    const proxy = await tcpProxy(Number(address.split(':')[1]))
    const { near, far } = await connect({ url: `127.0.0.1:${proxy.port}` })
    far.close()
    expect(await endOf(near)).toBe('complete')
    await proxy.unused()
    await proxy.close()
  })

  it('delivers messages that precede a refusal, even when the network delivers all of them together', async () => {
    const proxy = await tcpProxy(Number(address.split(':')[1]))
    const { near, far } = await connect({ url: `127.0.0.1:${proxy.port}` })
    const seen: string[] = []
    const ended = new Promise<void>((resolve) => {
      near.incoming$.subscribe({
        next: ({ content }) => seen.push(content),
        error: (error: unknown) => {
          seen.push(errorCode(error))
          resolve()
        },
      })
    })
    far.send(text('one'))
    await firstValueFrom(interval(0).pipe(filter(() => seen.length === 1)))
    proxy.hold()
    for (const word of ['two', 'three', 'four', 'five']) far.send(text(word))
    far.close({ code: 'too-fast', message: 'Slower, please.' })
    for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve))
    proxy.release()
    await ended
    expect(seen).toEqual(['one', 'two', 'three', 'four', 'five', 'too-fast'])
    await proxy.close()
  })

  it('uses a channel of the caller and leaves it open', async () => {
    const client = new Client(address, credentials.createInsecure())
    const first = await connect({ channel: client.getChannel() })
    first.far.close()
    expect(await endOf(first.near)).toBe('complete')
    await connect({ channel: client.getChannel() })
    expect(peers[1]).toBe(peers[0])
    client.close()
  })

  it('reads bytes that are not a message as a value, in the service', async () => {
    const client = new Client(address, credentials.createInsecure())
    const same = (bytes: Buffer): Buffer => bytes
    const call = client.makeBidiStreamRequest('/dataflow/Stream', same, same)
    call.on('error', () => {})
    call.write(Buffer.from([0x0a, 0xff]))
    const far = await accepted.take()
    expect((await firstValueFrom(far.incoming$)).contentType).toBe(undecodableContentType)
    call.cancel()
    client.close()
  })

  it('errors with protocol-violation when the server lacks this service', async () => {
    server.removeService({ ...loadDataflow() })
    const end = await new Promise<SpeechError | 'complete'>((resolve, reject) => {
      dialled.push(
        dialGrpc({ url: address, insecure: true }).subscribe({ next: (link) => resolve(endOf(link)), error: reject }),
      )
    })
    expect(end).toMatchObject({ code: 'protocol-violation' })
  })

  it('ends the call of a client that never reads when the service has closed', async () => {
    const { near, far } = await connect()
    near.pause()
    near.incoming$.subscribe({ error: () => {} })
    const call = await calls.take()
    const gone = new Promise<void>((resolve) => call.once('cancelled', () => resolve()))
    // More than the client reads ahead, so that the end cannot be delivered.
    for (let count = 0; count < 100; count += 1) {
      far.send({ contentType: 0, content: '', binaryContent: new Uint8Array(65_536) })
    }
    far.close({ code: 'going-away', message: 'Good night.' })
    await gone
  })

  it('connects over TLS with the CA certificate, and reports when it is not trusted', async () => {
    const { ca, key, certificate } = await testCertificates()
    const keyPair = { private_key: Buffer.from(key), cert_chain: Buffer.from(certificate) }
    address = `127.0.0.1:${await bind(server, ServerCredentials.createSsl(null, [keyPair]))}`
    const { near, far } = await connect({ insecure: false, ca })
    near.send(text('safe'))
    expect((await firstValueFrom(far.incoming$)).content).toBe('safe')
    const error = await errorOf(dialGrpc({ url: address }))
    expect(error).toMatchObject({ code: 'connection-failed', retryable: false })
    expect(error.message).toContain(address)
  })

  it('checks the certificate against an IP address without a warning', async () => {
    const { ca, key, certificate } = await testCertificates()
    const keyPair = { private_key: Buffer.from(key), cert_chain: Buffer.from(certificate) }
    const port = await bind(server, ServerCredentials.createSsl(null, [keyPair]), '0.0.0.0')
    const warnings: string[] = []
    const warned = (warning: Error): void => void warnings.push(warning.message)
    process.on('warning', warned)
    address = `127.0.0.1:${port}`
    await connect({ insecure: false, ca })
    const error = await errorOf(dialGrpc({ url: `127.0.0.2:${port}`, ca }))
    process.off('warning', warned)
    expect(error).toMatchObject({
      code: 'connection-failed',
      message: expect.stringContaining('another name') as string,
    })
    expect(warnings).toEqual([])
  })

  it('errors with connection-failed for an unknown host name', async () => {
    const error = await errorOf(dialGrpc({ url: 'speech.invalid:4000', insecure: true }))
    expect(error).toMatchObject({ code: 'connection-failed', retryable: true })
    expect(error.message).toContain('speech.invalid:4000')
  })

  it.each<[string, GrpcDialOptions]>([
    ['url', { url: '' }],
    ['url', { url: 'https://speech.example.com' }],
    ['ca', { url: '127.0.0.1:1', insecure: true, ca: 'pem' }],
    ['ca', { url: '127.0.0.1:1', ca: 'this is no certificate' }],
    ['heartbeatMs', { url: '127.0.0.1:1', heartbeatMs: -1 }],
    ['connectTimeoutMs', { url: '127.0.0.1:1', connectTimeoutMs: 2 ** 31 }],
    ['highWaterMarkBytes', { url: '127.0.0.1:1', highWaterMarkBytes: 0 }],
    ['protoPath', { url: '127.0.0.1:1', protoPath: '/absent/other.proto' }],
  ])('rejects an unusable %s', async (name, options) => {
    const error = await errorOf(dialGrpc(options))
    expect(error.code).toBe('invalid-options')
    expect(error.message).toContain(name)
  })
})
