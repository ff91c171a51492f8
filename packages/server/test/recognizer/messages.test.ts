import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import type { Engine } from '../../../engines/src/engine.js'
import type { SocketMessage } from '../../../../src/transport/link.js'
import { flushPromises } from '../../../service/test/virtual-clock.js'
import {
  brief,
  countedEngine,
  finalizeRecognition,
  inState,
  nothingLeft,
  parsed,
  recognize,
  connectRecognizer,
  states,
  stopRecognition,
  untilFinal,
  vanish,
  type State,
} from './recognizer-connection.js'
import { spoken } from '../sessions/spoken.js'
import { deferred } from '../sessions/test-connection.js'

describe('a recognition', () => {
  it('sends partials and milestones, and one final after the response to finalize', async () => {
    const engine = countedEngine()
    const connection = connectRecognizer(() => Promise.resolve(engine))
    connection.send(recognize(), await spoken(4_000), finalizeRecognition)
    const received = await untilFinal(connection)
    const briefs = received.map(brief)
    expect(briefs[0]).toBe('recognize: Success')
    expect(briefs).toContain('finalize-recognition: Success')
    expect(briefs.filter((text) => text.startsWith('partial'))).not.toEqual([])
    const milestones = received.map(parsed).filter((json) => json['message-name'] === 'milestone-result')
    const final = parsed(received.at(-1) ?? '')
    expect(milestones.map((json) => json['text']).join('')).toBe(final['text'])
    for (const { text, words, confidence } of milestones) {
      const list = JSON.parse(String(words)) as readonly { readonly text: string }[]
      expect(list.map((word) => word.text).join(' ')).toBe(String(text).trim())
      expect(confidence).toBe('0.90')
    }
    expect(final).toMatchObject({ 'operation-result': 'Success', confidence: '0.90', channel: '0' })
    expect(new Set(received.map((message) => parsed(message)['recognition-id'])).size).toBe(1)
    for (const message of received) {
      expect(Object.values(parsed(message)).every((value) => typeof value === 'string')).toBe(true)
      for (const field of ['start-msec', 'end-msec']) expect(parsed(message)[field] ?? '0').toMatch(/^\d+$/)
    }
    await flushPromises()
    expect(connection.since()).toEqual([])
    vanish(connection)
    nothingLeft(connection, engine)
  })

  it.each([7, 100, 2_000])(
    'ends by a graceful silence at the moment of its decision, in messages of %i ms',
    async (ms) => {
      const engine = countedEngine()
      const connection = connectRecognizer(() => Promise.resolve(engine))
      connection.send(recognize({ 'vad-graceful-silence-threshold-msec': 1_000 }))
      await connection.receive()
      for (let sentMs = 0; sentMs < 2_000; sentMs += ms) connection.send(new Uint8Array(ms * 16))
      expect(parsed(await connection.receive())).toMatchObject({
        'message-name': 'final-result',
        'operation-result': 'Success',
        text: '',
        'start-msec': '0',
        'end-msec': '1000',
      })
      connection.send(finalizeRecognition)
      expect(brief(await connection.receive())).toBe('finalize-recognition: no-recognition')
      vanish(connection)
      nothingLeft(connection, engine)
    },
  )

  it('sends nothing for a long silence that does not end the recognition', async () => {
    const engine = countedEngine()
    const connection = connectRecognizer(() => Promise.resolve(engine))
    connection.send(recognize())
    await connection.receive()
    for (let sentMs = 0; sentMs < 65_000; sentMs += 1_000) connection.send(new Uint8Array(16_000))
    connection.send(finalizeRecognition)
    expect(brief(await connection.receive())).toBe('finalize-recognition: Success')
    expect(parsed(await connection.receive())).toMatchObject({ 'message-name': 'final-result', 'end-msec': '65000' })
    vanish(connection)
    nothingLeft(connection, engine)
  })

  it('is refused when the address names another model, and runs when it names the same model', async () => {
    const open = () => Promise.resolve(countedEngine())
    const other = connectRecognizer(open, {}, 'other')
    other.send(recognize())
    expect(brief(await other.receive())).toBe('recognize: model-mismatch')
    const same = connectRecognizer(open, {}, 'm')
    same.send(recognize())
    expect(brief(await same.receive())).toBe('recognize: Success')
    for (const item of [other, same]) vanish(item)
  })
})

/** The responses, and how the socket ends (`-`: it stays open), by state. */
type Row = readonly [string, SocketMessage, Readonly<Record<State, readonly [readonly string[], string]>>]
const stays = (...answers: readonly string[]): readonly [readonly string[], string] => [answers, '-']
const broken = (code: string): Row[2] => ({
  opened: [[], code],
  running: [[`final-result: ${code} ""`], code],
  flushing: [[`final-result: ${code} ""`], code],
  idle: [[], code],
})

