import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { concat, EMPTY, from, lastValueFrom, NEVER, Subject, toArray, type Observable } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Engine, Hypothesis, ModelDescription, SegmentPart } from '../../src/engine.js'
import { createModelRegistry } from '../../src/models/model-registry.js'
import { soundswallower } from '../../src/soundswallower/soundswallower.js'
import { lineNoise, recording, recordingsAreHere, recordingsTitle, segmentParts, withLineNoise } from '../recordings.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

const fixtures = join(__dirname, '../fixtures')
const kind = soundswallower({ workers: 2, decodersPerWorker: 2 })
const models = createModelRegistry({ folders: [fixtures], kinds: [kind] })
afterAll(() => models.close())

const model = (name: string): ModelDescription => {
  const found = models.find({ tenant: 'Default', name })
  if (found === undefined) throw new Error(`No fixture ${name}`)
  return found
}
const recognize = (engine: Engine, parts$: Observable<SegmentPart>): Promise<Hypothesis[]> =>
  lastValueFrom(parts$.pipe(engine.recognize(), toArray()))
const segmentsOf = (output: readonly Hypothesis[]) =>
  output.flatMap((hypothesis) => (hypothesis.type === 'segment' ? [hypothesis] : []))
const textsOf = (output: readonly Hypothesis[]): string[] => segmentsOf(output).map(({ text }) => text)

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
  const expectedTexts = spoken.map(([, text]) => text)

  let recordings: readonly Int16Array[]
  /** Each recording twice, decoded on as many concurrent channels, by four decoders. */
  let outputs: readonly (readonly Hypothesis[])[]
  const samplesOf = (index: number): Int16Array => recordings[index] ?? new Int16Array(0)
  const outputOf = (index: number): readonly Hypothesis[] => outputs[index] ?? []
  beforeAll(async () => {
    recordings = await Promise.all(spoken.map(async ([file]) => withLineNoise(await recording(file))))
    const channels = [...recordings, ...recordings]
    outputs = await Promise.all(channels.map((samples) => recognize(cards, from(segmentParts(samples, 5000)))))
  })

  it.each(spoken.map(([file, text], index) => [file, text, index] as const))(
    'recognizes %s exactly, with words, times and confidences',
    (_file, text, index) => {
      const [segment] = segmentsOf(outputOf(index))
      expect(segment?.text).toBe(text)
      expect(segment?.words.map((word) => word.text)).toEqual(text.split(' '))
      const endMs = 5000 + Math.round(samplesOf(index).length / 8)
      expect(segment).toMatchObject({ startMs: 5000, endMs })
      for (const word of segment?.words ?? []) {
        expect(word.startMs).toBeGreaterThanOrEqual(5000)
        expect(word.endMs).toBeGreaterThan(word.startMs)
        expect(word.endMs).toBeLessThanOrEqual(endMs)
        expect(word.confidence).toBeGreaterThan(0.5)
        expect(word.confidence).toBeLessThanOrEqual(1)
      }
    },
  )

  it('decodes more channels than it has decoders', () => {
    expect(outputs.length).toBeGreaterThan(cards.capabilities.segmentsAtOnce)
    expect(outputs.map(textsOf)).toEqual([...expectedTexts, ...expectedTexts].map((text) => [text]))
  })

  it('returns the same result whatever the length of chunks and whatever its decoders decoded before', async () => {
    const withoutProgress = (output: readonly Hypothesis[]) => output.filter(({ type }) => type !== 'progress')
    const first = withoutProgress(outputOf(0))
    expect(first.length).toBeGreaterThan(1)
    // All decoders have decoded several recordings by now.
    const lengths = [80, 296, 8000, 10_000_000]
    const again = await Promise.all(
      lengths.map((chunkSamples) => recognize(cards, from(segmentParts(samplesOf(0), 5000, chunkSamples)))),
    )
    expect(again.map(withoutProgress)).toEqual(lengths.map(() => first))
    expect(withoutProgress(outputOf(spoken.length))).toEqual(first)
  })

  it('emits a partial only when the text changed, and progress for every sample', () => {
    const output = outputOf(1)
    const partials = output.flatMap((hypothesis) => (hypothesis.type === 'partial' ? [hypothesis.text] : []))
    expect(partials.length).toBeGreaterThan(2)
    expect(partials.length).toBeLessThanOrEqual(Math.ceil(samplesOf(1).length / 800))
    for (const [at, text] of partials.entries()) expect(text).not.toBe(partials[at - 1] ?? '')
    const sampleCount = output.reduce(
      (sum, hypothesis) => sum + (hypothesis.type === 'progress' ? hypothesis.sampleCount : 0),
      0,
    )
    expect(sampleCount).toBe(samplesOf(1).length)
    expect(output.at(-1)?.type).toBe('segment')
  })

  it('decides the segments of a channel in order, though they arrive faster than they are decoded', async () => {
    const parts = recordings.flatMap((samples, at) => segmentParts(samples, at * 10_000))
    const output = await recognize(cards, from(parts))
    expect(textsOf(output)).toEqual(expectedTexts)
    expect(segmentsOf(output).map(({ startMs }) => startMs)).toEqual([0, 10_000, 20_000, 30_000])
  })

  it('closes the open segment where its audio ends when the source completes', async () => {
    const output = await recognize(cards, from(segmentParts(samplesOf(2), 1000).slice(0, -1)))
    const endMs = 1000 + Math.round(samplesOf(2).length / 8)
    expect(segmentsOf(output)).toMatchObject([{ text: 'seven of clubs', endMs }])
  })

  it('recognizes sentences of a phrase file, regardless of letter case and punctuation', async () => {
    const drive = await models.engine(model('drive'))
    expect(textsOf(await recognize(drive, from(segmentParts(samplesOf(3)))))).toEqual(['go forward ten meters'])
    expect(drive.capabilities.sampleRateHz).toBe(8000)
  })
})

