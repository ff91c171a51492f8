import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { asyncScheduler, type SchedulerLike } from 'rxjs'
import type { SpeechError } from '../../../../src/errors/speech-error.js'
import { createVosk, vosk } from '../../src/vosk/vosk.js'
import type { Engine, ModelDescription } from '../../src/engine.js'
import { withSegmentRetry } from '../../src/segment-retry.js'
import { segments, TestChannel } from '../contract/test-channel.js'
import { VirtualClock } from '../../../service/test/virtual-clock.js'
import { kindOf } from '../one-segment.js'
import { voskServer, type Answer, type VoskServer } from './vosk-server.js'

const frame = 1_600
const audioOf = (frames: number): Int16Array => new Int16Array(frames * frame)
const end = '{"eof" : 1}'

/** Two results: one at a pause, one at the end. */
const twoResults: Answer = (received) => {
  const frames = received.filter((one) => typeof one === 'number').length
  if (received.at(-1) === end) return { text: 'two', result: [{ conf: 0.5, start: 0.35, end: 0.5, word: 'two' }] }
  if (frames === 1) return { partial: '' }
  if (frames === 2) return { partial: 'on' }
  if (frames === 3) return { text: 'one', result: [{ conf: 1, start: 0.05, end: 0.2, word: 'one' }] }
  return { partial: 'two' }
}

let server: VoskServer
const opened: Engine[] = []
beforeEach(async () => {
  server = await voskServer(twoResults)
})
afterEach(async () => {
  for (const engine of opened.splice(0)) await engine.close()
  await server.close()
})

const modelOf = (change: Readonly<Record<string, unknown>> = {}): ModelDescription => ({
  ...{ tenant: 'Default', name: 'other', version: '1', folder: '/' },
  options: { engine: 'vosk', url: server.url, ...change },
})
const open = async (
  change: Readonly<Record<string, unknown>> = {},
  scheduler: SchedulerLike = asyncScheduler,
): Promise<Engine> => {
  const engine = await createVosk({ KEY: 'sk-1234567890' }, scheduler).open(modelOf(change))
  opened.push(engine)
  return engine
}

const send = (channel: TestChannel, frames: number): TestChannel =>
  channel.send(
    { type: 'open', startMs: 5_000 },
    { type: 'audio', samples: audioOf(frames) },
    { type: 'close', endMs: 5_000 + 100 * frames },
  )

