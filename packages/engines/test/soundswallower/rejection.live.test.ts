import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { from, lastValueFrom, toArray } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RejectLevel } from '../../../../src/protocol/recognition-parameters.js'
import type { Engine, Hypothesis } from '../../src/engine.js'
import { soundswallower } from '../../src/soundswallower/soundswallower.js'
import { createSegmenter } from '../../../server/src/recognition/segmenter.js'
import { defaultSegmenterParameters } from '../../../server/src/recognition/segmenter-parameters.js'
import { callChannel, callTurns, type CallTurn } from '../call-turns.js'
import { recording, recordingsAreHere, recordingsTitle, segmentParts, withLineNoise } from '../recordings.js'
import { longIt } from '../../../../test/thorough.js'

const levels = ['off', 'low', 'medium', 'high'] as const
const kind = soundswallower({ workers: 1, decodersPerWorker: 1 })
const folder = mkdtemp(join(tmpdir(), 'rxspeech-rejection-'))
const opened: Engine[] = []
afterAll(async () => {
  for (const engine of opened) await engine.close()
  await rm(await folder, { recursive: true })
})

/** A model whose sentences are `phrases`. */
const open = async (name: string, phrases: readonly string[], change: object = {}): Promise<Engine> => {
  const model = join(await folder, name)
  await mkdir(model, { recursive: true })
  await writeFile(join(model, 'phrases.txt'), phrases.join('\n'))
  const options = { engine: 'soundswallower', phrases: 'phrases.txt', ...change }
  const engine = await kind.open({ tenant: 'Default', name, version: '1', folder: model, options })
  opened.push(engine)
  return engine
}

const read = async (engine: Engine, samples: Int16Array, reject?: RejectLevel) => {
  const output: readonly Hypothesis[] = await lastValueFrom(
    from(segmentParts(samples)).pipe(engine.recognize({ reject }), toArray()),
  )
  const segment = output.find((hypothesis) => hypothesis.type === 'segment')
  return { text: segment?.text ?? 'none', words: segment?.words ?? [] }
}

/** The samples of each segment that voice activity finds. */
const cutByVoice = async (samples: Int16Array): Promise<readonly Int16Array[]> => {
  const segmenter = await createSegmenter({ parameters: defaultSegmenterParameters, inputRateHz: 8000 })
  const segments: number[][] = []
  for (const output of [...segmenter.push(samples), ...segmenter.finish()]) {
    if (output.type === 'open') segments.push([])
    else if (output.type === 'audio') segments.at(-1)?.push(...output.samples)
  }
  segmenter.free()
  return segments.map((segment) => Int16Array.from(segment))
}

const readAll = async (engine: Engine, turns: readonly CallTurn[], reject?: RejectLevel) => {
  const texts: string[] = []
  for (const { samples } of turns) texts.push((await read(engine, samples, reject)).text)
  return texts
}

/** Sentences of another subject, none of which the call has. */
const weather = [
  'tomorrow it rains in the mountains',
  'a cold wind blows from the north',
  'the sun rises at six',
  'expect fog along the coast',
  'sunny intervals and light showers',
  'temperatures fall below zero',
  'snow',
]

