import { once } from 'node:events'
import { connect } from 'node:http2'
import { Client, compressionAlgorithms, credentials } from '@grpc/grpc-js'
import { Subject } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scriptedEngine } from '../../../service/src/testing/scripted-engine.js'
import {
  converse,
  openStream,
  plainClient,
  type PlainStream,
} from '../../../service/test/interop/plain-dataflow-client.js'
import { plainService, startOf, type PlainService } from '../../../service/test/plain-service.js'

let service: PlainService
let client: ReturnType<typeof plainClient>
beforeAll(async () => {
  service = await plainService({ limits: { sessions: 5, sessionsPerToken: 5 } })
  client = plainClient(service)
})
afterAll(async () => {
  client.close()
  await service.close()
})

const started = async (options?: Parameters<typeof openStream>[2]): Promise<PlainStream> => {
  const stream = openStream(client, undefined, options)
  stream.request(startOf(service.token))
  await stream.answered
  return stream
}

const expectAllPlaces = async (): Promise<void> => {
  const streams: PlainStream[] = []
  // A place is released when the service sees the end of a stream, which may be a moment later.
  while (streams.length < 5) {
    const stream = await started()
    if (stream.responses[0]?.['operation-result'] === 'success') streams.push(stream)
    else expect((await stream.ended).status).toBe('RESOURCE_EXHAUSTED')
  }
  const refused = await (await started()).ended
  expect(refused).toMatchObject({
    status: 'RESOURCE_EXHAUSTED',
    details: expect.stringMatching(/^overloaded: /) as unknown,
    responses: [
      { MessageName: 'StartResponse', 'operation-result': expect.stringMatching(/^overloaded: /) as unknown },
    ],
  })
  for (const stream of streams) stream.stream.end()
  for (const stream of streams) expect((await stream.ended).status).toBe('OK')
}

describe('streams of one channel', () => {
  it('run concurrently up to the exact limit, and beyond it are refused with their response', expectAllPlaces)

  it.each<readonly [string, (stream: PlainStream) => unknown]>([
    ['before Start', () => undefined],
    [
      'while it runs',
      async (item) => {
        item.request(startOf(service.token))
        await item.answered
        item.raw({ binary_content: new Uint8Array(16_000), content_type: 0 })
      },
    ],
    [
      'while it flushes',
      async (item) => {
        item.request(startOf(service.token))
        await item.answered
        item.raw({ binary_content: new Uint8Array(16_000), content_type: 0 })
        item.stream.end()
      },
    ],
  ])('that are cancelled %s release all places', async (_name, until) => {
    for (let round = 0; round < 12; round += 1) {
      const stream = openStream(client)
      await until(stream)
      stream.stream.cancel()
      expect(['CANCELLED', 'OK', 'RESOURCE_EXHAUSTED']).toContain((await stream.ended).status)
    }
    await expectAllPlaces()
  })

  it('that reach the deadline of their client release all places', async () => {
    const streams = await Promise.all([1, 2, 3, 4, 5].map(() => started({ deadline: Date.now() + 1_500 })))
    for (const stream of streams) expect((await stream.ended).status).toBe('DEADLINE_EXCEEDED')
    await expectAllPlaces()
  })

  it('whose channel breaks release all places', async () => {
    for (let round = 0; round < 5; round += 1) {
      const other = plainClient(service)
      const streams = [1, 2, 3, 4].map(() => openStream(other))
      for (const stream of streams) stream.request(startOf(service.token))
      await Promise.all(streams.map((stream) => stream.answered))
      for (const stream of streams) stream.stream.cancel()
      other.close()
    }
    await expectAllPlaces()
  })
})

describe('a client that disconnects after its half-close', () => {
  it('releases its place although the project still has work to do', async () => {
    const stuck = { ...scriptedEngine({ texts: [] }), recognize: () => () => new Subject<never>() }
    const busy = await plainService({ limits: { sessions: 1 } }, [], stuck)
    const channel = plainClient(busy)
    const stream = openStream(channel)
    stream.request(startOf(busy.token))
    await stream.answered
    stream.stream.end()
    // The next response of the service on the same channel follows the half-close.
    const other = openStream(channel)
    other.raw({})
    await other.ended
    stream.stream.cancel()
    await stream.ended
    for (;;) {
      const next = openStream(channel)
      next.request(startOf(busy.token))
      await next.answered
      const [answer] = next.responses
      next.stream.cancel()
      if (answer?.['operation-result'] === 'success') break
    }
    channel.close()
    await busy.close()
  })
})

