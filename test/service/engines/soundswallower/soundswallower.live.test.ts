import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { concat, EMPTY, from, lastValueFrom, NEVER, Subject, toArray, type Observable } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Engine, Hypothesis, ModelDescription, SegmentPart } from '../../../../src/service/engines/engine.js'
import { createModelRegistry } from '../../../../src/service/engines/models/model-registry.js'
import { soundswallower } from '../../../../src/service/engines/soundswallower/soundswallower.js'
import { lineNoise, recording, recordingsAreHere, recordingsTitle, segmentParts, withLine } from '../recordings.js'

const fixtures = join(__dirname, '../fixtures')
const kind = soundswallower({ workers: 2, decodersPerWorker: 2 })
const models = createModelRegistry({ folders: [fixtures], kinds: [kind] })
afterAll(() => models.close())

const model = (name: string): ModelDescription => {
  const found = models.find({ tenant: 'Default', name })
  if (found === undefined) throw new Error(`No fixture ${name}`)
  return found
}
const run = (engine: Engine, parts$: Observable<SegmentPart>): Promise<Hypothesis[]> =>
  lastValueFrom(parts$.pipe(engine.recognize(), toArray()))
const segments = (said: readonly Hypothesis[]) => said.flatMap((one) => (one.type === 'segment' ? [one] : []))
const texts = (said: readonly Hypothesis[]): string[] => segments(said).map(({ text }) => text)

let cards: Engine
beforeAll(async () => {
  cards = await models.engine(model('cards'))
})

describe.skipIf(!recordingsAreHere)(`soundswallower with ${recordingsTitle}`, () => {
  const spoken = [
    ['ten-of-clubs.wav', 'ten of clubs'],
    ['four-queen-of-clubs.wav', 'four queen of clubs'],
    ['seven-of-clubs.wav', 'seven of clubs'],
    ['go-forward-ten-meters.16k.raw', 'go forward ten meters'],
  ] as const

  it.each(spoken)('reads %s exactly, with words, times and confidences', async (file, text) => {
    const samples = withLine(await recording(file))
    const said = await run(cards, from(segmentParts(samples, 5000)))
    const [segment] = segments(said)
    expect(segment?.text).toBe(text)
    expect(segment?.words.map((word) => word.text)).toEqual(text.split(' '))
    const endMs = 5000 + Math.round(samples.length / 8)
    expect(segment).toMatchObject({ startMs: 5000, endMs })
    for (const word of segment?.words ?? []) {
      expect(word.startMs).toBeGreaterThanOrEqual(5000)
      expect(word.endMs).toBeGreaterThan(word.startMs)
      expect(word.endMs).toBeLessThanOrEqual(endMs)
      expect(word.confidence).toBeGreaterThan(0.5)
      expect(word.confidence).toBeLessThanOrEqual(1)
    }
  })

  it('gives the same answers however the audio is chunked and whatever was read before', async () => {
    const all = await Promise.all(spoken.map(async ([file]) => withLine(await recording(file))))
    const [ten = new Int16Array()] = all
    const answer = async (samples: Int16Array, chunkSamples: number): Promise<Hypothesis[]> =>
      (await run(cards, from(segmentParts(samples, 0, chunkSamples)))).filter(({ type }) => type !== 'progress')
    const first = await answer(ten, 160)
    for (const chunkSamples of [80, 296, 8000, 10_000_000]) {
      await Promise.all(all.map((samples) => answer(samples, 160)))
      expect(await answer(ten, chunkSamples)).toEqual(first)
    }
  })

  it('says a partial only when the text changed, and one progress for every sample', async () => {
    const samples = withLine(await recording('four-queen-of-clubs.wav'))
    const said = await run(cards, from(segmentParts(samples)))
    const partials = said.flatMap((one) => (one.type === 'partial' ? [one.text] : []))
    expect(partials.length).toBeGreaterThan(2)
    expect(partials.length).toBeLessThanOrEqual(Math.ceil(samples.length / 800))
    for (const [at, text] of partials.entries()) expect(text).not.toBe(partials[at - 1] ?? '')
    const taken = said.reduce((sum, one) => sum + (one.type === 'progress' ? one.sampleCount : 0), 0)
    expect(taken).toBe(samples.length)
    expect(said.at(-1)?.type).toBe('segment')
  })

  it('answers segments of one lane in order, though they come faster than they are read', async () => {
    const all = await Promise.all(spoken.map(async ([file]) => withLine(await recording(file))))
    const parts = all.flatMap((samples, at) => segmentParts(samples, at * 10_000))
    const said = await run(cards, from(parts))
    expect(texts(said)).toEqual(spoken.map(([, text]) => text))
    expect(segments(said).map(({ startMs }) => startMs)).toEqual([0, 10_000, 20_000, 30_000])
  })

  it('reads more lanes at once than it has decoders', async () => {
    const all = await Promise.all(spoken.map(async ([file]) => withLine(await recording(file))))
    const lanes = [...all, ...all, ...all].map((samples) => run(cards, from(segmentParts(samples))))
    const said = (await Promise.all(lanes)).flatMap(texts)
    expect(said).toEqual([...spoken, ...spoken, ...spoken].map(([, text]) => text))
  })

  it('flushes the open segment when the source completes, to where its audio ended', async () => {
    const samples = withLine(await recording('seven-of-clubs.wav'))
    const said = await run(cards, from(segmentParts(samples, 1000).slice(0, -1)))
    expect(segments(said)).toMatchObject([{ text: 'seven of clubs', endMs: 1000 + Math.round(samples.length / 8) }])
  })

  it('reads sentences of a phrase file, whose letter case and punctuation do not matter', async () => {
    const drive = await models.engine(model('drive'))
    const samples = withLine(await recording('go-forward-ten-meters.16k.raw'))
    expect(texts(await run(drive, from(segmentParts(samples))))).toEqual(['go forward ten meters'])
    expect(drive.capabilities.sampleRateHz).toBe(8000)
  })
})

