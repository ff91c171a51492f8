import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Ended } from './command.js'
import { runInProcess, type InProcessOptions } from './in-process.js'
import { longIt } from '../../../../test/thorough.js'
import { folderOfTest } from '../../../../test/temporary-folder.js'

let folder: string
beforeEach(() => {
  folder = folderOfTest()
})

const model = (name: string, options: object, files: Readonly<Record<string, string | Uint8Array>>): string => {
  const path = join(folder, name, '1')
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, 'model.json'), JSON.stringify(options))
  for (const [file, content] of Object.entries(files)) writeFileSync(join(path, file), content)
  return path
}
const lint = (args: readonly string[], options?: InProcessOptions): Promise<Ended> =>
  runInProcess(['models', 'lint', ...args], options)

describe('rxspeech models lint', () => {
  longIt(
    'reports all faults of all models of a folder with their places, in one line each, and ends with 3',
    async () => {
      const orders = model(
        'orders',
        { phrases: 'p.txt', dictionary: 'd.txt' },
        { 'p.txt': 'tea for two\ntea for too\n\na;b\nOrder Berlyn now\n', 'd.txt': 'foo\nblork B L XX K\n' },
      )
      const lamp = model(
        'lamp',
        { grammar: 'g.gram' },
        { 'g.gram': '#JSGF V1.0;\ngrammar g;\npublic <a> = on | <of>;\n' },
      )
      model('fine', { phrases: 'p.txt', language: 'fr-fr' }, { 'p.txt': 'bonjour\n' })
      const { code, stdout, stderr } = await lint([folder])
      expect([code, stderr]).toEqual([3, ''])
      expect(stdout).toContain(
        `${lamp}/g.gram:3:19: error: The rule <of> is not defined.\n  | public <a> = on | <of>;\n  |                   ^^^^\n`,
      )
      expect(stdout).toContain(`${orders}/d.txt:1:1: error: The word "foo" has no phones.\n`)
      expect(stdout).toContain(`${orders}/d.txt:2:11: error: "XX" is no phone; there are AA AE AH`)
      expect(stdout).toMatch(/p\.txt:2:1: warning: "tea for too" sounds the same as "tea for two"; /)
      expect(stdout).toContain(`${orders}/p.txt:4:1: error: "a;b" is not a word.\n`)
      expect(stdout).toMatch(/p\.txt:5:7: error: The dictionary lacks "berlyn"\. Near: berlin, .*: berlyn B IY ER /)
      expect(stdout).toContain('OK Default/fine/1\n')
      expect(stdout).toMatch(/Default\/orders\/1: \d errors, 1 warning\n/)
      const json = JSON.parse((await lint([folder, '--json'])).stdout) as readonly { model: string; ok: boolean }[]
      expect(json.map(({ model: name, ok }) => [name, ok])).toEqual([
        ['Default/fine/1', true],
        ['Default/lamp/1', false],
        ['Default/orders/1', false],
      ])
      expect(json[1]).toMatchObject({
        faults: [
          {
            file: join(lamp, 'g.gram'),
            line: 3,
            column: 19,
            severity: 'error',
            message: 'The rule <of> is not defined.',
          },
        ],
      })
    },
  )

  it('ends with 0 if there are only warnings, and takes names of models', async () => {
    expect(await lint(['call'])).toMatchObject({ code: 0, stderr: '' })
    model('lamp', { phrases: 'p.txt' }, { 'p.txt': 'on\n' })
    expect(await lint(['lamp', 'Default/lamp/1', '--models', folder])).toMatchObject({
      code: 0,
      stdout: 'OK Default/lamp/1\n',
    })
    expect(await lint(['none', '--models', folder])).toMatchObject({ code: 2 })
    expect(await lint([])).toMatchObject({ code: 2 })
  })

  it('says where models are expected, and where the nearest one is', async () => {
    const refusalOf = async (typed: string): Promise<string> => {
      const { code, stdout, stderr } = await lint([typed])
      expect([code, stdout]).toEqual([2, ''])
      return stderr.replaceAll(folder, 'DIR').replace('as <tenant>/<name>/<version>/model.json; ', '')
    }
    expect(await refusalOf(folder)).toBe(
      'rxspeech: There is no model in DIR, pass a folder that has one, or make one with: rxspeech models add NAME --phrases FILE --models DIR.\n',
    )
    mkdirSync(join(folder, 'models/Acme/empty/1'), { recursive: true })
    expect(await refusalOf(join(folder, 'models'))).toMatch(
      /^rxspeech: There is no model in DIR\/models, put a model.json into \S*DIR\/models\/Acme\/empty\/1\.\n$/,
    )
    model('models/Acme/lamp', { phrases: 'p.txt' }, { 'p.txt': 'on\n' })
    expect(await refusalOf(folder)).toBe(
      'rxspeech: There is no model in DIR, pass DIR/models, in which there is Acme/lamp/1.\n',
    )
    expect(await refusalOf(join(folder, 'models/Acme/lamp'))).toBe(
      'rxspeech: There is no model in DIR/models/Acme/lamp, pass DIR/models/Acme/lamp/1, which is one.\n',
    )
    expect((await lint([join(folder, 'models')])).stdout).toContain('OK Acme/lamp/1\n')
  })

  it.each<[string, object, Readonly<Record<string, string | Uint8Array>>, RegExp]>([
    [
      'a binary file',
      { grammar: 'g' },
      { g: Uint8Array.from({ length: 999 }, (_, at) => at) },
      /g:1:1: error: The file is not text in UTF-8; save it as UTF-8\./,
    ],
    [
      'a text in Latin-1',
      { phrases: 'g' },
      { g: Buffer.from('café\n', 'latin1') },
      /g:1:1: error: The file is not text in UTF-8; save it as UTF-8\./,
    ],
    ['an empty grammar', { grammar: 'g' }, { g: '' }, /g:1:1: error: No rule is public/],
    ['empty phrases', { phrases: 'g' }, { g: '# none\n' }, /g:1:1: error: The file contains no sentence\./],
    [
      'a file that is too long',
      { phrases: 'g' },
      { g: 'a'.repeat(4_200_000) },
      /g:1:1: error: The file is longer than/,
    ],
    ['a missing file', { grammar: 'g' }, {}, /model\.json:1:2: error: .*names "g", which cannot be read/],
    ['a file outside', { grammar: '../x' }, {}, /model\.json:1:2: error: .*not inside the model's folder/],
    [
      'a wrong type',
      { grammar: 5 },
      {},
      /model\.json:1:2: error: "grammar" in model\.json must be the name of a JSGF file\./,
    ],
    ['neither', {}, {}, /model\.json:1:1: error: model\.json must have either "grammar" or "phrases"\./],
    [
      'a mistyped key',
      { phrases: 'g', lanugage: 'en-us' },
      { g: 'on' },
      /model\.json:1:16: error: "lanugage" in model\.json is not known; did you mean language\?/,
    ],
    ['a wrong value', { phrases: 'g', reject: 'hard' }, { g: 'on' }, /model\.json:1:16: error: "reject" in model/],
    [
      'a key of another engine',
      { engine: 'sherpa-onnx', tokens: 't', grammar: 'g' },
      { g: '' },
      /:38: error: "grammar" in/,
    ],
    ['an unknown engine', { engine: 'x' }, {}, /model\.json:1:1: error: .*"engine" in model\.json is "x"/],
    ['an escape sequence', { grammar: 'g' }, { g: 'public <a> = \u001b[31m;' }, /g:1:1: warning/],
  ])('reports %s', async (_name, options, files, line) => {
    model('bad', options, files)
    const { code, stdout, stderr } = await lint([folder])
    expect([code, stderr]).toEqual([3, ''])
    expect(stdout).toMatch(line)
    expect(stdout).not.toContain('\u001b')
  })

  longIt('fits into a terminal, with colors unless NO_COLOR is set', async () => {
    const long = `public <a> = ${Array.from({ length: 40 }, (_, at) => `zzz${at}`).join(' ')};`
    model('lamp', { grammar: 'g.gram' }, { 'g.gram': `#JSGF V1.0;\n${long}` })
    const colored = await lint(['lamp', '--models', folder], { columns: 80 })
    expect(colored.stdout).toContain('\u001b[31merror:\u001b[39m')
    const plain = await lint(['lamp', '--models', folder], { columns: 80, env: { NO_COLOR: '1' } })
    expect(plain.stdout).not.toContain('\u001b')
    // A path is not broken.
    const lines = plain.stdout.split('\n').filter((line) => !line.includes('g.gram:'))
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
    expect(stripVTControlCharacters(colored.stdout)).toBe(plain.stdout)
  })
})
