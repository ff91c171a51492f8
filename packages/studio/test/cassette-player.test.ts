import { describe, expect, it } from 'vitest'
import { decodeMuLaw } from '../../../src/audio/g711.js'
import { parseCassette, toBase64 } from '../src/cassette/cassette-lines.js'
import { overlapAt, playCassette } from '../src/cassette/cassette-player.js'
import { incidentSentence } from '../src/state/sentences.js'
import { initialState, reduce } from '../src/state/state.js'

const noise = Uint8Array.from({ length: 64_000 }, (_, at) => (at * 7919 + Math.floor(at / 251) * 31) % 251)
const chunkMs = 100
const chunkBytes = 1600

const header = {
  version: 1,
  transport: 'websocket',
  format: { encoding: 'pcm', sampleRateHz: 8000, channels: 1 },
  startedAt: '2026-01-31T12:00:00.000Z',
  audio: 'embedded',
}
const start = JSON.stringify({
  'message-name': 'recognize',
  'audio-format': 'pcm',
  'model-name': 'call',
  'sample-rate': 8000,
})
const message = (name: string, fields: object) =>
  JSON.stringify({ 'message-name': name, 'recognition-id': 'r1', ...fields })
const response = message('recognize-response', { 'operation-result': 'Success' })
const result = (name: string, text: string, startMs: number, endMs: number) =>
  message(name, { text, 'start-msec': String(startMs), 'end-msec': String(endMs) })

/** Audio messages of one connection from a position on, one every 100 ms. */
const audio = (connection: number, fromMs: number, toMs: number, sentMs: number) =>
  Array.from({ length: (toMs - fromMs) / chunkMs }, (_, index) => {
    const from = ((fromMs + index * chunkMs) * chunkBytes) / chunkMs
    const bytes = noise.subarray(from, from + chunkBytes)
    return {
      atMs: sentMs + (index + 1) * chunkMs,
      connection,
      event: 'sent',
      bytes: bytes.length,
      base64: toBase64(bytes),
    }
  })

const cassette = (lines: readonly { readonly atMs: number }[]): string =>
  [header, ...[...lines].sort((a, b) => a.atMs - b.atMs)].map((line) => JSON.stringify(line)).join('\n')

const lines = [
  { atMs: 0, connection: 1, event: 'dial' },
  { atMs: 50, connection: 1, event: 'open' },
  { atMs: 51, connection: 1, event: 'sent', text: start },
  { atMs: 60, connection: 1, event: 'received', text: response },
  ...audio(1, 0, 2000, 100),
  { atMs: 700, connection: 1, event: 'received', text: result('partial-result', 'good', 0, 600) },
  { atMs: 1300, connection: 1, event: 'received', text: result('milestone-result', 'good morning', 0, 900) },
  { atMs: 2150, connection: 1, event: 'ended', code: 'connection-lost' },
  { atMs: 2200, connection: 2, event: 'dial' },
  { atMs: 2500, connection: 2, event: 'open' },
  { atMs: 2501, connection: 2, event: 'sent', text: start },
  { atMs: 2510, connection: 2, event: 'received', text: response },
  ...audio(2, 900, 4000, 2510).map((line) => ({ ...line, atMs: Math.max(2520, line.atMs - 1400) })),
  { atMs: 4300, connection: 2, event: 'sent', text: message('finalize-recognition', {}) },
  {
    atMs: 4310,
    connection: 2,
    event: 'received',
    text: message('finalize-recognition-response', { 'operation-result': 'Success' }),
  },
  { atMs: 4400, connection: 2, event: 'received', text: result('milestone-result', 'thank you', 1500, 2500) },
  {
    atMs: 4410,
    connection: 2,
    event: 'received',
    text: message('final-result', { 'operation-result': 'Success', text: 'thank you', 'heard-msec': '3100' }),
  },
  { atMs: 4420, connection: 2, event: 'close' },
  { atMs: 4430, event: 'end', outcome: 'complete' },
]

