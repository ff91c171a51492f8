import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../src/errors/speech-error.js'
import type { Engine } from '../../../src/service/engines/engine.js'
import type { SocketMessage } from '../../../src/transport/link.js'
import { turn } from '../virtual-clock.js'
import {
  brief,
  countedEngine,
  finalizeRecognition,
  inState,
  nothingLeft,
  parsed,
  recognize,
  recognizerTalk,
  states,
  stopRecognition,
  untilFinal,
  vanish,
  type State,
} from './recognizer-talk.js'
import { spoken } from '../sessions/spoken.js'
import { deferred } from '../sessions/talk.js'

describe('a recognition', () => {
  it('sends partials and milestones, and one final after the response to finalize', async () => {
    const engine = countedEngine()
    const one = recognizerTalk(() => Promise.resolve(engine))
    one.say(recognize(), await spoken(4_000), finalizeRecognition)
    const heard = await untilFinal(one)
    const told = heard.map(brief)
    expect(told[0]).toBe('recognize: Success')
    expect(told).toContain('finalize-recognition: Success')
    expect(told.filter((text) => text.startsWith('partial'))).not.toEqual([])
    const milestones = heard.map(parsed).filter((json) => json['message-name'] === 'milestone-result')
    const final = parsed(heard.at(-1) ?? '')
    expect(milestones.map((json) => json['text']).join('')).toBe(final['text'])
    expect(final).toMatchObject({ 'operation-result': 'Success', confidence: '0.90', channel: '0' })
    expect(new Set(heard.map((message) => parsed(message)['recognition-id'])).size).toBe(1)
    for (const message of heard) {
      expect(Object.values(parsed(message)).every((value) => typeof value === 'string')).toBe(true)
      for (const field of ['start-msec', 'end-msec']) expect(parsed(message)[field] ?? '0').toMatch(/^\d+$/)
    }
    await turn()
    expect(one.since()).toEqual([])
    vanish(one)
    nothingLeft(one, engine)
  })

  it.each([7, 100, 2_000])(
    'ends by a graceful silence at the moment of its decision, in messages of %i ms',
    async (ms) => {
      const engine = countedEngine()
      const one = recognizerTalk(() => Promise.resolve(engine))
      one.say(recognize({ 'vad-graceful-silence-threshold-msec': 1_000 }))
      await one.hear()
      for (let sentMs = 0; sentMs < 2_000; sentMs += ms) one.say(new Uint8Array(ms * 16))
      expect(parsed(await one.hear())).toMatchObject({
        'message-name': 'final-result',
        'operation-result': 'Success',
        text: '',
        'start-msec': '0',
        'end-msec': '1000',
      })
      one.say(finalizeRecognition)
      expect(brief(await one.hear())).toBe('finalize-recognition: no-recognition')
      vanish(one)
      nothingLeft(one, engine)
    },
  )

  it('sends nothing for a long silence that does not end the recognition', async () => {
    const engine = countedEngine()
    const one = recognizerTalk(() => Promise.resolve(engine))
    one.say(recognize())
    await one.hear()
    for (let sentMs = 0; sentMs < 65_000; sentMs += 1_000) one.say(new Uint8Array(16_000))
    one.say(finalizeRecognition)
    expect(brief(await one.hear())).toBe('finalize-recognition: Success')
    expect(parsed(await one.hear())).toMatchObject({ 'message-name': 'final-result', 'end-msec': '65000' })
    vanish(one)
    nothingLeft(one, engine)
  })

  it('is refused when the address names another model, and runs when it names the same model', async () => {
    const open = () => Promise.resolve(countedEngine())
    const other = recognizerTalk(open, {}, 'other')
    other.say(recognize())
    expect(brief(await other.hear())).toBe('recognize: model-mismatch')
    const same = recognizerTalk(open, {}, 'm')
    same.say(recognize())
    expect(brief(await same.hear())).toBe('recognize: Success')
    for (const one of [other, same]) vanish(one)
  })
})

/** What is answered, and how the socket ends (`-`: it stays), by state. */
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
  it.each(cases)('answers %s when %s as the protocol says', async (_name, state, message, [answers, end]) => {
    const one = await inState(state)
    one.say(message)
    await turn()
    expect(one.since()).toEqual(answers)
    expect(one.end() ?? '-').toBe(end)
    if (end === '-') vanish(one)
    nothingLeft(one, one.engine)
    expect(one.faults).toEqual([])
  })

  it('sends no final after a stop', async () => {
    const one = await inState('flushing')
    one.say(stopRecognition)
    one.gate$.complete()
    await turn()
    expect(one.since()).toEqual(['stop-recognition: Success'])
    expect(one.engine.running()).toBe(0)
    vanish(one)
  })

  it('sends one final, however often the client finalizes', async () => {
    const one = await inState('flushing')
    one.say(finalizeRecognition, new Uint8Array(320), finalizeRecognition)
    one.gate$.complete()
    await untilFinal(one)
    one.say(finalizeRecognition)
    await turn()
    expect(one.since()).toEqual(['finalize-recognition: no-recognition'])
    vanish(one)
    nothingLeft(one, one.engine)
  })
})

describe('while a recognition starts', () => {
  it('queues messages in order, with the client paused, until it is answered', async () => {
    const loaded = deferred<Engine>()
    const one = recognizerTalk(() => loaded.promise)
    one.say(recognize(), new Uint8Array(320), recognize(), stopRecognition, stopRecognition)
    await turn()
    expect(one.since()).toEqual([])
    expect(one.client.bufferedBytes).toBeGreaterThan(320)
    const engine = countedEngine()
    loaded.resolve(engine)
    await turn()
    expect(one.since()).toEqual([
      'recognize: Success',
      'recognize: already-started',
      'stop-recognition: Success',
      'stop-recognition: no-recognition',
    ])
    vanish(one)
    nothingLeft(one, engine)
  })

  it('is refused when the model cannot be loaded, and the connection stays', async () => {
    const one = recognizerTalk(() =>
      Promise.reject(new SpeechError('invalid-model', 'Correct /home/service/models/x.gram.')),
    )
    one.say(recognize())
    const answer = await one.hear()
    expect(brief(answer)).toBe('recognize: engine-failed')
    expect(answer).not.toContain('/home')
    expect(one.faults).toHaveLength(1)
    one.say(recognize())
    expect(brief(await one.hear())).toBe('recognize: engine-failed')
    vanish(one)
    nothingLeft(one)
  })
})
