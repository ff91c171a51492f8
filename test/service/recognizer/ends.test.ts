import { Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../src/errors/speech-error.js'
import type { Engine } from '../../../src/service/engines/engine.js'
import { scriptedEngine } from '../../../src/testing/scripted-engine.js'
import { noopMonitor, type SessionEnd } from '../../../src/service/monitor/service-monitor.js'
import { SessionWatch } from '../../../src/service/monitor/session-watch.js'
import { turn } from '../virtual-clock.js'
import {
  brief,
  countedEngine,
  inState,
  nothingLeft,
  parsed,
  recognize,
  recognizerTalk,
  states,
  stopRecognition,
  untilFinal,
  vanish,
  type RecognizerTalk,
} from './recognizer-talk.js'
import { spoken } from '../sessions/spoken.js'
import { deferred } from '../sessions/talk.js'

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
  ])('is reported as gone when the connection %s in the middle of a recognition', async (_how, leave) => {
    const outcomes: string[] = []
    const monitor = {
      ...noopMonitor,
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

  it('leaves nothing behind when its audio is paused', async () => {
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

  it('restarts after a recognition that was refused', async () => {
    const one = await inState('opened')
    one.clock.advanceTo(29_000)
    one.say(recognize({ 'model-name': 'other' }))
    expect(brief(await one.hear())).toBe('recognize: model-denied')
    one.clock.advanceTo(58_999)
    expect(one.end()).toBeUndefined()
    one.clock.advanceTo(59_000)
    expect(one.end()).toBe('ok')
  })

  it('closes no socket when idleMs is 0', async () => {
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
  it.each(['opened', 'idle'] as const)('closes the socket when %s', async (state) => {
    const one = await inState(state)
    one.drain$.next({ pauseWithinMs: 8_000 })
    expect(one.end()).toBe('going-away')
    nothingLeft(one, one.engine)
  })

  it('refuses a recognition that starts', async () => {
    const loaded = deferred<Engine>()
    const one = recognizerTalk(() => loaded.promise)
    one.say(recognize())
    await turn()
    one.drain$.next({ pauseWithinMs: 8_000 })
    loaded.resolve(countedEngine())
    await turn()
    expect(one.since()).toEqual(['recognize: going-away'])
    expect(one.end()).toBe('going-away')
    nothingLeft(one)
  })

  it.each(['running', 'flushing'] as const)('lets a recognition send its final when %s', async (state) => {
    const one = await inState(state)
    one.drain$.next({ pauseWithinMs: 8_000 })
    expect(one.end()).toBeUndefined()
    one.gate$.complete()
    expect((await untilFinal(one)).map(brief)).toEqual(['final-result: Success ""'])
    expect(await one.ended).toBe('going-away')
    nothingLeft(one, one.engine)
  })

  it('closes the socket after a stop', async () => {
    const one = await inState('running')
    one.drain$.next({ pauseWithinMs: 8_000 })
    one.say(stopRecognition)
    expect(one.since()).toEqual(['stop-recognition: Success'])
    expect(one.end()).toBe('going-away')
    nothingLeft(one, one.engine)
  })
})

describe('a token that is no longer valid', () => {
  const revoked = new SpeechError('unauthenticated', 'The token was revoked.')

  it('ends a recognition at once with one final that has the error, without a flush', async () => {
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

  it('closes an idle socket, and refuses a recognition that is being opened', async () => {
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
