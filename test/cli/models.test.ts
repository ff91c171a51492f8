import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Ended } from './command.js'
import { runInProcess } from './in-process.js'

let folder: string
let phrases: string
let models: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cli-models-'))
  phrases = join(folder, 'phrases.txt')
  models = join(folder, 'models')
  writeFileSync(phrases, 'ten of clubs\nseven of hearts # a comment\n')
})
afterEach(() => rmSync(folder, { recursive: true }))

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
    expect(table[0]).toMatch(/^TENANT +NAME +VERSION +ENGINE +RATE +LANGUAGES +PROBLEM$/)
    expect(table[1]).toMatch(/^Acme +broken +1 +none +- +- +Model Acme\/broken\/1: "engine" in model\.json is "none"/)
    expect(table[2]).toMatch(/^Default +cards +1 +soundswallower +8000 Hz +en-us +-$/)
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

  it('refuses to overwrite a model, and leaves it unchanged', async () => {
    await add('cards', '--phrases', phrases, '--version', '7', '--tenant', 'Acme')
    const before = readFileSync(join(models, 'Acme/cards/7/phrases.txt'), 'utf8')
    writeFileSync(phrases, 'go forward')
    const { code, stderr } = await add('cards', '--phrases', phrases, '--version', '7', '--tenant', 'Acme')
    expect([code, stderr]).toEqual([2, 'rxspeech: The model Acme/cards/7 is there already; choose another version.\n'])
    expect(readFileSync(join(models, 'Acme/cards/7/phrases.txt'), 'utf8')).toBe(before)
    expect((await add('cards', '--phrases', phrases, '--tenant', 'Acme')).stdout).toContain('Acme/cards/8')
  })

  it('creates nothing that the engine does not load', async () => {
    writeFileSync(phrases, 'ten of blorkfish\n')
    const { code, stderr } = await add('cards', '--phrases', phrases)
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^rxspeech: Model Default\/cards\/1: .*"blorkfish"/)])
    expect(readdirSync(models)).toEqual([])
    const dictionary = join(folder, 'words.txt')
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
    [['a'], /set either --grammar or --phrases/],
    [['a', '--grammar', 'x', '--phrases', 'y'], /set either --grammar or --phrases/],
    [['a', '--phrases', '/nowhere/x'], /"\/nowhere\/x" cannot be read/],
    [['a', '--phrases', '/'], /cannot be read/],
    [['a', '--phrases', 'x', '--language', 'de-de'], /--language must be en-us or fr-fr/],
  ])('rejects %j with 2 and one sentence', async (args, sentence) => {
    const { code, stderr } = await add(...args)
    expect([code, stderr]).toEqual([2, expect.stringMatching(sentence)])
  })
})
