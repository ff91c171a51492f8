import { Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import type { Engine } from '../../../engines/src/engine.js'
import { scriptedEngine } from '../../../service/src/testing/scripted-engine.js'
import { noopMonitor, type SessionEnd } from '../../src/monitor/service-monitor.js'
import { SessionWatch } from '../../src/monitor/session-watch.js'
import { flushPromises } from '../../../service/test/virtual-clock.js'
import {
  brief,
  countedEngine,
  inState,
  nothingLeft,
  parsed,
  recognize,
  connectRecognizer,
  states,
  stopRecognition,
  untilFinal,
  vanish,
  type RecognizerConnection,
} from './recognizer-connection.js'
import { spoken } from '../sessions/spoken.js'
import { deferred } from '../sessions/test-connection.js'

describe('a refused recognize', () => {
  const watched = (open: () => Promise<Engine>) => {
    const refused: string[] = []
    const monitor = { ...noopMonitor, refused: (_by: unknown, code: string) => refused.push(code) }
    const watch = new SessionWatch({ monitor, interface: 'websocket', peer: '', now: () => 0 })
    return { refused, ...connectRecognizer(open, {}, undefined, watch) }
  }

  it.each<readonly [string, (connection: RecognizerConnection) => void, string]>([
    ['the drain', ({ drain$ }) => drain$.next({ pauseWithinMs: 0 }), 'going-away'],
    [
      'the end of the token',
      ({ ended$ }) => ended$.next(new SpeechError('unauthenticated', 'Revoked.')),
      'unauthenticated',
    ],
  ])('counts once for the operator if %s ends the connection', async (_cause, act, code) => {
    const connection = watched(() => new Promise(() => undefined))
    connection.send(recognize())
    await flushPromises()
    act(connection)
    expect(connection.since()).toEqual([`recognize: ${code}`])
    expect(await connection.ended).toBe(code)
    expect(connection.refused).toEqual([code])
  })

  it('counts once for the operator if the connection continues', async () => {
    const connection = watched(() => Promise.reject(new SpeechError('engine-failed', 'No.')))
    connection.send(recognize(), stopRecognition)
    await flushPromises()
    expect(connection.since()).toEqual(['recognize: engine-failed', 'stop-recognition: no-recognition'])
    expect(connection.refused).toEqual(['engine-failed', 'no-recognition'])
    connection.session.unsubscribe()
  })
})

describe('a client that vanishes', () => {
  it.each(states)('leaves nothing open when %s', async (state) => {
    const connection = await inState(state)
    connection.send(new Uint8Array(0))
    vanish(connection)
    nothingLeft(connection, connection.engine)
    await flushPromises()
    expect(connection.since()).toEqual([])
  })

  it.each([
    ['breaks', (connection: RecognizerConnection) => vanish(connection)],
    ['closes', ({ client }: RecognizerConnection) => client.close()],
  ])('is reported as disconnected when the connection %s in the middle of a recognition', async (_how, leave) => {
    const outcomes: string[] = []
    const monitor = {
      ...noopMonitor,
      sessionEnded: (_facts: unknown, { outcome }: SessionEnd) => outcomes.push(outcome),
    }
    const watch = new SessionWatch({ monitor, interface: 'websocket', peer: '', now: () => 0 })
    const connection = connectRecognizer(() => Promise.resolve(countedEngine()), {}, undefined, watch)
    connection.send(recognize())
    await connection.receive()
    leave(connection)
    expect(outcomes).toEqual(['gone'])
  })

  it('leaves nothing open when the model is being loaded', async () => {
    const loaded = deferred<Engine>()
    const connection = connectRecognizer(() => loaded.promise)
    connection.send(recognize())
    await flushPromises()
    vanish(connection)
    const engine = countedEngine()
    loaded.resolve(engine)
    await flushPromises()
    nothingLeft(connection, engine)
  })

  it('leaves nothing open when its audio is paused', async () => {
    const engine = { ...countedEngine(), recognize: () => () => new Subject<never>() }
    const connection = connectRecognizer(() => Promise.resolve(engine), { maxPendingAudioMs: 500 })
    connection.send(recognize())
    await connection.receive()
    connection.send(await spoken(5_000), new Uint8Array(320))
    await flushPromises()
    vanish(connection)
    connection.session.unsubscribe()
    nothingLeft(connection)
  })
})

describe('the clock', () => {
  it.each(['opened', 'idle'] as const)('closes an idle socket normally when %s', async (state) => {
    const connection = await inState(state)
    connection.clock.advanceTo(29_999)
    expect(connection.end()).toBeUndefined()
    connection.clock.advanceTo(30_000)
    expect(connection.end()).toBe('ok')
    nothingLeft(connection)
  })

  it('restarts after a recognition that was refused', async () => {
    const connection = await inState('opened')
    connection.clock.advanceTo(29_000)
    connection.send(recognize({ 'model-name': 'other' }))
    expect(brief(await connection.receive())).toBe('recognize: model-denied')
    connection.clock.advanceTo(58_999)
    expect(connection.end()).toBeUndefined()
    connection.clock.advanceTo(59_000)
    expect(connection.end()).toBe('ok')
  })

  it('closes no socket when idleMs is 0', async () => {
    const connection = await inState('opened', { idleMs: 0 })
    expect(connection.clock.waiting).toBe(0)
    vanish(connection)
  })

  it('finalizes a recognition without audio after idleMs, and another may follow', async () => {
    const connection = await inState('running')
    connection.send(new Uint8Array(320))
    await flushPromises()
    connection.gate$.complete()
    connection.clock.advanceTo(29_999)
    expect(connection.since()).toEqual([])
    // Messages without bytes do not count as audio.
    connection.send(new Uint8Array(0))
    connection.clock.advanceTo(30_000)
    expect((await untilFinal(connection)).map(brief)).toEqual(['final-result: Success ""'])
    connection.send(recognize())
    expect(brief(await connection.receive())).toBe('recognize: Success')
    vanish(connection)
    nothingLeft(connection, connection.engine)
  })

  it('finalizes the longest recognition', async () => {
    const connection = await inState('running', { maxSessionMs: 5_000 })
    connection.gate$.complete()
    connection.clock.advanceTo(5_000)
    expect((await untilFinal(connection)).map(brief)).toEqual(['final-result: Success ""'])
    vanish(connection)
    nothingLeft(connection, connection.engine)
  })
})

describe('a wait for the engine', () => {
  it('ends after openWithinMs with a refusal, and another recognition may begin', async () => {
    const connection = connectRecognizer(() => deferred<Engine>().promise)
    connection.send(recognize())
    await flushPromises()
    connection.clock.advanceTo(30_000)
    expect(brief(await connection.receive())).toBe('recognize: engine-failed')
    expect(connection.end()).toBeUndefined()
  })

  it('ends after flushWithinMs with the one final', async () => {
    const connection = await inState('flushing')
    connection.clock.advanceTo(60_000)
    expect(connection.since().at(-1)).toMatch(/^final-result: engine-failed/)
    expect(connection.end()).toBe('engine-failed')
    nothingLeft(connection, connection.engine)
  })
})

describe('a drain', () => {
  it.each(['opened', 'idle'] as const)('closes the socket when %s', async (state) => {
    const connection = await inState(state)
    connection.drain$.next({ pauseWithinMs: 8_000 })
    expect(connection.end()).toBe('going-away')
    nothingLeft(connection, connection.engine)
  })

  it('refuses a recognition that starts', async () => {
    const loaded = deferred<Engine>()
    const connection = connectRecognizer(() => loaded.promise)
    connection.send(recognize())
    await flushPromises()
    connection.drain$.next({ pauseWithinMs: 8_000 })
    loaded.resolve(countedEngine())
    await flushPromises()
    expect(connection.since()).toEqual(['recognize: going-away'])
    expect(connection.end()).toBe('going-away')
    nothingLeft(connection)
  })

  it.each(['running', 'flushing'] as const)('lets a recognition send its final when %s', async (state) => {
    const connection = await inState(state)
    connection.drain$.next({ pauseWithinMs: 8_000 })
    expect(connection.end()).toBeUndefined()
    connection.gate$.complete()
    expect((await untilFinal(connection)).map(brief)).toEqual(['final-result: Success ""'])
    expect(await connection.ended).toBe('going-away')
    nothingLeft(connection, connection.engine)
  })

  it('is no failure and no refusal for the operator of a session that has run', async () => {
    const seen: string[] = []
    const monitor = {
      ...noopMonitor,
      refused: (_by: unknown, code: string) => seen.push(`refused ${code}`),
      sessionEnded: (_facts: unknown, { outcome, code }: SessionEnd) => seen.push(`${outcome} ${code}`),
    }
    const drained = async (isIdle: boolean): Promise<void> => {
      const watch = new SessionWatch({ monitor, interface: 'websocket', peer: '', now: () => 0 })
      const connection = connectRecognizer(() => Promise.resolve(countedEngine()), {}, undefined, watch)
      connection.send(recognize())
      await connection.receive()
      if (isIdle) connection.send(stopRecognition)
      connection.drain$.next({ pauseWithinMs: 0 })
      expect(await connection.ended).toBe('going-away')
    }
    await drained(false)
    await drained(true)
    expect(seen).toEqual(['drained undefined', 'drained undefined'])
  })

  it('closes the socket after a stop', async () => {
    const connection = await inState('running')
    connection.drain$.next({ pauseWithinMs: 8_000 })
    connection.send(stopRecognition)
    expect(connection.since()).toEqual(['stop-recognition: Success'])
    expect(connection.end()).toBe('going-away')
    nothingLeft(connection, connection.engine)
  })
})

describe('a token that is no longer valid', () => {
  const revoked = new SpeechError('unauthenticated', 'The token was revoked.')

  it('ends a recognition immediately with one final that has the error, without a flush', async () => {
    for (const state of ['running', 'flushing'] as const) {
      const connection = await inState(state)
      connection.send(new Uint8Array(1600))
      connection.ended$.next(revoked)
      const finals = connection.received.splice(0).map(parsed)
      expect(finals).toEqual([
        expect.objectContaining({
          'message-name': 'final-result',
          'operation-result': 'unauthenticated: The token was revoked.',
        }),
      ])
      expect(connection.end()).toBe('unauthenticated')
      nothingLeft(connection, connection.engine)
      expect(connection.ended$.observed).toBe(false)
    }
  })

  it('closes an idle socket, and refuses a recognition that is being opened', async () => {
    for (const state of ['opened', 'idle'] as const) {
      const connection = await inState(state)
      connection.ended$.next(revoked)
      expect([connection.since(), connection.end()]).toEqual([[], 'unauthenticated'])
      nothingLeft(connection, connection.engine)
    }
    const opening = deferred<Engine>()
    const item = connectRecognizer(() => opening.promise)
    item.send(recognize())
    item.ended$.next(revoked)
    expect([item.since(), item.end()]).toEqual([['recognize: unauthenticated'], 'unauthenticated'])
    opening.resolve(scriptedEngine({ texts: ['x'] }))
    await flushPromises()
    nothingLeft(item)
  })
})
