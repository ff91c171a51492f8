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
import { recording, recordingsAreHere, recordingsTitle, segmentParts, withLine } from '../recordings.js'
import { recording as wideRecording } from '../../recognition/sounds.js'
import { wordErrors } from '../word-errors.js'

const kind = pocketsphinx({ decoders: 1 })
const models = createModelRegistry({ folders: [join(__dirname, '../dictation-models')], kinds: [kind] })
afterAll(() => models.close())

const engineOf = (name: string): Promise<Engine> => {
  const model = models.find({ tenant: 'Default', name })
  if (model === undefined) throw new Error(`No fixture ${name}`)
  return models.engine(model)
}
const hear = (engine: Engine, samples: Int16Array): Promise<Hypothesis[]> =>
  lastValueFrom(from(segmentParts(samples, 5000)).pipe(engine.recognize(), toArray()))
const segmentsOf = (said: readonly Hypothesis[]) => said.flatMap((one) => (one.type === 'segment' ? [one] : []))

const spoken = [
  [
    'librivox-0870.wav',
    'and mister john dashwood had then leisure to consider how much there might be prudently in his power to do for them',
  ],
  ['librivox-0880.wav', 'he was not an ill disposed young man'],
  ['go-forward-ten-meters.16k.raw', 'go forward ten meters'],
] as const
const wordCount = spoken.reduce((sum, [, text]) => sum + text.split(' ').length, 0)

describe.skipIf(dictationIsSkipped || !recordingsAreHere)(
  `${dictationTitle} of ${recordingsTitle}`,
  { timeout: 120_000 },
  () => {
    it.each([
      ['narrowband', 8000, 0.35],
      ['wideband', 16_000, 0.4],
    ] as const)('reads %s at %d Hz with a word error rate of at most %d', async (name, rateHz, bound) => {
      const engine = await engineOf(name)
      expect(engine.capabilities).toMatchObject({
        sampleRateHz: rateHz,
        kind: 'dictation',
        words: true,
        segmentsAtOnce: 1,
      })
      let errors = 0
      for (const [file, text] of spoken) {
        const samples = rateHz === 8000 ? withLine(await recording(file)) : wideRecording(file)
        const [segment] = segmentsOf(await hear(engine, samples))
        errors += wordErrors(text, segment?.text.replaceAll(/\bmr\b/g, 'mister') ?? '')
        for (const word of segment?.words ?? []) expect(word.text).toMatch(/^[a-z][a-z'.-]*$/)
      }
      expect(errors / wordCount).toBeLessThanOrEqual(bound)
    })

    it('times the words where they are said and doubts what it misread', async () => {
      const samples = withLine(await recording('go-forward-ten-meters.16k.raw'))
      const [segment] = segmentsOf(await hear(await engineOf('narrowband'), samples))
      const [go, forward, ten, meters] = segment?.words ?? []
      // Where both acoustic models put them: "go" 0.77 s into the segment, "meters" 1.83 s
      expect(Math.abs((go?.startMs ?? 0) - 5770)).toBeLessThan(80)
      expect(Math.abs((meters?.startMs ?? 0) - 6830)).toBeLessThan(80)
      expect(forward?.startMs).toBeLessThan(ten?.startMs ?? 0)
      for (const word of segment?.words ?? []) expect(word.confidence).toBeGreaterThan(0.2)
      const [long] = segmentsOf(
        await hear(await engineOf('narrowband'), withLine(await recording('librivox-0870.wav'))),
      )
      expect(Math.min(...(long?.words ?? []).map(({ confidence }) => confidence))).toBeLessThan(0.2)
    })

    it('gives the same answer whatever other sessions read before', async () => {
      const engine = await engineOf('narrowband')
      const samples = withLine(await recording('librivox-0880.wav'))
      const answer = async () => (await hear(engine, samples)).filter(({ type }) => type !== 'progress')
      const first = await answer()
      await hear(engine, withLine(await recording('go-forward-ten-meters.16k.raw')))
      expect(await answer()).toEqual(first)
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
    ['an unknown key', { grammer: 'x' }, {}, /unknown key "grammer"/],
    ['an unknown acoustic model', { acousticModel: 'telephone' }, {}, /"acousticModel" .* "narrowband" or "wideband"/],
    [
      'a rate that does not fit',
      { sampleRateHz: 16_000 },
      {},
      /"sampleRateHz" .* is 16000, but "narrowband" hears 8000/,
    ],
    ['a rate that does not fit', { acousticModel: 'wideband', sampleRateHz: 8000 }, {}, /"wideband" hears 16000/],
    ['two searches', { languageModel: 'lm', phrases: 'p' }, {}, /one of "languageModel", "grammar" and "phrases"/],
    ['a missing language model', { languageModel: 'none.lm' }, {}, /"languageModel" .*"none.lm", which can't be read/],
    ['a folder for a file', { languageModel: 'sub/..' }, {}, /"languageModel" .* not inside/],
    ['a file outside', { languageModel: '../x' }, {}, /not inside the model's folder/],
    [
      'a language model that is none',
      { languageModel: 'lm' },
      { lm: 'no n-grams here\n' },
      /"languageModel" names is no n-gram/,
    ],
    ['an empty language model', { languageModel: 'lm' }, { lm: '' }, /"languageModel" names is no n-gram/],
    ['words that are in no dictionary', { phrases: 'p' }, { p: 'ten xyzzy of plugh' }, /lacks "xyzzy", "plugh"/],
    ['an open bracket', { grammar: 'g' }, { g: '#JSGF V1.0;\ngrammar g;\npublic <a> = (ten;' }, /no JSGF/],
    [
      'an unknown phone',
      { phrases: 'p', dictionary: 'd' },
      { p: 'ten', d: 'xyzzy QQ' },
      /"xyzzy" has an unknown phone/,
    ],
    ['an unknown phone beside dictation', { dictionary: 'd' }, { d: 'xyzzy QQ' }, /"xyzzy" has an unknown phone/],
    ['a word without phones', { phrases: 'p', dictionary: 'd' }, { p: 'ten', d: 'xyzzy' }, /d line 1/],
  ]

  it.each(refusals)('refuses %s by name', async (_, options, files, message) => {
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

  it('prints nothing, and lets the process end though nobody closed it', { timeout: 120_000 }, async () => {
    const door = join(__dirname, '../../../../dist/cjs/service/engines/pocketsphinx/pocketsphinx.js')
    const program = `
      const { pocketsphinx } = require(${JSON.stringify(door)})
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
