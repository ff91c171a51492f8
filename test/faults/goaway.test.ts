import { happeningsOf } from '../client/happenings.js'
import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js'
import { concatMap, delay, from, lastValueFrom, map, range, tap, toArray } from 'rxjs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { contentType } from '../../src/protocol/dataflow-messages.js'
import { dataflow } from '../../src/client/dataflow/dataflow.js'
import { loadDataflow } from '../../src/transport/grpc/proto.js'
import type { DataflowMessage } from '../../src/transport/link.js'

type ServerCall = ServerDuplexStream<DataflowMessage, DataflowMessage>

/** Each chunk is a word, named by the number in its bytes; every tenth chunk is followed by a milestone. */
const chunkMs = 20
const chunkCount = 100
const goAwayAfterChunks = 25
/** Before this one, the audio waits for the second stream, which may take long on a busy machine. */
const waitingChunk = 40

const messageOf = (type: number, content: object): DataflowMessage => ({
  contentType: type,
  content: JSON.stringify(content),
  binaryContent: new Uint8Array(0),
})

const result = (Name: string, received: readonly number[], from: number): DataflowMessage =>
  messageOf(contentType.event, {
    Name,
    Channel: 0,
    StartMsec: from * chunkMs,
    EndMsec: received.length * chunkMs,
    Data: { Text: received.slice(from).join(' ') },
  })

describe('a gRPC service that sends GOAWAY and lets its streams continue', () => {
  let server: Server
  let port: number
  /** What each stream received. */
  let streams: number[][]
  let secondStream: Promise<void>

  beforeEach(async () => {
    streams = []
    let opened = (): void => undefined
    secondStream = new Promise((resolve) => (opened = resolve))
    server = new Server()
    const Stream = (call: ServerCall): void => {
      const received: number[] = []
      streams.push(received)
      if (streams.length === 2) opened()
      call.on('data', ({ contentType: type, binaryContent }: DataflowMessage) => {
        if (type === contentType.request) call.write(messageOf(contentType.response, { 'operation-result': 'success' }))
        if (type !== contentType.audio) return
        received.push(binaryContent[0] ?? -1)
        if (received.length % 10 === 0) call.write(result('SR Milestone', received, received.length - 10))
        if (streams.length === 1 && received.length === goAwayAfterChunks) server.drain(`127.0.0.1:${port}`, 60_000)
      })
      call.on('end', () => {
        call.write(result('SR Final', received, 0))
        call.end()
      })
      call.on('error', () => undefined)
    }
    server.addService({ ...loadDataflow() }, { Stream })
    port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      )
    })
  })

  afterEach(() => server.forceShutdown())

  it('is replaced at a milestone by a connection that was opened before: nothing is lost or emitted twice', async () => {
    const url = `127.0.0.1:${port}`
    const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
    const options = { url, connection: { insecure: true }, token: 't', tenant: 'Default', project: 'words', format }
    const microphone$ = range(0, chunkCount).pipe(
      concatMap((index) =>
        from(index === waitingChunk ? secondStream : Promise.resolve()).pipe(
          delay(chunkMs),
          map(() => new Uint8Array(chunkMs * 16).fill(index)),
        ),
      ),
    )
    const states: string[] = []
    const events = await lastValueFrom(
      microphone$.pipe(
        dataflow(options),
        tap((event) => states.push(...happeningsOf(event))),
        toArray(),
      ),
    )
    const words = events.flatMap((event) => (event.type === 'milestone' ? event.text.split(' ').map(Number) : []))
    const all = Array.from({ length: chunkCount }, (_, index) => index)
    expect(words).toEqual(all)
    expect(states.slice(3)).toEqual(['streaming', 'resumed', 'finalizing', 'done'])
    expect(streams).toHaveLength(2)
    const [first = [], second = []] = streams
    expect(first).toEqual(all.slice(0, first.length))
    expect(second).toEqual(all.slice(-second.length))
    expect(first.length).toBeLessThan(chunkCount)
    // Audio in transit while the milestone arrives is sent again.
    expect(first.length + second.length).toBeLessThan(chunkCount + 10)
  })
})