describe('every message in every state', () => {
  const table: readonly Row[] = [
    [
      'recognize',
      recognize(),
      {
        opened: stays('recognize: Success'),
        running: stays('recognize: already-started'),
        flushing: stays('recognize: already-started'),
        idle: stays('recognize: Success'),
      },
    ],
    [
      'a recognize with a bad field',
      recognize({ 'sample-rate': 5 }),
      {
        opened: stays('recognize: invalid-field'),
        running: stays('recognize: already-started'),
        flushing: stays('recognize: already-started'),
        idle: stays('recognize: invalid-field'),
      },
    ],
    [
      'stop-recognition',
      stopRecognition,
      {
        opened: stays('stop-recognition: no-recognition'),
        running: stays('stop-recognition: Success'),
        flushing: stays('stop-recognition: Success'),
        idle: stays('stop-recognition: no-recognition'),
      },
    ],
    [
      'finalize-recognition',
      finalizeRecognition,
      {
        opened: stays('finalize-recognition: no-recognition'),
        running: stays('finalize-recognition: Success'),
        flushing: stays('finalize-recognition: Success'),
        idle: stays('finalize-recognition: no-recognition'),
      },
    ],
    ['audio', new Uint8Array(320), { opened: [[], 'not-started'], running: stays(), flushing: stays(), idle: stays() }],
    [
      'a cut sample',
      new Uint8Array(321),
      {
        opened: [[], 'not-started'],
        running: [['final-result: cut-sample ""'], 'cut-sample'],
        flushing: stays(),
        idle: stays(),
      },
    ],
    ['junk', 'junk', broken('invalid-json')],
    ['an unknown message', '{"message-name":"dance"}', broken('unknown-message')],
  ]
  const cases = table.flatMap(([name, message, byState]) =>
    states.map((state) => [name, state, message, byState[state]] as const),
  )
  it.each(cases)('answers %s when %s as the protocol defines', async (_name, state, message, [answers, end]) => {
    const connection = await inState(state)
    connection.send(message)
    await flushPromises()
    expect(connection.since()).toEqual(answers)
    expect(connection.end() ?? '-').toBe(end)
    if (end === '-') vanish(connection)
    nothingLeft(connection, connection.engine)
    expect(connection.faults).toEqual([])
  })

  it('sends no final after a stop', async () => {
    const connection = await inState('flushing')
    connection.send(stopRecognition)
    connection.gate$.complete()
    await flushPromises()
    expect(connection.since()).toEqual(['stop-recognition: Success'])
    expect(connection.engine.running()).toBe(0)
    vanish(connection)
  })

  it('sends one final, however often the client finalizes', async () => {
    const connection = await inState('flushing')
    connection.send(finalizeRecognition, new Uint8Array(320), finalizeRecognition)
    connection.gate$.complete()
    await untilFinal(connection)
    connection.send(finalizeRecognition)
    await flushPromises()
    expect(connection.since()).toEqual(['finalize-recognition: no-recognition'])
    vanish(connection)
    nothingLeft(connection, connection.engine)
  })
})

describe('while a recognition starts', () => {
  it('queues messages in order, with the client paused, until it is answered', async () => {
    const loaded = deferred<Engine>()
    const connection = connectRecognizer(() => loaded.promise)
    connection.send(recognize(), new Uint8Array(320), recognize(), stopRecognition, stopRecognition)
    await flushPromises()
    expect(connection.since()).toEqual([])
    expect(connection.client.bufferedBytes).toBeGreaterThan(320)
    const engine = countedEngine()
    loaded.resolve(engine)
    await flushPromises()
    expect(connection.since()).toEqual([
      'recognize: Success',
      'recognize: already-started',
      'stop-recognition: Success',
      'stop-recognition: no-recognition',
    ])
    vanish(connection)
    nothingLeft(connection, engine)
  })

  it('is refused when the model cannot be loaded, and the connection stays open', async () => {
    const connection = connectRecognizer(() =>
      Promise.reject(new SpeechError('invalid-model', 'Correct /home/service/models/x.gram.')),
    )
    connection.send(recognize())
    const answer = await connection.receive()
    expect(brief(answer)).toBe('recognize: engine-failed')
    expect(answer).not.toContain('/home')
    expect(connection.faults).toHaveLength(1)
    connection.send(recognize())
    expect(brief(await connection.receive())).toBe('recognize: engine-failed')
    vanish(connection)
    nothingLeft(connection)
  })
})