/** The state at the end of a cassette. */
const stateOf = async (text: string) => {
  const { inputs, title, channels } = await playCassette(parseCassette(text), 'call.jsonl')
  return inputs.reduce(
    (state, { input }) => reduce(state, input),
    reduce(initialState, { type: 'started', title, channels }),
  )
}

describe('a cassette in the studio', () => {
  it('shows the recorded session again: text, audio, and the loss of its connection', async () => {
    const played = await playCassette(parseCassette(cassette(lines)), 'call.jsonl')
    const state = played.inputs.reduce(
      (before, { input }) => reduce(before, input),
      reduce(initialState, { type: 'started', title: played.title, channels: played.channels }),
    )
    expect(state.lines.map(({ words }) => words.map(({ text }) => text).join(' '))).toEqual(['good morning thank you'])
    expect(state).toMatchObject({ phase: 'ended', failure: undefined, stopped: false })
    expect(state.ledger).toMatchObject({ capturedMs: 4000, finalizedMs: 4000, pendingMs: 0, droppedMs: 0 })
    expect(state.incidents.map((incident) => incidentSentence(incident))).toEqual([
      expect.stringMatching(
        /^Connection lost at 2\.0 s, resumed after 0\.4 s, \d\.\d s of audio sent again, nothing lost\.$/,
      ),
    ])
    expect(await played.tracks[0]?.read(0, 5000)).toEqual(new Int16Array(noise.slice().buffer))
  })

  it('shows the text of any position', async () => {
    const { inputs } = await playCassette(parseCassette(cassette(lines)), 'call.jsonl')
    const until = (ms: number) =>
      inputs.filter(({ audioMs }) => audioMs <= ms).reduce((state, { input }) => reduce(state, input), initialState)
    expect(until(1000).partials).toEqual(['good'])
    expect(until(1000).lines).toEqual([])
    expect(until(2000).lines).toHaveLength(1)
    expect(until(2000).phase).toBe('reconnecting')
  })

  it('shows a session that its user ended, and one that failed', async () => {
    const cut = lines.filter(({ atMs }) => atMs < 1400)
    const close = { atMs: 1450, connection: 1, event: 'close' }
    const unsubscribed = { atMs: 1460, event: 'end', outcome: 'unsubscribed' }
    const left = await stateOf(cassette([...cut, close, unsubscribed]))
    expect(left.lines.map(({ status }) => status)).toEqual(['recognized', 'gap'])
    expect(left).toMatchObject({ phase: 'ended', incidents: [] })
    const lost = { atMs: 1450, connection: 1, event: 'ended', code: 'connection-lost' }
    const failed = { atMs: 1460, event: 'end', outcome: 'error', code: 'connection-lost', message: 'The line is dead.' }
    expect((await stateOf(cassette([...cut, lost, failed]))).failure?.message).toBe('The line is dead.')
  })

  it('shows a session of gRPC, with the times of its words and the audio of both channels', async () => {
    const stereo = Uint8Array.from({ length: 32_000 }, (_, at) => (at % 2 === 0 ? 0xff : (noise[at] ?? 0)))
    const sent = (text: object) => ({ connection: 1, event: 'sent', contentType: 2, text: JSON.stringify(text) })
    const received = (contentType: number, text: object) => ({
      connection: 1,
      event: 'received',
      contentType,
      text: JSON.stringify(text),
    })
    const said = (Name: string, Channel: number, Text: string, StartMsec: number, EndMsec: number, more = {}) =>
      received(1, { Name, Channel, StartMsec, EndMsec, GroupId: '', Tags: [], Data: { Text, ...more } })
    const Words = [
      { Text: 'good', StartMsec: 120, EndMsec: 300, Confidence: 0.5 },
      { Text: 'evening', StartMsec: 310, EndMsec: 700, Confidence: 0.9 },
    ]
    const grpc = [
      { ...header, transport: 'grpc', format: { encoding: 'ulaw', sampleRateHz: 8000, channels: 2 } },
      { atMs: 0, connection: 1, event: 'dial', address: '127.0.0.1:8782' },
      { atMs: 10, connection: 1, event: 'open' },
      { atMs: 11, ...sent({ MessageName: 'Start', Settings: { ModelName: 'call' } }) },
      { atMs: 20, ...received(3, { MessageName: 'StartResponse', 'operation-result': 'success' }) },
      ...Array.from({ length: 10 }, (_, index) => {
        const bytes = stereo.subarray(index * 3200, index * 3200 + 3200)
        const audioLine = { connection: 1, event: 'sent', contentType: 0, bytes: bytes.length, base64: toBase64(bytes) }
        return { atMs: 200 * (index + 1), ...audioLine }
      }),
      { atMs: 900, ...received(1, { Name: 'Speech Started', Channel: 0, StartMsec: 100, EndMsec: -1, Data: null }) },
      { atMs: 950, ...said('SR Partial', 1, 'hello', 200, 900) },
      { atMs: 1000, ...said('SR Milestone', 0, 'good evening', 100, 800, { Confidence: 0.7, Words }) },
      { atMs: 2010, connection: 1, event: 'finish' },
      { atMs: 2050, ...said('SR Milestone', 1, 'hello', 200, 1500) },
      { atMs: 2060, ...said('SR Final', 0, 'good evening', 100, 800, { HeardMsec: 2000 }) },
      { atMs: 2070, ...said('SR Final', 1, 'hello', 200, 1500, { HeardMsec: 2000 }) },
      { atMs: 2080, connection: 1, event: 'ended' },
      { atMs: 2081, event: 'end', outcome: 'complete' },
    ]
    const text = grpc
      .sort((a, b) => ('atMs' in a ? a.atMs : -1) - ('atMs' in b ? b.atMs : -1))
      .map((line) => JSON.stringify(line))
      .join('\n')
    const played = await playCassette(parseCassette(text), 'call.jsonl')
    const state = await stateOf(text)
    expect(state).toMatchObject({ phase: 'ended', failure: undefined, stopped: false, incidents: [], gaps: [] })
    expect(state.lines.map(({ channel, words }) => [channel, ...words])).toEqual([
      [
        0,
        { text: 'good', startMs: 120, endMs: 300, confidence: 0.5, times: 'service' },
        { text: 'evening', startMs: 310, endMs: 700, confidence: 0.9, times: 'service' },
      ],
      [1, expect.objectContaining({ text: 'hello', times: 'estimate' })],
    ])
    expect(state.finals).toHaveLength(2)
    expect(state.ledger).toMatchObject({ capturedMs: 4000, finalizedMs: 4000 })
    const [left, right] = await Promise.all(played.tracks.map((track) => track.read(0, 3000)))
    expect(left).toEqual(new Int16Array(16_000))
    expect(right).toEqual(decodeMuLaw(stereo.filter((_, at) => at % 2 === 1)))
  })

  it('finds where a connection sends audio again', () => {
    const all = Uint8Array.of(9, 9, 1, 2, 3, 4, 1, 2)
    expect(overlapAt(all, Uint8Array.of(1, 2, 3, 4, 1, 2, 5, 6))).toBe(2)
    expect(overlapAt(all, Uint8Array.of(1, 2, 7, 7))).toBe(6)
    expect(overlapAt(all, Uint8Array.of(8, 8))).toBe(8)
    expect(overlapAt(new Uint8Array(), Uint8Array.of(8, 8))).toBe(0)
    expect(overlapAt(all, new Uint8Array())).toBe(8)
  })

  it('refuses other files with a sentence', () => {
    expect(() => parseCassette('RIFF')).toThrow('Line 1 of this file is not JSON, so it is not a cassette.')
    expect(() => parseCassette('{"type":"partial"}')).toThrow('This file is not a cassette')
    expect(() => parseCassette(`${JSON.stringify(header)}\n{"event":"open"}`)).toThrow('Line 2 of the cassette')
  })
})
