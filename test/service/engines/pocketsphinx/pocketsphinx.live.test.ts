import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { from, lastValueFrom, toArray } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Engine, Hypothesis, ModelDescription } from '../../../../src/service/engines/engine.js'
import { createModelRegistry } from '../../../../src/service/engines/models/model-registry.js'
import { pocketsphinx } from '../../../../src/service/engines/pocketsphinx/pocketsphinx.js'
import { dictationIsSkipped, dictationTitle } from '../debian-packages.js'
import { recording, recordingsAreHere, recordingsTitle, segmentParts, withLineNoise } from '../recordings.js'
import { recording as wideRecording } from '../../recognition/sounds.js'
import { wordErrors } from '../word-errors.js'

const kind = pocketsphinx({ decoders: 1 })

const references = {
  'librivox-0870.wav':
    'and mister john dashwood had then leisure to consider how much there might be prudently in his power to do for them',
  'librivox-0880.wav': 'he was not an ill disposed young man',
  'go-forward-ten-meters.16k.raw': 'go forward ten meters',
} as const
type File = keyof typeof references
const files = Object.keys(references) as readonly File[]
const wordCount = Object.values(references).reduce((sum, text) => sum + text.split(' ').length, 0)

interface Decoded {
  readonly engine: Engine
  readonly outputs: ReadonlyMap<File, readonly Hypothesis[]>
}

const recognize = (engine: Engine, samples: Int16Array): Promise<Hypothesis[]> =>
  lastValueFrom(from(segmentParts(samples, 5000)).pipe(engine.recognize(), toArray()))
const segmentOf = (output: readonly Hypothesis[] = []) => output.find((hypothesis) => hypothesis.type === 'segment')

