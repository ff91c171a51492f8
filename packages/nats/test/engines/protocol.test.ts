import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createAddress,
  decodeAnswer,
  decodeEngineAdvert,
  decodeModelsAdvert,
  decodeRequest,
  encodeJson,
  encodeRequest,
  isAttemptSubject,
  attemptSubject,
  type EngineAnswer,
  type EngineRequest,
} from '../../src/engines/protocol.js'
import { callsModel } from './virtual-fleet.js'

const engine = createAddress('gpu-1')

const advertOf = (advert: object, name = 'gpu-1') => ({
  subject: `rxspeech.alive.${name}`,
  payload: Buffer.from(JSON.stringify(advert)),
})

describe('the messages between edges and engines', () => {
  it.each<EngineRequest>([
    { type: 'open', v: 1, model: 'Default/calls/1', startMs: 12.5 },
    { type: 'open', v: 1, model: 'Default/calls/1', startMs: 0, traceparent: '00-a-b-01' },
    { type: 'open', v: 1, model: 'Default/calls/1', startMs: 0, session: 'a-1', attempt: 2 },
    { type: 'audio', from: 4_000_000_000, samples: Int16Array.of(-32_768, 0, 32_767) },
    { type: 'audio', from: 0, samples: new Int16Array(0) },
    { type: 'check', total: 800 },
    { type: 'close', total: 800, endMs: 100, isCut: true },
    { type: 'open', v: 2, model: 'Default/calls/1', startMs: 0, phrases: ['ask for maria', 'no'] },
    { type: 'phrases', model: 'Default/calls/1', phrases: ['ask for josé'] },
    { type: 'open', v: 1, model: 'Default/calls/1', startMs: 0, language: 'fr' },
    { type: 'abort' },
    { type: 'ping' },
    { type: 'ping', sent: { total: 800, isChecking: true, isClosed: false } },
  ])('carries $type', (request) => {
    // At an odd place of a larger buffer, as in the memory of a socket.
    const bytes = encodeRequest(request)
    const shifted = new Uint8Array(bytes.length + 3)
    shifted.set(bytes, 3)
    expect(decodeRequest(shifted.subarray(3))).toEqual(request)
  })

  it('copies samples, because the memory of a message is used again', () => {
    const bytes = Buffer.from(encodeRequest({ type: 'audio', from: 0, samples: Int16Array.of(1, 2) }))
    const request = decodeRequest(bytes)
    bytes.fill(0)
    expect(request).toMatchObject({ samples: Int16Array.of(1, 2) })
  })

  it.each<EngineAnswer>([
    { t: 'yes' },
    { t: 'full' },
    { t: 'phrases', faults: [] },
    { t: 'phrases', faults: [{ index: 0, reason: 'is unknown.' }, { reason: 'cannot be added.' }] },
    { t: 'taken', at: 800 },
    { t: 'taken', at: 800, partial: 'hello' },
    { t: 'taken', at: 800, partial: 'hello my', stableLength: 5 },
    {
      t: 'decided',
      text: 'hi',
      words: [{ text: 'hi', startMs: 0, endMs: 1, confidence: 1 }],
      confidence: 0.5,
      isIncomplete: true,
      slots: { who: 'you' },
    },
    { t: 'checked', isComplete: true },
    { t: 'checked', isComplete: false, total: 800 },
    { t: 'failed', final: true },
    { t: 'lost', why: 'gap' },
  ])('carries $t', (answer) => {
    expect(decodeAnswer(Buffer.from(encodeJson(answer)))).toEqual(answer)
  })

  it('leaves out keys of a later version in results, which pass on to clients', () => {
    const word = { text: 'hi', startMs: 0, endMs: 1 }
    const text = { text: 'hi', slots: { who: 'you' } }
    for (const kind of [{ t: 'decided' }, { t: 'part', from: 0, samples: 1 }]) {
      const later = { ...kind, ...text, words: [{ ...word, later: 1 }], later: 1 }
      expect(decodeAnswer(Buffer.from(JSON.stringify(later)))).toEqual({ ...kind, ...text, words: [word] })
    }
  })

  it('ignores keys of a later version in adverts', () => {
    const alive = { v: 1, engine, capacity: 4, used: 1, state: 'serving', temperature: 40 }
    expect(decodeEngineAdvert(advertOf(alive))).toMatchObject({ capacity: 4, used: 1 })
    const models = { v: 1, engine, startedAtMs: 5, models: [{ ...callsModel, languages: ['en'] }] }
    expect(decodeModelsAdvert(advertOf(models))?.models[0]).toMatchObject(callsModel)
  })

  it('reads the lag of an engine, which older ones omit, and refuses invalid ones', () => {
    const alive = { v: 1, engine, capacity: 4, used: 1, state: 'serving' }
    expect(decodeEngineAdvert(advertOf(alive))?.lagMs).toBeUndefined()
    expect(decodeEngineAdvert(advertOf({ ...alive, lagMs: 1_200, progress: 3 }))).toMatchObject({
      lagMs: 1_200,
      progress: 3,
    })
    for (const lagMs of [-1, 0.5, 1e300, '1', null]) {
      expect(decodeEngineAdvert(advertOf({ ...alive, lagMs }))).toBeUndefined()
    }
  })

  it('reads no intervals of partials of more models, or with longer names, than an engine process can have', () => {
    const alive = { v: 1, engine, capacity: 4, used: 1, state: 'serving' }
    const intervalsOf = (labels: readonly string[]) =>
      decodeEngineAdvert(
        advertOf({ ...alive, partialIntervalsMs: Object.fromEntries(labels.map((label) => [label, 250])) }),
      )?.partialIntervalsMs
    const labels = Array.from({ length: 201 }, (_, index) => `Default/${index}/1`)
    expect(Object.keys(intervalsOf(labels.slice(1)) ?? {})).toHaveLength(200)
    expect(intervalsOf(labels)).toBeUndefined()
    const longest = [255, 255, 255].map((length) => 'n'.repeat(length)).join('/')
    expect(intervalsOf([longest])).toEqual({ [longest]: 250 })
    expect(intervalsOf([`${longest}nn`])).toEqual({})
  })

  it('reads anything else as undefined, and never throws', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(decodeAnswer(bytes)).toBeUndefined()
        for (const decode of [decodeEngineAdvert, decodeModelsAdvert]) {
          expect(decode({ subject: 'rxspeech.alive.gpu-1', payload: bytes })).toBeUndefined()
        }
        decodeRequest(bytes)
      }),
    )
    for (const bytes of [[2, 0, 0], [2, 0, 0, 0, 0, 0, 1], [1, 123], [9], []]) {
      expect(decodeRequest(Uint8Array.from(bytes))).toBeUndefined()
    }
    for (const state of ['busy', 1]) {
      const advert = { v: 1, engine, capacity: 4, used: 1, state }
      expect(decodeEngineAdvert(advertOf(advert))).toBeUndefined()
    }
    for (const startedAtMs of [-1, 1e300, '5']) {
      const models = { v: 1, engine, startedAtMs, models: [callsModel] }
      expect(decodeModelsAdvert(advertOf(models))).toBeUndefined()
    }
    for (const host of ['a\nb', 'a\u2028b', 'a\u202eb', 'h'.repeat(256)]) {
      const models = { v: 1, engine, startedAtMs: 5, models: [callsModel], host }
      expect(decodeModelsAdvert(advertOf(models))).toBeUndefined()
    }
    const spoofed = { v: 1, engine: { ...engine, name: 'a.b' }, capacity: 4, used: 1, state: 'serving' }
    expect(decodeEngineAdvert(advertOf(spoofed))).toBeUndefined()
  })

  it('ignores the advert of an engine under the name of another one', () => {
    const alive = { v: 1, engine, capacity: 4, used: 1, state: 'serving' }
    const models = { v: 1, engine, startedAtMs: 5, models: [callsModel] }
    expect(decodeEngineAdvert(advertOf(alive))).toBeDefined()
    expect(decodeEngineAdvert(advertOf(alive, 'gpu-2'))).toBeUndefined()
    expect(decodeModelsAdvert(advertOf(models))).toBeDefined()
    expect(decodeModelsAdvert(advertOf(models, 'gpu-2'))).toBeUndefined()
  })

  it('makes names of hosts fit for subjects, and instances of their own', () => {
    expect(createAddress('node 1.example.com').name).toBe('node-1-example-com')
    expect(createAddress('a').instance).not.toBe(createAddress('a').instance)
  })

  it('distinguishes replies to edges from other subjects', () => {
    expect(isAttemptSubject(attemptSubject(engine, 12))).toBe(true)
    for (const subject of ['rxspeech.models.a', 'rxspeech.edge.a.b.1', `${attemptSubject(engine, 12)}.x`, '']) {
      expect(isAttemptSubject(subject)).toBe(false)
    }
  })
})