describe('soundswallower', () => {
  it('says what it can', () => {
    expect(cards.capabilities).toEqual({
      sampleRateHz: 8000,
      partials: true,
      words: true,
      kind: 'grammar',
      segmentsAtOnce: 4,
    })
  })

  it('answers a segment without audio, or with noise for a moment, with an empty text', async () => {
    const parts: SegmentPart[] = [
      { type: 'open', startMs: 7 },
      { type: 'close', endMs: 7 },
      ...segmentParts(lineNoise(80), 100),
    ]
    expect(segments(await run(cards, from(parts)))).toEqual([
      { type: 'segment', startMs: 7, endMs: 7, text: '', words: [] },
      { type: 'segment', startMs: 100, endMs: 110, text: '', words: [] },
    ])
  })

  it('tells how long its threads worked on audio, and that it rests', async () => {
    const busyMs = (): number => cards.busyMs?.() ?? NaN
    const beforeMs = busyMs()
    const beginMs = performance.now()
    await run(cards, from(segmentParts(lineNoise(16_000, 3000))))
    const workedMs = busyMs() - beforeMs
    // Two threads at most, and the decoder does not read for nothing
    expect(workedMs).toBeGreaterThan(5)
    expect(workedMs).toBeLessThan(2 * (performance.now() - beginMs))
    const restsAtMs = busyMs()
    await new Promise((resolve) => setImmediate(resolve))
    expect(busyMs()).toBe(restsAtMs)
  })

  it('completes at once when the source is empty', async () => {
    expect(await run(cards, EMPTY)).toEqual([])
  })

  it('ends running lanes with engine-failed when it is closed, and takes none after that', async () => {
    const engine = await kind.open(model('cards'))
    const open: SegmentPart = { type: 'open', startMs: 0 }
    const running = run(engine, concat(from([open]), NEVER))
    const idle = run(engine, NEVER)
    const ended = [running, idle].map((one) => expect(one).rejects.toMatchObject({ code: 'engine-failed' }))
    await Promise.all([engine.close(), engine.close()])
    await Promise.all(ended)
    await expect(run(engine, NEVER)).rejects.toMatchObject({ code: 'engine-failed' })
    await expect(engine.ready()).rejects.toMatchObject({ code: 'engine-failed' })
  })

  it('gives a decoder back when a lane is unsubscribed', async () => {
    const engine = await soundswallower({ workers: 1, decodersPerWorker: 1 }).open(model('cards'))
    for (let round = 0; round < 3; round += 1) {
      const parts$ = new Subject<SegmentPart>()
      const lane = parts$.pipe(engine.recognize()).subscribe()
      for (const part of segmentParts(lineNoise(8000))) parts$.next(part)
      lane.unsubscribe()
    }
    const said = await run(engine, from(segmentParts(lineNoise(800))))
    expect(segments(said)).toHaveLength(1)
    await engine.close()
  })

  it.each([{ workers: 0 }, { workers: 1.5 }, { decodersPerWorker: 65 }])('refuses the limits %j', (limits) => {
    expect(() => soundswallower(limits)).toThrow(expect.objectContaining({ code: 'invalid-options' }))
  })
})

