import { Subject, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../src/errors/speech-error.js'
import type { Engine } from '../../../src/service/engine/engine.js'
import { scriptedEngine } from '../../../src/testing/scripted-engine.js'
import { silentMonitor } from '../../../src/service/monitor/join-monitors.js'
import type { SessionEnd } from '../../../src/service/monitor/service-monitor.js'
import { SessionWatch } from '../../../src/service/monitor/session-watch.js'
import type { SocketMessage } from '../../../src/transport/link.js'
import { turn } from '../virtual-clock.js'
import {
  brief,
  countedEngine,
  finalizeRecognition,
  parsed,
  recognize,
  recognizerTalk,
  stopRecognition,
  type CountedEngine,
  type RecognizerTalk,
} from './recognizer-talk.js'
import { spoken } from './spoken.js'
import { deferred } from './talk.js'

const states = ['opened', 'running', 'flushing', 'idle'] as const
type State = (typeof states)[number]

interface Scene extends RecognizerTalk {
  readonly engine: CountedEngine
  readonly gate$: Subject<undefined>
}

/** A talk that has come to a state, its answers until then taken. */
const inState = async (state: State, limits?: Parameters<typeof recognizerTalk>[1]): Promise<Scene> => {
  const gate$ = new Subject<undefined>()
  const engine = countedEngine(gate$)
  const one = recognizerTalk(() => Promise.resolve(engine), limits)
  if (state !== 'opened') {
    one.say(recognize())
    expect(brief(await one.hear())).toBe('recognize: Success')
    if (state === 'flushing') one.say(finalizeRecognition)
    if (state === 'idle') one.say(stopRecognition)
    await turn()
    one.since()
  }
  return { ...one, engine, gate$ }
}

const nothingLeft = ({ clock, drain$ }: RecognizerTalk, engine?: CountedEngine): void => {
  expect({ running: engine?.running() ?? 0, timers: clock.waiting, waitingForDrain: drain$.observed }).toEqual({
    running: 0,
    timers: 0,
    waitingForDrain: false,
  })
}

const vanish = ({ client }: RecognizerTalk): void => {
  client.close({ code: 'connection-lost', message: 'Gone.' })
}

const untilFinal = async (one: RecognizerTalk): Promise<readonly SocketMessage[]> => {
  const heard: SocketMessage[] = []
  do heard.push(await one.hear())
  while (!String(heard.at(-1)).includes('final-result'))
  return heard
}

describe('a recognition', () => {
  it('answers, tells partials and milestones, and one final after the finalize is answered', async () => {
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

  it('is refused when the address names another model, and runs when it names the same', async () => {
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

  it('tells no final after a stop, whatever was under way', async () => {
    const one = await inState('flushing')
    one.say(stopRecognition)
    one.gate$.complete()
    await turn()
    expect(one.since()).toEqual(['stop-recognition: Success'])
    expect(one.engine.running()).toBe(0)
    vanish(one)
  })

  it('tells one final, however often it is asked to finalize', async () => {
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
  it('keeps what comes in order, with the client held back, until it is answered', async () => {
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

  it('is refused, and stays as it was, when the model cannot be loaded', async () => {
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

describe('a client that vanishes', () => {
  it.each(states)('leaves nothing behind when %s', async (state) => {
    const one = await inState(state)
    one.say(new Uint8Array(0))
    vanish(one)
    nothingLeft(one, one.engine)
    await turn()
    expect(one.since()).toEqual([])
  })

  it.each([
    ['breaks', (one: RecognizerTalk) => vanish(one)],
    ['closes', ({ client }: RecognizerTalk) => client.close()],
  ])('is told as gone when the connection %s in the middle of a recognition', async (_how, leave) => {
    const outcomes: string[] = []
    const monitor = {
      ...silentMonitor,
      sessionEnded: (_facts: unknown, { outcome }: SessionEnd) => outcomes.push(outcome),
    }
    const watch = new SessionWatch({ monitor, interface: 'websocket', peer: '', now: () => 0 })
    const one = recognizerTalk(() => Promise.resolve(countedEngine()), {}, undefined, watch)
    one.say(recognize())
    await one.hear()
    leave(one)
    expect(outcomes).toEqual(['gone'])
  })

  it('leaves nothing behind when the model is being loaded', async () => {
    const loaded = deferred<Engine>()
    const one = recognizerTalk(() => loaded.promise)
    one.say(recognize())
    await turn()
    vanish(one)
    const engine = countedEngine()
    loaded.resolve(engine)
    await turn()
    nothingLeft(one, engine)
  })

  it('leaves nothing behind when it is held back for its audio', async () => {
    const engine = { ...countedEngine(), recognize: () => () => new Subject<never>() }
    const one = recognizerTalk(() => Promise.resolve(engine), { maxPendingAudioMs: 500 })
    one.say(recognize())
    await one.hear()
    one.say(await spoken(5_000), new Uint8Array(320))
    await turn()
    vanish(one)
    one.session.unsubscribe()
    nothingLeft(one)
  })
})

describe('the clock', () => {
  it.each(['opened', 'idle'] as const)('closes a socket on which nothing runs in good order when %s', async (state) => {
    const one = await inState(state)
    one.clock.advanceTo(29_999)
    expect(one.end()).toBeUndefined()
    one.clock.advanceTo(30_000)
    expect(one.end()).toBe('ok')
    nothingLeft(one)
  })

  it('counts anew after a recognition that was refused', async () => {
    const one = await inState('opened')
    one.clock.advanceTo(29_000)
    one.say(recognize({ 'model-name': 'other' }))
    expect(brief(await one.hear())).toBe('recognize: model-denied')
    one.clock.advanceTo(58_999)
    expect(one.end()).toBeUndefined()
    one.clock.advanceTo(59_000)
    expect(one.end()).toBe('ok')
  })

  it('closes none when idleMs is 0', async () => {
    const one = await inState('opened', { idleMs: 0 })
    expect(one.clock.waiting).toBe(0)
    vanish(one)
  })

  it('finalizes a recognition without audio after idleMs, and another may follow', async () => {
    const one = await inState('running')
    one.say(new Uint8Array(320))
    await turn()
    one.gate$.complete()
    one.clock.advanceTo(29_999)
    expect(one.since()).toEqual([])
    // Messages without bytes are no audio.
    one.say(new Uint8Array(0))
    one.clock.advanceTo(30_000)
    expect((await untilFinal(one)).map(brief)).toEqual(['final-result: Success ""'])
    one.say(recognize())
    expect(brief(await one.hear())).toBe('recognize: Success')
    vanish(one)
    nothingLeft(one, one.engine)
  })

  it('finalizes the longest recognition', async () => {
    const one = await inState('running', { maxSessionMs: 5_000 })
    one.gate$.complete()
    one.clock.advanceTo(5_000)
    expect((await untilFinal(one)).map(brief)).toEqual(['final-result: Success ""'])
    vanish(one)
    nothingLeft(one, one.engine)
  })
})

describe('a wait for the engine', () => {
  it('ends after openWithinMs with a refusal, and another recognition may begin', async () => {
    const one = recognizerTalk(() => deferred<Engine>().promise)
    one.say(recognize())
    await turn()
    one.clock.advanceTo(30_000)
    expect(brief(await one.hear())).toBe('recognize: engine-failed')
    expect(one.end()).toBeUndefined()
  })

  it('ends after flushWithinMs with the one final', async () => {
    const one = await inState('flushing')
    one.clock.advanceTo(60_000)
    expect(one.since().at(-1)).toMatch(/^final-result: engine-failed/)
    expect(one.end()).toBe('engine-failed')
    nothingLeft(one, one.engine)
  })
})

describe('a drain', () => {
  it.each(['opened', 'idle'] as const)('sends the client away when %s', async (state) => {
    const one = await inState(state)
    one.drain$.next(undefined)
    expect(one.end()).toBe('going-away')
    nothingLeft(one, one.engine)
  })

  it('refuses a recognition that starts', async () => {
    const loaded = deferred<Engine>()
    const one = recognizerTalk(() => loaded.promise)
    one.say(recognize())
    await turn()
    one.drain$.next(undefined)
    loaded.resolve(countedEngine())
    await turn()
    expect(one.since()).toEqual(['recognize: going-away'])
    expect(one.end()).toBe('going-away')
    nothingLeft(one)
  })

  it.each(['running', 'flushing'] as const)('lets a recognition tell its final when %s', async (state) => {
    const one = await inState(state)
    one.drain$.next(undefined)
    expect(one.end()).toBeUndefined()
    one.gate$.complete()
    expect((await untilFinal(one)).map(brief)).toEqual(['final-result: Success ""'])
    expect(await one.ended).toBe('going-away')
    nothingLeft(one, one.engine)
  })

  it('sends the client away after a stop', async () => {
    const one = await inState('running')
    one.drain$.next(undefined)
    one.say(stopRecognition)
    expect(one.since()).toEqual(['stop-recognition: Success'])
    expect(one.end()).toBe('going-away')
    nothingLeft(one, one.engine)
  })
})

describe('a fault inside', () => {
  const secret = 'at /home/service/models/x.gram'
  const base = scriptedEngine({ texts: ['hello'] })
  it.each<readonly [string, Engine, string]>([
    [
      'an engine that throws when it is asked',
      {
        ...base,
        recognize: () => {
          throw new Error(secret)
        },
      },
      'internal',
    ],
    [
      'an engine that fails with an error of its own',
      { ...base, recognize: () => () => throwError(() => new TypeError(secret)) },
      'internal',
    ],
    [
      'a model that turns out to be broken',
      { ...base, recognize: () => () => throwError(() => new SpeechError('invalid-model', secret)) },
      'internal',
    ],
    [
      'an engine that fails',
      { ...base, recognize: () => () => throwError(() => new SpeechError('engine-failed', 'It stopped.')) },
      'engine-failed',
    ],
  ])(
    'ends the recognition with its one final and closes, telling nothing of the inside, for %s',
    async (_name, engine, code) => {
      const one = recognizerTalk(() => Promise.resolve(engine))
      one.say(recognize())
      expect(await one.ended).toBe(code)
      expect(JSON.stringify(one.heard)).not.toContain('/home')
      expect(one.since()).toEqual(['recognize: Success', `final-result: ${code} ""`])
      expect(one.faults).toHaveLength(1)
      nothingLeft(one)
    },
  )

  it('tells with the final what was recognised until then', async () => {
    const one = await inState('running')
    one.say(await spoken(6_000), 'junk')
    const heard = (await untilFinal(one)).map(parsed)
    const milestones = heard.filter((json) => json['message-name'] === 'milestone-result')
    expect(milestones).not.toEqual([])
    expect(heard.at(-1)?.['text']).toBe(milestones.map((json) => json['text']).join(''))
  })
})

describe('a token that is good no longer', () => {
  const revoked = new SpeechError('unauthenticated', 'The token was revoked.')

  it('ends a recognition at once with one final that says why, and flushes nothing', async () => {
    for (const state of ['running', 'flushing'] as const) {
      const one = await inState(state)
      one.say(new Uint8Array(1600))
      one.ended$.next(revoked)
      const finals = one.heard.splice(0).map(parsed)
      expect(finals).toEqual([
        expect.objectContaining({
          'message-name': 'final-result',
          'operation-result': 'unauthenticated: The token was revoked.',
        }),
      ])
      expect(one.end()).toBe('unauthenticated')
      nothingLeft(one, one.engine)
      expect(one.ended$.observed).toBe(false)
    }
  })

  it('closes a socket on which none runs, and refuses the one that is being made ready', async () => {
    for (const state of ['opened', 'idle'] as const) {
      const one = await inState(state)
      one.ended$.next(revoked)
      expect([one.since(), one.end()]).toEqual([[], 'unauthenticated'])
      nothingLeft(one, one.engine)
    }
    const opening = deferred<Engine>()
    const one = recognizerTalk(() => opening.promise)
    one.say(recognize())
    one.ended$.next(revoked)
    expect([one.since(), one.end()]).toEqual([['recognize: unauthenticated'], 'unauthenticated'])
    opening.resolve(scriptedEngine({ texts: ['x'] }))
    await turn()
    nothingLeft(one)
  })
})