describe('a message', () => {
  it('that is too big is refused by name, with its response', async () => {
    const { responses, status, details } = await converse(
      service,
      (stream) => {
        stream.request(startOf(service.token))
      },
      (response, stream) => {
        if (response['operation-result'] !== 'success') return
        stream.write({ message: { binary_content: new Uint8Array(2 * 1_048_576), content_type: 0 } })
      },
    )
    const refusal = 'message-too-big: A message of 2097152 bytes is larger than the 1048576 allowed.'
    expect(responses[1]?.['operation-result']).toBe(refusal)
    expect({ status, details }).toEqual({ status: 'RESOURCE_EXHAUSTED', details: refusal })
  })

  it('that exceeds what the gRPC package reads or decompresses is refused by name all the same', async () => {
    const running = await started()
    running.raw({ binary_content: new Uint8Array(5 * 1_048_576), content_type: 0 })
    expect(await running.ended).toMatchObject({
      status: 'RESOURCE_EXHAUSTED',
      details: expect.stringMatching(/^message-too-big: A message of 52428\d\d bytes/) as unknown,
      responses: [
        { 'operation-result': 'success' },
        { 'operation-result': expect.stringMatching(/^message-too-big: /) as unknown },
      ],
    })
    const channel = plainClient(service, { 'grpc.default_compression_algorithm': compressionAlgorithms.gzip })
    const bomb = openStream(channel)
    bomb.raw({ binary_content: new Uint8Array(50 * 1_048_576), content_type: 0 })
    expect(await bomb.ended).toMatchObject({
      status: 'RESOURCE_EXHAUSTED',
      details: expect.stringMatching(/^message-too-big: .*decompressed/) as unknown,
      responses: [{ 'operation-result': expect.stringMatching(/^message-too-big: /) as unknown }],
    })
    channel.close()
    await expectAllPlaces()
  })

  it('that is compressed with an unknown method, or incorrectly, is refused by name', async () => {
    for (const encoding of ['gzip', 'snappy']) {
      const session = connect(`http://${service.service.access.grpc}`)
      const request = session.request({
        ':method': 'POST',
        ':path': '/dataflow/Stream',
        'content-type': 'application/grpc',
        te: 'trailers',
        'grpc-encoding': encoding,
      })
      const trailers = once(request, 'trailers') as Promise<[Record<string, string>]>
      request.resume()
      request.write(Buffer.from([1, 0, 0, 0, 3, 1, 2, 3]))
      const [{ 'grpc-status': status, 'grpc-message': details = '' }] = await trailers
      expect({ encoding, status, details: decodeURI(details) }).toEqual({
        encoding,
        status: '3',
        details: expect.stringMatching(/^protocol-violation: A message cannot be decompressed/) as unknown,
      })
      request.close()
      await new Promise<void>((resolve) => {
        session.close(resolve)
      })
    }
  })

  it('of the maximum size is accepted, and empty ones have no effect', async () => {
    const { status, events } = await converse(
      service,
      (stream) => {
        stream.request(startOf(service.token))
      },
      (_response, stream) => {
        for (let count = 0; count < 100; count += 1) stream.write({ message: {} })
        stream.write({ message: { binary_content: new Uint8Array(1_048_576), content_type: 0 } })
        stream.end()
      },
    )
    expect(status).toBe('OK')
    expect(events.map((event) => event['Name'])).toEqual(['SR Silence', 'SR Silence', 'SR Final'])
    expect(events[2]).toMatchObject({ Channel: 0, EndMsec: 65_536, Data: { Text: '', Confidence: 0 } })
  })

  it('of an unknown method is answered UNIMPLEMENTED', async () => {
    const other = new Client(service.service.access.grpc, credentials.createInsecure())
    const code = await new Promise((resolve) => {
      const asIs = (bytes: Buffer): Buffer => bytes
      other.makeUnaryRequest('/dataflow/Other', asIs, asIs, Buffer.alloc(0), (error) => {
        resolve(error?.code)
      })
    })
    expect(code).toBe(12)
    other.close()
  })
})