describe('soundswallower', () => {
  it('states its capabilities', () => {
    expect(cards.capabilities).toEqual({
      sampleRateHz: 8000,
      partials: true,
      words: true,
      kind: 'grammar',
      checks: true,
      phrases: true,
      segmentsAtOnce: 4,
      languages: ['en'],
    })
  })

  it('decides a segment without audio, or with a moment of noise, with an empty text', async () => {
    const parts: SegmentPart[] = [
      { type: 'open', startMs: 7 },
      { type: 'close', endMs: 7 },
      ...segmentParts(lineNoise(80), 100),
    ]
    expect(segmentsOf(await recognize(cards, from(parts)))).toEqual([
      { type: 'segment', startMs: 7, endMs: 7, text: '', words: [] },
      { type: 'segment', startMs: 100, endMs: 110, text: '', words: [] },
    ])
  })

  it('reports how long its threads worked on audio, and no work while it is idle', async () => {
    const busyMs = (): number => cards.busyMs?.() ?? NaN
    const beforeMs = busyMs()
    const beginMs = performance.now()
    await recognize(cards, from(segmentParts(lineNoise(16_000, 3000))))
    const workedMs = busyMs() - beforeMs
    // There are two threads, and decoding takes some time.
    expect(workedMs).toBeGreaterThan(5)
    expect(workedMs).toBeLessThan(2 * (performance.now() - beginMs))
    const restsAtMs = busyMs()
    await new Promise((resolve) => setImmediate(resolve))
    expect(busyMs()).toBe(restsAtMs)
  })

  it('completes at once when the source is empty', async () => {
    expect(await recognize(cards, EMPTY)).toEqual([])
  })

  it('fails running and later channels with engine-failed when it is closed', async () => {
    const engine = await kind.open(model('cards'))
    const open: SegmentPart = { type: 'open', startMs: 0 }
    const running = recognize(engine, concat(from([open]), NEVER))
    const idle = recognize(engine, NEVER)
    const ended = [running, idle].map((value) => expect(value).rejects.toMatchObject({ code: 'engine-failed' }))
    await Promise.all([engine.close(), engine.close()])
    await Promise.all(ended)
    await expect(recognize(engine, NEVER)).rejects.toMatchObject({ code: 'engine-failed' })
    await expect(engine.ready()).rejects.toMatchObject({ code: 'engine-failed' })
  })

  it('releases the decoder when a channel is unsubscribed', async () => {
    const engine = await soundswallower({ workers: 1, decodersPerWorker: 1 }).open(model('cards'))
    for (let round = 0; round < 3; round += 1) {
      const parts$ = new Subject<SegmentPart>()
      const channel = parts$.pipe(engine.recognize()).subscribe()
      for (const part of segmentParts(lineNoise(8000))) parts$.next(part)
      channel.unsubscribe()
    }
    const output = await recognize(engine, from(segmentParts(lineNoise(800))))
    expect(segmentsOf(output)).toHaveLength(1)
    await engine.close()
  })

  it.each([{ workers: 0 }, { workers: 1.5 }, { decodersPerWorker: 65 }])('refuses the limits %j', (limits) => {
    expect(() => soundswallower(limits)).toThrow(expect.objectContaining({ code: 'invalid-options' }))
  })
})