describe('the rejection of speech', () => {
  let turns: readonly CallTurn[]
  /** Every other turn. */
  let some: readonly CallTurn[]
  let own: Engine
  let foreign: Engine
  beforeAll(async () => {
    turns = await callTurns()
    some = turns.filter((_turn, at) => at % 2 === 0)
    const others = ['we open at noon', 'i will call back later']
    own = await open('own', [...turns.map(({ text }) => text), ...others])
    foreign = await open('foreign', weather)
  })

  it('accepts all sentences of the grammar, with confidences of at least that of the level', async () => {
    for (const { samples, text } of turns) {
      const result = await read(own, samples)
      expect(result.text).toBe(text)
      for (const { confidence } of result.words) expect(confidence).toBeGreaterThanOrEqual(0.5)
    }
  })

  it('reads a sentence alike wherever it begins between two frames, and at any level', async () => {
    // Segments of "we will see you on friday" began within its first word, and it was rejected by a shift of 1, 5, 6 or
    // 8 ms.
    const channel = await callChannel(0, 24_000, 32_000)
    const confidences: number[] = []
    for (const [shift, gain] of [
      [0, 1],
      [1, 0.5],
      [5, 1],
      [6, 2],
      [8, 0.7],
    ] as const) {
      const samples = Int16Array.from({ length: channel.length + shift * 8 }, (_none, at) =>
        Math.round(gain * (channel[at - shift * 8] ?? 0)),
      )
      const segments = await cutByVoice(samples)
      expect(segments).toHaveLength(2)
      const { text, words } = await read(own, segments.at(-1) ?? new Int16Array())
      expect(text).toBe('we will see you on friday')
      confidences.push(words[0]?.confidence ?? 0)
    }
    expect(Math.max(...confidences) - Math.min(...confidences)).toBeLessThan(0.1)
  })

  longIt('accepts them when they are 24 dB softer', async () => {
    const phrases = turns.map(({ text }) => text)
    const engine = await open('soft', phrases)
    const soft = turns.map(({ text, samples }) => ({ text, samples: samples.map((sample) => sample / 16) }))
    expect(await readAll(engine, soft, 'medium')).toEqual(phrases)
  })

  longIt(
    'rejects what the grammar does not contain, the more the higher the level, and nothing that is off',
    async () => {
      const rejected: number[] = []
      for (const level of levels) {
        rejected.push((await readAll(foreign, some, level)).filter((text) => text === '').length)
      }
      expect(rejected).toEqual(rejected.toSorted((a, b) => a - b))
      const [off = 0, , medium] = rejected
      expect(off).toBeLessThan(some.length / 2)
      expect(medium).toBe(some.length)
    },
  )

  it('rejects a sentence with other speech beside it, and accepts it beside a pause or a breath', async () => {
    const engine = await open('farewell', ['thank you goodbye', 'snow'])
    const own = turns.at(-1)?.samples ?? new Int16Array()
    const both = (first: Int16Array, second: Int16Array): Int16Array => Int16Array.from([...first, ...second])
    for (const at of [1, 3, 6]) {
      const other = turns[at]?.samples ?? new Int16Array()
      expect((await read(engine, both(own, other))).text).toBe('')
      expect((await read(engine, both(own, other), 'off')).text).toBe('thank you goodbye')
    }
    let state = 1
    const breath = Int16Array.from({ length: 2400 }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return 200 * (state / 2 ** 31 - 1)
    })
    for (const sound of [new Int16Array(4000), breath]) {
      expect((await read(engine, both(sound, own))).text).toBe('thank you goodbye')
      expect((await read(engine, both(own, sound))).text).toBe('thank you goodbye')
    }
  })

  longIt('has the level of the model, unless the session has another one', async () => {
    const lenient = await open('lenient', weather, { reject: 'off' })
    const few = turns.slice(0, 3)
    expect(await readAll(lenient, few)).toEqual(await readAll(foreign, few, 'off'))
    expect(await readAll(lenient, few, 'medium')).toEqual(few.map(() => ''))
  })

  longIt('rejects nothing in French, whose weights are not known', async () => {
    const french = await open('french', ['bonjour', 'merci beaucoup', 'à demain'], { language: 'fr-fr' })
    const few = turns.slice(0, 4)
    const texts = await readAll(french, few)
    expect(texts.some((text) => text !== '')).toBe(true)
    expect(await readAll(french, few, 'high')).toEqual(texts)
    await expect(open('wrong', ['bonjour'], { language: 'fr-fr', reject: 'low' })).rejects.toMatchObject({
      code: 'invalid-model',
      message: expect.stringContaining('"reject" in model.json needs the language "en-us"') as string,
    })
    await expect(open('misspelt', ['snow'], { reject: 'some' })).rejects.toMatchObject({ code: 'invalid-model' })
  })

  longIt('decodes several segments at once as it does one after another', async () => {
    const many = soundswallower({ workers: 1, decodersPerWorker: 4 })
    const model = { tenant: 'Default', name: 'foreign', version: '1', folder: join(await folder, 'foreign') }
    const engine = await many.open({ ...model, options: { engine: 'soundswallower', phrases: 'phrases.txt' } })
    opened.push(engine)
    const one = await readAll(foreign, some, 'low')
    const results = await Promise.all(some.map(({ samples }) => read(engine, samples, 'low')))
    expect(results.map(({ text }) => text)).toEqual(one)
  })
})

describe.skipIf(!recordingsAreHere)(`rejection with ${recordingsTitle}`, () => {
  const cards = ['ten of clubs', 'four queen of clubs', 'seven of clubs', 'two of hearts', 'jack of spades']

  it('accepts cards and rejects prose', async () => {
    const engine = await open('cards', cards)
    const results: string[] = []
    for (const file of ['ten-of-clubs.wav', 'seven-of-clubs.wav', 'librivox-0870.wav', 'librivox-0880.wav']) {
      results.push((await read(engine, withLineNoise(await recording(file)), 'high')).text)
    }
    expect(results).toEqual(['ten of clubs', 'seven of clubs', '', ''])
  })
})
