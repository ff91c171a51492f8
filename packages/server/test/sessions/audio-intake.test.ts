import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { batchModels, PaceLimit, type PaceOptions } from '../../src/sessions/audio-intake.js'
import { scriptedEngine } from '../../../service/src/testing/scripted-engine.js'
import { flushPromises, VirtualClock } from '../../../service/test/virtual-clock.js'
import { audio, connectDataflow, scriptedNode, start } from '../dataflow/dataflow-connection.js'
import { brief, countedEngine, recognize, connectRecognizer } from '../recognizer/recognizer-connection.js'
import { oneModel } from './test-connection.js'

const limits = { maxPacePercent: 125, paceBurstMs: 5_000 }

const paceOf = (change: Partial<PaceOptions> = {}) => {
  const clock = new VirtualClock()
  const pace = new PaceLimit({
    limits,
    scheduler: clock,
    sampleRateHz: 8000,
    requestedAtMs: 0,
    allowBatch: () => false,
    ...change,
  })
  /** Audio of this many milliseconds; returns the code of the refusal. */
  const take = (ms: number): string | undefined => pace.take(ms * 8)?.code
  return { clock, take }
}

describe('the rate limit', () => {
  it('accepts exactly the burst, and one sample more is too fast immediately', () => {
    const { take } = paceOf()
    expect(take(4_999)).toBeUndefined()
    expect(take(1)).toBeUndefined()
    expect(take(0.125)).toBe('too-fast')
  })

  it('accepts 1.25 times real time for hours, and no more', () => {
    const { clock, take } = paceOf()
    expect(take(5_000)).toBeUndefined()
    for (let second = 1; second <= 4 * 3_600; second += 1) {
      clock.advanceTo(second * 1_000)
      expect(take(1_250)).toBeUndefined()
    }
    expect(take(1)).toBe('too-fast')
  })

  it('counts from the first audio, not from the silence before it', () => {
    const { clock, take } = paceOf()
    clock.advanceTo(60_000)
    expect(take(5_000)).toBeUndefined()
    expect(take(1)).toBe('too-fast')
  })

  it('adds the time that the session took to be ready', () => {
    const clock = new VirtualClock()
    clock.advanceTo(8_000)
    const { take } = paceOf({ scheduler: clock, requestedAtMs: 0 })
    expect(take(15_000)).toBeUndefined()
    expect(take(1)).toBe('too-fast')
  })

  it('never refuses a client in real time, however its network stalls', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(40_000), fc.boolean()), { maxLength: 40 }), (stalls) => {
        const { clock, take } = paceOf()
        let dueMs = 0
        let sentMs = 0
        for (const [afterMs, arrives] of stalls) {
          dueMs += afterMs
          clock.advanceTo(dueMs)
          if (!arrives) continue
          // The first message may hold audio captured before it, up to the burst.
          const ms = sentMs === 0 ? Math.min(dueMs, 5_000) : dueMs - sentMs
          expect(take(ms)).toBeUndefined()
          sentMs = dueMs
        }
      }),
    )
  })

  it('is off at 0, and for models that all allow batch', async () => {
    expect(paceOf({ limits: { maxPacePercent: 0, paceBurstMs: 0 } }).take(1e9)).toBeUndefined()
    const engine = scriptedEngine({ texts: [] })
    const { models, allowBatch } = batchModels(oneModel(() => Promise.resolve(engine)))
    const model = (batch: unknown) => ({
      tenant: 't',
      name: 'm',
      version: '1',
      folder: '',
      options: { engine: 'scripted', ...(batch !== undefined && { batch }) },
    })
    expect(allowBatch()).toBe(false)
    await models.engine(model(true))
    expect(allowBatch()).toBe(true)
    expect(paceOf({ allowBatch }).take(1e9)).toBeUndefined()
    await models.engine(model('true'))
    expect(allowBatch()).toBe(false)
    expect(paceOf({ allowBatch }).take(1e9)).toBe('too-fast')
  })
})

describe('a client that is too fast', () => {
  it('gets a response with the error, and its dataflow stream ends with it', async () => {
    const node = scriptedNode()
    const connection = connectDataflow(node.open, limits)
    connection.send(start())
    expect(connection.since()).toEqual([])
    await connection.receive()
    connection.send(audio(80_000))
    await flushPromises()
    expect(connection.since()).toEqual([])
    connection.send(audio(2), audio(2))
    await flushPromises()
    expect(connection.since()).toEqual(['?: too-fast'])
    expect(await connection.ended).toBe('too-fast')
    // The excess did not reach the project.
    expect(node.account.running).toBe(0)
    expect(node.account.audio.reduce((sum, byteCount) => sum + byteCount, 0)).toBe(80_000)
    expect(connection.clock.waiting).toBe(0)
  })

  it('gets the final of its recognition with the error, and its socket is closed', async () => {
    const engine = countedEngine()
    const connection = connectRecognizer(() => Promise.resolve(engine), limits)
    connection.send(recognize())
    await connection.receive()
    connection.send(new Uint8Array(80_000), new Uint8Array(2))
    await flushPromises()
    expect(connection.since()).toEqual(['final-result: too-fast ""'])
    expect(await connection.ended).toBe('too-fast')
    expect(engine.running()).toBe(0)
    expect(connection.clock.waiting).toBe(0)
  })

  it('starts again with the next recognition', async () => {
    const connection = connectRecognizer(() => Promise.resolve(countedEngine()), limits)
    for (const round of [1, 2]) {
      connection.send(recognize())
      expect(brief(await connection.receive()), String(round)).toBe('recognize: Success')
      connection.send(new Uint8Array(80_000), '{"message-name":"stop-recognition"}')
      expect(brief(await connection.receive())).toBe('stop-recognition: Success')
    }
    connection.client.close()
  })
})