describe('soundswallower with a wrong model', () => {
  const refusals: readonly [string, object, Readonly<Record<string, string>>, RegExp][] = [
    [
      'an unknown key',
      { phrases: 'p.txt', grammer: 'x' },
      {},
      /"grammer" in model\.json is not known; did you mean grammar/,
    ],
    ['a wrong rate', { sampleRateHz: 44100, phrases: 'p.txt' }, {}, /"sampleRateHz" .* 8000 or 16000/],
    ['a wrong type', { phrases: 5 }, {}, /"phrases"/],
    ['an unknown language', { phrases: 'p.txt', language: 'de' }, {}, /"language"/],
    ['neither grammar nor phrases', {}, {}, /either "grammar" or "phrases"/],
    ['both grammar and phrases', { phrases: 'p.txt', grammar: 'p.txt' }, {}, /either "grammar" or "phrases"/],
    ['a missing file', { phrases: 'none.txt' }, {}, /"phrases" .*"none.txt", which cannot be read/],
    ['a file outside', { grammar: '../../x' }, {}, /not inside the model's folder/],
    ['an absolute path', { grammar: '/etc/hostname' }, {}, /not inside the model's folder/],
    ['no sentence', { phrases: 'p.txt' }, { 'p.txt': '# nothing\n\n' }, /p\.txt contains no sentence/],
    [
      'a sign in a sentence',
      { phrases: 'p.txt' },
      { 'p.txt': 'ten\nfive <b> ten\n' },
      /p\.txt line 2: "<b>" is not a word/,
    ],
    ['words that are in no dictionary', { phrases: 'p.txt' }, { 'p.txt': 'ten xyzzy of plugh' }, /"xyzzy", "plugh"/],
    ['no public rule', { grammar: 'g' }, { g: '#JSGF V1.0;\ngrammar g;\n<a> = ten;' }, /g has no public rule/],
    [
      'a rule that is not there',
      { grammar: 'g' },
      { g: '#JSGF V1.0;\ngrammar g;\npublic <a> = <b>;' },
      /g does not define <b>/,
    ],
    [
      'rules that grow without end',
      { grammar: 'g' },
      { g: `public <a> = ${'('.repeat(20)}ten${')+'.repeat(20)};` },
      /g has more than 100000 words/,
    ],
    ['an open bracket', { grammar: 'g' }, { g: '#JSGF V1.0;\ngrammar g;\npublic <a> = (ten;' }, /not JSGF/],
    ['a word without phones', { phrases: 'p.txt', dictionary: 'd' }, { 'p.txt': 'ten', d: 'xyzzy' }, /d line 1/],
    ['an unknown phone', { phrases: 'p.txt', dictionary: 'd' }, { 'p.txt': 'ten', d: 'xyzzy QQ' }, /"xyzzy"/],
  ]

  const folder = temporaryFolder()
  beforeAll(async () => {
    await cp(join(fixtures, 'Default/cards/1'), folder, { recursive: true })
  })

  it.each(refusals)('names the error: %s', async (_, options, files, message) => {
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