describe('a segment of a Vosk server', () => {
  it('has partials, words with times and confidences, and the results of all pauses', async () => {
    const channel = send(new TestChannel(await open({ secretFrom: { env: 'KEY' } })), 5)
    await channel.until(segments(1))
    expect(channel.partials.map(({ text }) => text)).toEqual(['on', 'one', 'one two'])
    expect(channel.segments).toEqual([
      {
        ...{ type: 'segment', startMs: 5_000, endMs: 5_500, text: 'one two' },
        words: [
          { text: 'one', startMs: 5_050, endMs: 5_200, confidence: 1 },
          { text: 'two', startMs: 5_350, endMs: 5_500, confidence: 0.5 },
        ],
      },
    ])
    const [, stream] = server.streams
    expect(stream?.headers).toMatchObject({ authorization: 'Bearer sk-1234567890' })
    const [config, ...others] = stream?.received ?? []
    expect(JSON.parse(String(config))).toEqual({ config: { sample_rate: 16_000, words: true, max_alternatives: 0 } })
    expect(others).toEqual([...Array<number>(5).fill(2 * frame), end])
  })

  it.each<readonly [string, unknown, object]>([
    [
      'of alternatives',
      {
        alternatives: [{ confidence: 200, text: 'yes', result: [{ start: 0, end: 0.1, word: 'yes' }] }, { text: 'no' }],
      },
      { text: 'yes', words: [{ text: 'yes', startMs: 5_000, endMs: 5_100 }] },
    ],
    ['without words', { text: 'yes' }, { text: 'yes', words: [] }],
    ['with words without times', { text: 'yes', result: [{ word: 'yes' }] }, { text: 'yes', words: [] }],
    ['without text', { text: '' }, { text: '', words: [] }],
  ])('%s', async (_name, result, expected) => {
    server.answer = (received) => (received.at(-1) === end ? result : { partial: '' })
    const channel = send(new TestChannel(await open()), 1)
    await channel.until(segments(1))
    expect(channel.segments[0]).toMatchObject(expected)
  })

  it('sends no more than ten frames ahead of the answers, which are its progress', async () => {
    const held: (() => void)[] = []
    server.answer = (received, socket) => {
      const isEnd = received.at(-1) === end
      held.push(() => socket.send(JSON.stringify(isEnd ? { text: 'ok' } : { partial: '' })))
    }
    const channel = send(new TestChannel(await open()), 12)
    const received = () => server.streams[1]?.received.length
    await expect.poll(received, { interval: 1 }).toBe(1 + 10)
    expect(channel.output).toEqual([])
    held.shift()?.()
    await expect.poll(received, { interval: 1 }).toBe(1 + 11)
    expect(channel.output).toEqual([{ type: 'progress', sampleCount: frame }])
    while (channel.segments.length === 0) {
      held.shift()?.()
      await new Promise(setImmediate)
    }
    expect(channel.segments[0]).toMatchObject({ text: 'ok' })
  })

  it('waits for a connection beyond segmentsAtOnce', async () => {
    const engine = await open({ segmentsAtOnce: 1 })
    server.answer = () => undefined
    const first = send(new TestChannel(engine), 1)
    await expect.poll(() => server.streams[1]?.received.length, { interval: 1 }).toBe(3)
    const second = send(new TestChannel(engine), 5)
    expect(server.streams).toHaveLength(2)
    server.answer = twoResults
    first.unsubscribe()
    await server.streams[1]?.closed
    await second.until(segments(1))
    expect(second.segments[0]).toMatchObject({ text: 'one two' })
  })

  it.each<readonly [string, Answer, string]>([
    ['closes the connection', (_received, socket) => socket.close(1000), 'engine-failed retryable loss'],
    ['is killed', (_received, socket) => socket.terminate(), 'engine-failed retryable loss'],
    ['sends no JSON', () => 'hello', 'engine-failed retryable'],
    [
      'sends more answers than it got frames',
      (_received, socket) => {
        socket.send('{"partial":""}')
        return { partial: '' }
      },
      'engine-failed retryable',
    ],
  ])('fails when the server %s', async (_name, answer, kind) => {
    const channel = new TestChannel(await open())
    server.answer = answer
    channel.send({ type: 'open', startMs: 0 }, { type: 'audio', samples: audioOf(1) })
    const error = await channel.ended()
    expect(kindOf(error)).toBe(kind)
    expect((error as SpeechError).message).toBe(
      'The recognition server of the model Default/other/1 failed; try again.',
    )
  })

  it('fails when an answer is late', async () => {
    const clock = new VirtualClock()
    const channel = new TestChannel(await open({}, clock))
    server.answer = () => undefined
    channel.send({ type: 'open', startMs: 0 }, { type: 'audio', samples: audioOf(1) })
    await expect.poll(() => server.streams[1]?.received.length, { interval: 1 }).toBe(2)
    await expect.poll(() => clock.dueMs, { interval: 1 }).toContain(10_000)
    clock.advanceTo(10_000)
    expect(kindOf(await channel.ended())).toBe('engine-failed retryable loss')
  })

  it('is read again when the server is killed within it, and returns', async () => {
    const clock = new VirtualClock()
    const engine = await open()
    const failures: SpeechError[] = []
    const channel = new TestChannel(
      withSegmentRetry(engine, { scheduler: clock, onFault: (error) => failures.push(error) }),
    )
    await server.close()
    send(channel, 5)
    await expect.poll(() => failures.length, { interval: 1 }).toBe(2)
    await expect(engine.ready()).rejects.toMatchObject({ code: 'engine-failed', cause: { code: 'connection-failed' } })
    const port = Number(new URL(server.url).port)
    server = await voskServer(twoResults, port)
    clock.advanceTo(1_000)
    await channel.until(segments(1))
    expect(channel.segments[0]).toMatchObject({ text: 'one two' })
    expect(failures.map(kindOf)).toEqual(Array(2).fill('engine-failed retryable loss'))
  })
})

describe('a model of the engine vosk', () => {
  it.each<readonly [Readonly<Record<string, unknown>>, RegExp]>([
    [{ url: 'http://127.0.0.1:2700' }, /"url" in model\.json must be an address that begins with wss/],
    [{ url: 'ws://speech.example.com' }, /must begin with wss.*"insecure": true allows it/],
    [{ secretFrom: { env: 'NOT_SET' } }, /NOT_SET, which is not set/],
    [{ language: 'de' }, /"language" in model\.json is not known/],
  ])('is refused with %j', async (change, message) => {
    await expect(open(change)).rejects.toMatchObject({
      code: 'invalid-model',
      message: expect.stringMatching(message) as unknown,
    })
  })

  it('fails to open while the server is away', async () => {
    await server.close()
    await expect(vosk().open(modelOf())).rejects.toMatchObject({
      code: 'engine-failed',
      cause: { code: 'connection-failed' },
    })
    server = await voskServer(twoResults)
  })
})
