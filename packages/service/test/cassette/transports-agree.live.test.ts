import { happeningsOf } from '../../../../test/client/happenings.js'
import { existsSync } from 'node:fs'
import { lastValueFrom, toArray } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bytesForMs, type AudioFormat } from '../../../../src/audio/format.js'
import type { Cassette } from '../../../../src/cassette/format/cassette.js'
import { parseCassette } from '../../../../src/cassette/format/read-cassette.js'
import { record } from '../../../../src/cassette/record/record.js'
import { replay } from '../../../../src/cassette/replay/replay.js'
import type { SessionEvent } from '../../../../src/protocol/session-event.js'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import { readRecording } from '../../../../test/audio/read-recording.js'
import { liveService, callModels, type LiveService } from '../interop/live-service.js'
import { resultsByChannel, sessionOptions, type Over } from '../interop/session-options.js'

let live: LiveService
beforeAll(async () => {
  live = await liveService({ modelFolders: [callModels, 'packages/engines/test/fixtures'], defaultModel: 'call' })
})
afterAll(() => live.close())

interface Sound {
  readonly format: AudioFormat
  readonly chunks: readonly Uint8Array[]
}

/** The beginning of a recording. */
const soundOf = async (path: string, maxMs: number): Promise<Sound> => {
  const { format, bytes: whole } = await readRecording(path)
  const bytes = whole.subarray(0, bytesForMs(format, maxMs))
  const size = 1600
  const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_none, index) =>
    bytes.subarray(index * size, index * size + size),
  )
  return { format, chunks }
}

interface Recorded {
  readonly cassette: Cassette
  readonly events: readonly SessionEvent[]
}

const recordOver = async (over: Over, { format, chunks }: Sound, model: string): Promise<Recorded> => {
  const lines: string[] = []
  const recorded = record((line) => void lines.push(line))
  const options = sessionOptions(live, format, model)
  const session = over === 'grpc' ? recorded(dataflow, options.grpc) : recorded(recognize, options.websocket)
  const events = await lastValueFrom(session(chunks).pipe(toArray()))
  expect(lines.join('\n')).not.toContain(live.token)
  return { cassette: parseCassette(lines), events }
}

const replayed = (over: Over, { cassette }: Recorded, { chunks }: Sound): Promise<SessionEvent[]> => {
  const recorded = replay(cassette)
  const session = over === 'grpc' ? dataflow(recorded.dataflow()) : recognize(recorded.recognizer())
  return lastValueFrom(session(chunks).pipe(toArray()))
}

/** What must be equal over both transports: the states, and milestones and finals by channel. */
const promised = (events: readonly SessionEvent[]): unknown => ({
  states: events.flatMap((event) => happeningsOf(event)),
  refusals: events.filter((event) => event.type === 'response' && !event.success),
  results: resultsByChannel(events),
})

const results = (events: readonly SessionEvent[]): number =>
  events.filter(({ type }) => type === 'milestone' || type === 'final').length

/** The events that messages cause; the others are emitted by the session itself. */
const fromTheWire = (events: readonly SessionEvent[]): readonly SessionEvent[] =>
  events.filter(({ type }) => type !== 'ledger' && type !== 'connection')

const speech = '../shared/audio/ten-of-clubs.wav'
const sounds = [
  { name: 'the sample call', path: 'samples/call.wav', model: 'call', maxMs: 9_500, minResults: 5 },
  ...(existsSync(speech)
    ? [{ name: 'a recording of a person', path: speech, model: 'cards', maxMs: 60_000, minResults: 2 }]
    : []),
]

describe.each(sounds)('cassettes of $name', { timeout: 200_000 }, ({ path, model, maxMs, minResults }) => {
  it('emit equal events over both transports when recorded and when replayed', async () => {
    const sound = await soundOf(path, maxMs)
    const grpc = await recordOver('grpc', sound, model)
    const websocket = await recordOver('websocket', sound, model)
    await replayed('grpc', grpc, sound)
    const [fromGrpc, fromSocket] = [await replayed('grpc', grpc, sound), await replayed('websocket', websocket, sound)]
    expect(results(fromGrpc)).toBeGreaterThanOrEqual(minResults)
    expect(promised(fromGrpc)).toEqual(promised(fromSocket))
    expect(promised(fromGrpc)).toEqual(promised(grpc.events))
    // Each replay equals its recording, event by event.
    expect(fromTheWire(fromGrpc)).toEqual(fromTheWire(grpc.events))
    const perChannel = (events: readonly SessionEvent[], channel: number): readonly SessionEvent[] =>
      fromTheWire(events).filter((event) => 'channel' in event && event.channel === channel)
    for (const channel of [0, 1]) expect(perChannel(fromSocket, channel)).toEqual(perChannel(websocket.events, channel))
  })
})
