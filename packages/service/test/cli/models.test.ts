import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { tinySherpaModel } from '../../../engines/test/sherpa-onnx/tiny-model.js'
import type { Ended } from './command.js'
import { runInProcess } from './in-process.js'
import { longIt } from '../../../../test/thorough.js'
import { folderOfTest } from '../../../../test/temporary-folder.js'

let folder: string
let phrases: string
let models: string
beforeEach(() => {
  folder = folderOfTest()
  phrases = join(folder, 'phrases.txt')
  models = join(folder, 'models')
  writeFileSync(phrases, 'ten of clubs\nseven of hearts # a comment\n')
})

const add = (...args: readonly string[]): Promise<Ended> => runInProcess(['models', 'add', ...args, '--models', models])
const list = (...args: readonly string[]): Promise<Ended> => runInProcess(['models', ...args, '--models', models])

describe('rxspeech models', () => {
  it('creates a model that loads, gives the next one the next version, and lists both', async () => {
    const first = await add('cards', '--phrases', phrases)
    expect([first.code, first.stderr]).toEqual([0, ''])
    expect(first.stdout).toBe(`The model Default/cards/1 is in ${join(models, 'Default/cards/1')}.\n`)
    const second = await add('cards', '--phrases', phrases, '--language', 'en-us', '--batch', '--json')
    expect(JSON.parse(second.stdout)).toMatchObject({ name: 'cards', version: '2', engine: 'soundswallower' })
    expect(JSON.parse(readFileSync(join(models, 'Default/cards/2/model.json'), 'utf8'))).toEqual({
      engine: 'soundswallower',
      phrases: 'phrases.txt',
      language: 'en-us',
      batch: true,
    })
    expect(readdirSync(models)).toEqual(['Default'])
    mkdirSync(join(models, 'Acme/broken/1'), { recursive: true })
    writeFileSync(join(models, 'Acme/broken/1/model.json'), '{"engine":"none"}')
    const table = (await list()).stdout.split('\n')
    expect(table[0]).toMatch(/^TENANT +NAME +VERSION +READS +ENGINE +RATE +LANGUAGES +PROBLEM$/)
    expect(table[1]).toMatch(
      /^Acme +broken +1 +any speech +none +- +- +Model Acme\/broken\/1: "engine" in model\.json is "none"/,
    )
    expect(table[2]).toMatch(/^Default +cards +1 +sentences of phrases.txt +soundswallower +8000 Hz +en-us +-$/)
    const json = JSON.parse((await list('list', '--json')).stdout) as readonly object[]
    expect(json).toHaveLength(3)
    expect(json[2]).toMatchObject({
      tenant: 'Default',
      version: '2',
      sampleRateHz: 8000,
      languages: ['en-us'],
      problem: null,
    })
  })

  it('says where models are if a folder has them elsewhere than expected, and nothing of an empty one', async () => {
    await add('cards', '--phrases', phrases)
    mkdirSync(join(folder, 'above/none'), { recursive: true })
    renameSync(models, join(folder, 'above/models'))
    const above = await runInProcess(['models', '--models', join(folder, 'above')])
    expect([above.code, above.stdout]).toEqual([2, ''])
    expect(above.stderr).toContain(`pass ${join(folder, 'above/models')}, in which there is Default/cards/1.`)
    expect(await runInProcess(['models', '--models', join(folder, 'above/none')])).toMatchObject({
      code: 0,
      stderr: '',
    })
  })

  it('refuses to overwrite a model, and leaves it unchanged', async () => {
    await add('cards', '--phrases', phrases, '--version', '7', '--tenant', 'Acme')
    const before = readFileSync(join(models, 'Acme/cards/7/phrases.txt'), 'utf8')
    writeFileSync(phrases, 'go forward')
    const { code, stderr } = await add('cards', '--phrases', phrases, '--version', '7', '--tenant', 'Acme')
    expect([code, stderr]).toEqual([2, 'rxspeech: The model Acme/cards/7 is there already; choose another version.\n'])
    expect(readFileSync(join(models, 'Acme/cards/7/phrases.txt'), 'utf8')).toBe(before)
    expect((await add('cards', '--phrases', phrases, '--tenant', 'Acme')).stdout).toContain('Acme/cards/8')
  })

  longIt('creates nothing that the engine does not load', async () => {
    writeFileSync(phrases, 'ten of blorkfish\n')
    const { code, stderr } = await add('cards', '--phrases', phrases)
    expect([code, stderr]).toEqual([
      3,
      `rxspeech: ${phrases}: the dictionary lacks "blorkfish"; add what is missing with --dictionary FILE.\n`,
    ])
    writeFileSync(phrases, 'ten\nhel\u200blo\n')
    expect(await add('cards', '--phrases', phrases)).toMatchObject({
      code: 3,
      stderr: `rxspeech: ${phrases} line 2: "hel\\u200blo" is not a word; correct it.\n`,
    })
    expect(readdirSync(models)).toEqual([])
    const dictionary = join(folder, 'words.txt')
    // As PowerShell writes it.
    writeFileSync(phrases, '\ufeffTen of blorkfish\r\n', 'utf16le')
    writeFileSync(dictionary, 'blorkfish B L AO R K F IH SH\n')
    expect((await add('cards', '--phrases', phrases, '--dictionary', dictionary)).code).toBe(0)
  })

  it.each(['../x', '/etc', '.hidden', '..', '', 'a/b', 'a b', 'a\\b', '..%2f', 'é', 'x'.repeat(65)])(
    'rejects the name %j, as a name, a tenant and a version',
    async (bad) => {
      for (const args of [[bad], ['ok', '--tenant', bad], ['ok', '--version', bad]]) {
        const { code, stderr } = await add(...args, '--phrases', phrases)
        expect([code, stderr]).toEqual([2, expect.stringMatching(/^rxspeech: .* must be 1 to 64 letters of A to Z/)])
      }
      expect(readdirSync(folder)).toEqual(['phrases.txt'])
    },
  )

  it.each<[readonly string[], RegExp]>([
    [['a'], /needs a folder, --grammar or --phrases/],
    [['a', '/nowhere/x'], /"\/nowhere\/x" cannot be read/],
    [['a', '/nowhere/x', '--sherpa-onnx', '/nowhere/x'], /Name the folder once/],
    [['a', '/nowhere/x', '--phrases', 'y'], /--phrases does not fit a model for sherpa-onnx/],
    [['a', '--grammar', 'x', '--phrases', 'y'], /Set either --grammar or --phrases/],
    [['a', '--sherpa-onnx', '/nowhere/x'], /"\/nowhere\/x" cannot be read/],
    [['a', '--sherpa-onnx', 'x', '--phrases', 'y'], /--phrases does not fit a model for sherpa-onnx/],
    [['a', '--phrases', 'x', '--int8'], /--int8 does not fit a model for a grammar or phrases/],
    [['a', '--phrases', '/nowhere/x'], /"\/nowhere\/x" cannot be read/],
    [['a', '--phrases', '/'], /cannot be read/],
    [['a', '--phrases', 'x', '--language', 'de-de'], /--language must be en-us or fr-fr/],
  ])('rejects %j with 2 and one sentence', async (args, sentence) => {
    const { code, stderr } = await add(...args)
    expect([code, stderr]).toEqual([2, expect.stringMatching(sentence)])
  })

  it('adds a model of sherpa-onnx from a folder as its makers publish it, with hotwords', async () => {
    const published = tinySherpaModel()
    writeFileSync(join(published, 'README.md'), 'not needed')
    const hotwords = join(folder, 'words.txt')
    writeFileSync(hotwords, 'ten of clubs\n')
    const flags = [published, '--rate', '8000', '--hotwords', hotwords, '--json']
    const { code, stdout, stderr } = await add('english', ...flags)
    expect([code, stderr]).toEqual([0, ''])
    expect(JSON.parse(stdout)).toMatchObject({ engine: 'sherpa-onnx', sampleRateHz: 8000, problem: null })
    const place = join(models, 'Default/english/1')
    expect(JSON.parse(readFileSync(join(place, 'model.json'), 'utf8'))).toEqual({
      engine: 'sherpa-onnx',
      transducer: { encoder: 'encoder-epoch-1.onnx', decoder: 'decoder-epoch-1.onnx', joiner: 'joiner-epoch-1.onnx' },
      tokens: 'tokens.txt',
      sampleRateHz: 8000,
      decodingMethod: 'modified_beam_search',
      hotwords: 'hotwords.txt',
      modelingUnit: 'bpe',
      bpeVocab: 'bpe.vocab',
    })
    expect(readdirSync(place)).not.toContain('README.md')
    rmSync(published, { recursive: true })
  })

  it('chooses among files of sherpa-onnx, and says what is missing or ambiguous', async () => {
    const published = tinySherpaModel()
    const rename = (from: string, to: string) => renameSync(join(published, from), join(published, to))
    const copy = (from: string, to: string) => copyFileSync(join(published, from), join(published, to))
    const attempt = async (...flags: readonly string[]) => {
      const { stderr, code } = await add('english', '--sherpa-onnx', published, '--rate', '8000', ...flags)
      return code === 0
        ? (JSON.parse(readFileSync(join(models, 'Default/english/1/model.json'), 'utf8')) as object)
        : stderr
    }
    rename('tokens.txt', 'words.txt')
    expect(await attempt()).toMatch(/has no tokens\.txt/)
    rename('words.txt', 'tokens.txt')
    copy('encoder-epoch-1.onnx', 'encoder-epoch-2.onnx')
    expect(await attempt()).toMatch(
      /several files that may be its encoder: encoder-epoch-1\.onnx, encoder-epoch-2\.onnx/,
    )
    rename('encoder-epoch-2.onnx', 'encoder-epoch-1.int8.onnx')
    expect(await attempt('--int8')).toMatchObject({ transducer: { encoder: 'encoder-epoch-1.int8.onnx' } })
    rename('joiner-epoch-1.onnx', 'joiner.txt')
    rename('decoder-epoch-1.onnx', 'decoder.txt')
    expect(await attempt()).toMatch(/has no model: encoder, decoder and joiner/)
    rmSync(published, { recursive: true })
  })
})

