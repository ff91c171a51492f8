import { describe, expect, it } from 'vitest'
import { catalogue } from '../../src/catalogue/catalogue-table.js'
import {
  filesOf,
  isRestrictive,
  languagesOf,
  modelOfArchive,
  readsWhat,
  searchCatalogue,
} from '../../src/catalogue/catalogue.js'
import { describeModel } from '../../src/catalogue/describe.js'
import { readSherpaOptions } from '../../src/sherpa-onnx/model-options.js'
import { checkModelName } from '../../src/models/add-model.js'

const namesOf = (...words: readonly string[]): readonly string[] => searchCatalogue(words).map(({ name }) => name)

describe('the catalogue', () => {
  it('has names that models can have, each once, and archives, each once', () => {
    for (const key of ['name', 'archive'] as const) {
      expect(new Set(catalogue.map((model) => model[key])).size).toBe(catalogue.length)
    }
    for (const { name } of catalogue) expect(checkModelName('name', name)).toBe(name)
  })

  it.each(catalogue.map((model) => [model.name, model] as const))('describes %s', (_name, model) => {
    expect(model.sha256 ?? '0'.repeat(64)).toMatch(/^[0-9a-f]{64}$/)
    expect(
      languagesOf(model).every((code) => new Intl.DisplayNames(['en'], { type: 'language' }).of(code) !== code),
    ).toBe(true)
    const { options, files } = describeModel(model)
    expect(files).toEqual(filesOf(model))
    const described = { tenant: 'Default', name: model.name, version: '1', folder: '/nowhere', options }
    expect(readSherpaOptions(described).types.map(({ streaming }) => streaming)).toEqual([model.isLive])
    expect(new Set(files).size).toBe(files.length)
    for (const file of files) expect(file).toMatch(/^(tokenizer\/)?[\w.-]+\.(onnx|ort|txt|json|data)$/)
  })

  it('is searched by languages, as codes or in English, by names, types, licences and live text, of which all must fit', () => {
    expect(namesOf()).toHaveLength(catalogue.length)
    expect(namesOf('fr')).toEqual(namesOf('French'))
    expect(namesOf('fr', 'live')).toEqual(['nemotron-3.5', 'kroko-fr'])
    expect(namesOf('KROKO', 'de')).toEqual(['kroko-de'])
    expect(namesOf('yue')).toEqual(['sense-voice', 'qwen3-asr', 'omnilingual'])
    expect(namesOf('moonshine')).toHaveLength(4)
    expect(namesOf('nvidia')).toEqual(['nemotron-en'])
    expect(namesOf('qx')).toEqual([])
    // A language that only one of more than a thousand can be.
    expect(namesOf('ast')).toEqual(['omnilingual'])
  })

  it('says what a model reads', () => {
    expect(readsWhat({ languages: 'en' })).toBe('English')
    expect(readsWhat({ languages: 'en es de fr it' })).toBe('5 languages: English, Spanish, German, French, Italian')
    expect(readsWhat({ languages: '*' })).toBe('over 1,000 languages')
  })

  it('takes licences with further conditions and unknown ones for restrictive', () => {
    for (const licence of ['MIT', 'Apache-2.0', 'CC-BY-4.0']) expect(isRestrictive(licence)).toBe(false)
    for (const licence of [undefined, '', 'mit ', 'CC-BY-NC-4.0', 'NVIDIA Open Model License']) {
      expect(isRestrictive(licence)).toBe(true)
    }
  })

  it('finds the model of an archive by the name of its file', () => {
    expect(modelOfArchive('/any/sherpa-onnx-whisper-tiny.tar.bz2')?.name).toBe('whisper-tiny')
    expect(modelOfArchive('sherpa-onnx-whisper-tiny')).toBeUndefined()
  })
})