describe.skipIf(dictationIsSkipped || !recordingsAreHere)(
  `${dictationTitle} of ${recordingsTitle}`,
  { timeout: 300_000 },
  () => {
    const models = createModelRegistry({ folders: [join(__dirname, '../dictation-models')], kinds: [kind] })
    /** Each recording is decoded once with each acoustic model, by one decoder. */
    const decoded = new Map<string, Decoded>()
    const decode = async (name: string, samplesOf: (file: File) => Int16Array | Promise<Int16Array>): Promise<void> => {
      const model = models.find({ tenant: 'Default', name })
      if (model === undefined) throw new Error(`No fixture ${name}`)
      const engine = await models.engine(model)
      const outputs = new Map<File, readonly Hypothesis[]>()
      for (const file of files) outputs.set(file, await recognize(engine, await samplesOf(file)))
      decoded.set(name, { engine, outputs })
    }
    const narrowbandSamples = async (file: File): Promise<Int16Array> => withLineNoise(await recording(file))
    const find = (name: string): Decoded => {
      const found = decoded.get(name)
      if (found === undefined) throw new Error(`${name} is not decoded`)
      return found
    }
    beforeAll(
      () => Promise.all([decode('narrowband', narrowbandSamples), decode('wideband', (file) => wideRecording(file))]),
      300_000,
    )
    afterAll(() => models.close())

    it.each([
      ['narrowband', 8000, 0.35],
      ['wideband', 16_000, 0.4],
    ] as const)(
      'recognizes speech with the %s model at %d Hz with a word error rate of at most %d',
      (name, rateHz, maxRate) => {
        const { engine, outputs } = find(name)
        expect(engine.capabilities).toMatchObject({
          sampleRateHz: rateHz,
          kind: 'dictation',
          words: true,
          segmentsAtOnce: 1,
        })
        let errors = 0
        for (const file of files) {
          const segment = segmentOf(outputs.get(file))
          errors += wordErrors(references[file], segment?.text.replaceAll(/\bmr\b/g, 'mister') ?? '')
          for (const word of segment?.words ?? []) expect(word.text).toMatch(/^[a-z][a-z'.-]*$/)
        }
        expect(errors / wordCount).toBeLessThanOrEqual(maxRate)
      },
    )

    it('reports the times of words, and low confidences where it is wrong', () => {
      const { outputs } = find('narrowband')
      const segment = segmentOf(outputs.get('go-forward-ten-meters.16k.raw'))
      const [go, forward, ten, meters] = segment?.words ?? []
      // Both acoustic models find "go" 0.77 s after the start of the segment and "meters" after 1.83 s.
      expect(Math.abs((go?.startMs ?? 0) - 5770)).toBeLessThan(80)
      expect(Math.abs((meters?.startMs ?? 0) - 6830)).toBeLessThan(80)
      expect(forward?.startMs).toBeLessThan(ten?.startMs ?? 0)
      for (const word of segment?.words ?? []) expect(word.confidence).toBeGreaterThan(0.2)
      const long = segmentOf(outputs.get('librivox-0870.wav'))
      expect(Math.min(...(long?.words ?? []).map(({ confidence }) => confidence))).toBeLessThan(0.2)
    })

    it('keeps the words before a word that is cut, which it does not trust', async () => {
      const { engine } = find('narrowband')
      // Here the library finds no end of a word.
      const samples = (await recording('librivox-0880.wav')).slice(0, 10_184)
      const cut = segmentParts(samples).map((part) => (part.type === 'close' ? { ...part, isCut: true } : part))
      const output = await lastValueFrom(from(cut).pipe(engine.recognize(), toArray()))
      const segment = segmentOf(output)
      expect(segment).toMatchObject({ text: 'he was not', isIncomplete: true })
      expect(segment?.words.map(({ text, confidence }) => [text, confidence])).toEqual([
        ['he', 0],
        ['was', 0],
        ['not', 0],
      ])
    })

    it('returns the same result whatever its decoder decoded before', async () => {
      const { engine, outputs } = find('narrowband')
      const withoutProgress = (output: readonly Hypothesis[] = []) => output.filter(({ type }) => type !== 'progress')
      const again = await recognize(engine, await narrowbandSamples('librivox-0880.wav'))
      const first = withoutProgress(outputs.get('librivox-0880.wav'))
      expect(first.length).toBeGreaterThan(1)
      expect(withoutProgress(again)).toEqual(first)
    })
  },
)

describe.skipIf(dictationIsSkipped || !recordingsAreHere)(
  `${dictationTitle}: a grammar and ${recordingsTitle}`,
  { timeout: 60_000 },
  () => {
    const go = '{command=go}'
    const jsgf = `#JSGF V1.0;\ngrammar g;\npublic <a> = (go forward ten meters) ${go};\n`
    let folder = ''
    let engine: Engine | undefined
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'rxspeech-model-'))
      await writeFile(join(folder, 'g.jsgf'), jsgf)
      const options = { engine: 'pocketsphinx', grammar: 'g.jsgf' }
      engine = await kind.open({ tenant: 'T', name: 'go', version: '1', folder, options })
    })
    afterAll(async () => {
      await engine?.close()
      await rm(folder, { recursive: true })
    })

    /** The segment of the first part of "go forward ten meters". */
    const beginning = async (part: number, isCut: boolean) => {
      const speech = withLineNoise(await recording('go-forward-ten-meters.16k.raw'))
      const samples = speech.slice(0, Math.round(part * speech.length))
      const parts = segmentParts(samples).map((item) => (item.type === 'close' ? { ...item, isCut } : item))
      if (engine === undefined) throw new Error('The model is not open.')
      const { text, words, isIncomplete, slots } =
        segmentOf(await lastValueFrom(from(parts).pipe(engine.recognize(), toArray()))) ?? {}
      return { text, words: words?.map((word) => word.text).join(' '), isIncomplete, slots }
    }

    it('keeps the words of a sentence whose audio is cut, without slots', async () => {
      const kept = 'go forward ten'
      const incomplete = { text: kept, words: kept, isIncomplete: true, slots: undefined }
      expect(await beginning(0.55, true)).toEqual(incomplete)
      expect(await beginning(0.55, false)).toMatchObject({ text: '', isIncomplete: undefined })
      const whole = 'go forward ten meters'
      const complete = { text: whole, words: whole, isIncomplete: undefined, slots: { command: 'go' } }
      expect(await beginning(1, true)).toEqual(complete)
    })
  },
)