describe('rxspeech models types', () => {
  const grammarModel = (path: string, grammar: string): void => {
    mkdirSync(join(models, path), { recursive: true })
    writeFileSync(join(models, path, 'model.json'), '{"grammar":"g.gram"}')
    writeFileSync(join(models, path, 'g.gram'), `#JSGF V1.0;\ngrammar g;\n${grammar}`)
  }
  const types = (...args: readonly string[]): Promise<Ended> => runInProcess(['models', 'types', ...args])

  it('writes the type of the newest version by name, of a version, and of a folder, to stdout or a file', async () => {
    grammarModel('Acme/lamp/9', 'public <a> = on {state=9};')
    grammarModel('Acme/lamp/10', 'public <a> = on {state=10};')
    for (const name of ['lamp', 'Acme/lamp', 'lamp/10', 'Acme/lamp/10']) {
      expect((await types(name, '--models', models)).stdout).toContain(
        "export type LampSlots =\n  | {\n      readonly state: '10'",
      )
    }
    expect((await types('lamp/9', '--models', models)).stdout).toContain("readonly state: '9'")
    expect((await types(join(models, 'Acme/lamp/9'))).stdout).toContain("readonly state: '9'")
    const out = join(folder, 'lamp.ts')
    expect(await types('lamp', '--models', models, '--out', out)).toMatchObject({ code: 0, stdout: '', stderr: '' })
    expect(readFileSync(out, 'utf8')).toContain('Made by: rxspeech models types Acme/lamp/10')
  })

  it('has those of the sample model without flags', async () => {
    expect((await types('call')).stdout).toContain("readonly day: 'friday' | 'monday'")
  })

  it('rejects what has no grammar, is not there, or is ambiguous, with one sentence', async () => {
    grammarModel('Acme/lamp/1', 'public <a> = on;')
    grammarModel('Other/lamp/1', 'public <a> = on;')
    await add('cards', '--phrases', phrases)
    for (const [name, code, sentence] of [
      ['cards', 2, /The model cards has no grammar/],
      ['none', 2, /There is no model "none", as a folder or in /],
      ['lamp', 2, /is a model of Acme and Other; write <tenant>\/<name>/],
      [models, 2, /has more than one model/],
      ['', 2, /There is no model ""/],
    ] as const) {
      const ended = await types(name, '--models', models)
      expect([ended.code, ended.stderr]).toEqual([code, expect.stringMatching(sentence)])
    }
    writeFileSync(join(models, 'Acme/lamp/1/model.json'), '{')
    expect((await types('Acme/lamp', '--models', models)).stderr).toMatch(/model.json must contain one JSON object/)
    const unwritable = await types('call', '--out', join(folder, 'no/such/folder.ts'))
    expect([unwritable.code, unwritable.stderr]).toEqual([
      2,
      expect.stringMatching(/cannot be written; check its folder/),
    ])
  })
})