describe('soundswallower with a wrong model', () => {
  const refusals: readonly [string, object, Readonly<Record<string, string>>, RegExp][] = [
    ['an unknown key', { phrases: 'p.txt', grammer: 'x' }, {}, /unknown key "grammer"/],
    ['a wrong rate', { sampleRateHz: 44100, phrases: 'p.txt' }, {}, /"sampleRateHz" .* 8000 or 16000/],
    ['a wrong type', { phrases: 5 }, {}, /"phrases"/],
    ['an unknown language', { phrases: 'p.txt', language: 'de' }, {}, /"language"/],
    ['neither grammar nor phrases', {}, {}, /either "grammar" or "phrases"/],
    ['both grammar and phrases', { phrases: 'p.txt', grammar: 'p.txt' }, {}, /either "grammar" or "phrases"/],
    ['a missing file', { phrases: 'none.txt' }, {}, /"phrases" .*"none.txt", which can't be read/],
    ['a file outside', { grammar: '../../x' }, {}, /not inside the model's folder/],
    ['an absolute path', { grammar: '/etc/hostname' }, {}, /not inside the model's folder/],
    ['no sentence', { phrases: 'p.txt' }, { 'p.txt': '# nothing\n\n' }, /p\.txt holds no sentence/],
    [
      'a sign in a sentence',
      { phrases: 'p.txt' },
      { 'p.txt': 'ten\nfive <b> ten\n' },
      /p\.txt line 2: "<b>" is no word/,
    ],
    ['words that are in no dictionary', { phrases: 'p.txt' }, { 'p.txt': 'ten xyzzy of plugh' }, /"xyzzy", "plugh"/],
    ['no public rule', { grammar: 'g' }, { g: '#JSGF V1.0;\ngrammar g;\n<a> = ten;' }, /g has no public rule/],
    [
      'a rule that is not there',
      { grammar: 'g' },
      { g: '#JSGF V1.0;\ngrammar g;\npublic <a> = <b>;' },
      /g does not define <b>/,
    ],
    ['an open bracket', { grammar: 'g' }, { g: '#JSGF V1.0;\ngrammar g;\npublic <a> = (ten;' }, /no JSGF/],
    ['a word without phones', { phrases: 'p.txt', dictionary: 'd' }, { 'p.txt': 'ten', d: 'xyzzy' }, /d line 1/],
    ['an unknown phone', { phrases: 'p.txt', dictionary: 'd' }, { 'p.txt': 'ten', d: 'xyzzy QQ' }, /"xyzzy"/],
  ]

  let folder = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rxspeech-model-'))
    await cp(join(fixtures, 'Default/cards/1'), folder, { recursive: true })
  })
  afterAll(() => rm(folder, { recursive: true }))

  it.each(refusals)('refuses %s by name', async (_, options, files, message) => {
    await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)))
    const wrong: ModelDescription = {
      tenant: 'T',
      name: 'wrong',
      version: '1',
      folder,
      options: { engine: 'soundswallower', sampleRateHz: 8000, ...options },
    }
    const opening = kind.open(wrong)
    await expect(opening).rejects.toMatchObject({ code: 'invalid-model', message: expect.stringMatching(message) })
    await expect(opening).rejects.not.toMatchObject({ message: expect.stringContaining(folder) })
  })
})