describe.skipIf(dictationIsSkipped)(`${dictationTitle} with a wrong model`, () => {
  let folder = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rxspeech-model-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  const refusals: readonly (readonly [string, object, Readonly<Record<string, string>>, RegExp])[] = [
    ['an unknown key', { grammer: 'x' }, {}, /"grammer" in model\.json is not known; did you mean grammar/],
    ['an unknown acoustic model', { acousticModel: 'telephone' }, {}, /"acousticModel" .* "narrowband" or "wideband"/],
    [
      'a rate that does not fit',
      { sampleRateHz: 16_000 },
      {},
      /"sampleRateHz" .* is 16000, but "narrowband" takes 8000/,
    ],
    ['a rate that does not fit', { acousticModel: 'wideband', sampleRateHz: 8000 }, {}, /"wideband" takes 16000/],
    ['two searches', { languageModel: 'lm', phrases: 'p' }, {}, /one of "languageModel", "grammar" and "phrases"/],
    ['a missing language model', { languageModel: 'none.lm' }, {}, /"languageModel" .*"none.lm", which cannot be read/],
    ['a folder for a file', { languageModel: 'sub/..' }, {}, /"languageModel" .* not inside/],
    ['a file outside', { languageModel: '../x' }, {}, /not inside the model's folder/],
    [
      'a language model that is none',
      { languageModel: 'lm' },
      { lm: 'no n-grams here\n' },
      /"languageModel" names is not an n-gram/,
    ],
    ['an empty language model', { languageModel: 'lm' }, { lm: '' }, /"languageModel" names is not an n-gram/],
    ['words that are in no dictionary', { phrases: 'p' }, { p: 'ten xyzzy of plugh' }, /lacks "xyzzy", "plugh"/],
    ['an open bracket', { grammar: 'g' }, { g: '#JSGF V1.0;\ngrammar g;\npublic <a> = (ten;' }, /not JSGF/],
    [
      'an unknown phone',
      { phrases: 'p', dictionary: 'd' },
      { p: 'ten', d: 'xyzzy QQ' },
      /"xyzzy" has an unknown phone/,
    ],
    ['an unknown phone beside dictation', { dictionary: 'd' }, { d: 'xyzzy QQ' }, /"xyzzy" has an unknown phone/],
    ['a word without phones', { phrases: 'p', dictionary: 'd' }, { p: 'ten', d: 'xyzzy' }, /d line 1/],
  ]

  it.each(refusals)('names the error: %s', async (_, options, files, message) => {
    await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)))
    const wrong: ModelDescription = {
      tenant: 'T',
      name: 'wrong',
      version: '1',
      folder,
      options: { engine: 'pocketsphinx', ...options },
    }
    const opening = kind.open(wrong)
    await expect(opening).rejects.toMatchObject({
      code: 'invalid-model',
      message: expect.stringMatching(message) as unknown,
    })
    await expect(opening).rejects.not.toMatchObject({ message: expect.stringContaining(folder) as unknown })
  })

  it('prints nothing, and lets the process exit without being closed', { timeout: 120_000 }, async () => {
    const modulePath = join(__dirname, '../../../../dist/cjs/service/engines/pocketsphinx/pocketsphinx.js')
    const program = `
      const { pocketsphinx } = require(${JSON.stringify(modulePath)})
      const model = { tenant: 'T', name: 'n', version: '1', folder: ${JSON.stringify(folder)} }
      const open = (options) => pocketsphinx().open({ ...model, options: { engine: 'pocketsphinx', ...options } })
      const main = async () => {
        await open({ languageModel: 'lm' }).catch(({ code }) => console.log(code))
        const engine = await open({})
        console.log(engine.capabilities.sampleRateHz)
      }
      main()`
    await writeFile(join(folder, 'lm'), 'no n-grams here\n')
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ['-e', program])
    expect({ stdout, stderr }).toEqual({ stdout: 'invalid-model\n8000\n', stderr: '' })
  })
})

describe('pocketsphinx', () => {
  it.each([0, 1.5, 65, NaN])('refuses %d decoders', (decoders) => {
    expect(() => pocketsphinx({ decoders })).toThrow(expect.objectContaining({ code: 'invalid-options' }))
  })
})
