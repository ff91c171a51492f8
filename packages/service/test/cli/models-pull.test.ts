import type { ChildProcess } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { modelArchive, noise, sha256 } from '../../../engines/test/catalogue/model-archive.js'
import { openRelease, type Release } from '../../../engines/test/catalogue/release.js'
import { tinySherpaModel } from '../../../engines/test/sherpa-onnx/tiny-model.js'
import { longIt } from '../../../../test/thorough.js'
import { ended, start, type Ended } from './command.js'
import { runInProcess } from './in-process.js'
import { folderOfTest } from '../../../../test/temporary-folder.js'

const file = 'sherpa-onnx-streaming-tiny.tar.bz2'
let archive: Buffer
let release: Release
let models: string
beforeAll(async () => {
  const folder = tinySherpaModel()
  const files = readdirSync(folder).map((name) => ({ name: `tiny/${name}`, data: readFileSync(join(folder, name)) }))
  rmSync(folder, { recursive: true })
  archive = await modelArchive([...files, { name: 'tiny/test_wavs/0.wav', data: noise(100) }])
  release = await openRelease()
})
afterAll(() => release.close())
beforeEach(() => {
  models = join(folderOfTest(), 'models')
  release.files.clear()
  release.files.set(file, archive)
  release.files.set('checksum.txt', Buffer.from(`${file}\t${sha256(archive)}\n`))
})
afterEach(() => {
  release.answer = undefined
})

const pull = (...args: readonly string[]): Promise<Ended> =>
  runInProcess(['models', 'pull', ...args, '--models', models])
const remove = (...args: readonly string[]): Promise<Ended> =>
  runInProcess(['models', 'remove', ...args, '--models', models])

/** Resolves when a process has written this to standard error. */
const written = (child: ChildProcess, wanted: string): Promise<void> =>
  new Promise((resolve) => {
    let text = ''
    child.stderr?.on('data', (more: Buffer | string) => {
      text += more.toString()
      if (text.includes(wanted)) resolve()
    })
  })

describe('rxspeech models pull', () => {
  it('adds a model of an address, whose files show its type, and removes it', async () => {
    const url = `${release.url}${file}`
    const refused = await pull(url)
    expect([refused.code, refused.stderr]).toEqual([
      2,
      'rxspeech: The model has an unknown licence; read it, then accept it with --accept-licence.\n',
    ])
    const { code, stdout, stderr } = await pull(url, '--accept-licence')
    const place = join(models, 'Default/streaming-tiny/1')
    expect([code, stdout]).toEqual([
      0,
      `The model Default/streaming-tiny/1 is in ${place}.\nTry it: rxspeech transcribe my.wav --models ${models} --model streaming-tiny\n`,
    ])
    expect(stderr).toBe(
      [
        `The catalogue has no checksum of ${file}; it is verified with checksum.txt beside it.`,
        `downloading sherpa-onnx-streaming-tiny (${Math.ceil(archive.length / 1000)} kB)`,
        `verifying sherpa-onnx-streaming-tiny (${Math.ceil(archive.length / 1000)} kB)`,
        'unpacking sherpa-onnx-streaming-tiny',
        'loading sherpa-onnx-streaming-tiny',
      ]
        .map((line) => `rxspeech: ${line}\n`)
        .join(''),
    )
    expect(JSON.parse(readFileSync(join(place, 'model.json'), 'utf8'))).toMatchObject({
      engine: 'sherpa-onnx',
      transducer: { encoder: 'encoder-epoch-1.onnx' },
      tokens: 'tokens.txt',
    })
    expect(readdirSync(place)).not.toContain('bpe.vocab')
    expect((await remove('streaming-tiny')).stderr).toBe(
      'rxspeech: Removing a model needs --yes, or a terminal to ask.\n',
    )
    expect(existsSync(place)).toBe(true)
    const removed = await remove('streaming-tiny', '--yes')
    expect([removed.code, removed.stdout]).toEqual([
      0,
      expect.stringMatching(/^Removed Default\/streaming-tiny\/1; \d+ kB are free again\. /),
    ])
    expect(readdirSync(models)).toEqual([])
  })

  it.each<[readonly string[], RegExp]>([
    [
      ['no-such-model'],
      /"no-such-model" is no file and no model of the catalogue; rxspeech models search shows its models\./,
    ],
    [['kroko-em'], /did you mean kroko-en\?/],
    [['https://user:secret@files.example.com/a.tar.bz2'], /must have no user and no password/],
    [['http://files.example.com/a.tar.bz2'], /must begin with https:\/\/, or be on this machine/],
    [['https://files.example.com/a.zip'], /is pulled as \.tar\.bz2; unpack others/],
    [['/tmp'], /\/tmp is a folder; add it with: rxspeech models add NAME \/tmp\./],
    [['kroko-en', '--mirror', 'http://files.example.com'], /must begin with https/],
    [['https://files.example.com/a.tar.bz2', '--mirror', 'https://b.example.com'], /--mirror is for a name/],
    [['kroko-en', '--as', '../x'], /The name of a model must be 1 to 64 letters/],
  ])('refuses %j with 2 and one sentence', async (args, sentence) => {
    const { code, stderr } = await pull(...args)
    expect([code, stderr]).toEqual([2, expect.stringMatching(sentence)])
    expect(stderr).not.toContain('secret')
    expect(existsSync(models)).toBe(false)
  })

  it('asks a mirror for a model of the catalogue, and names what it has in its place', async () => {
    release.files.set('sherpa-onnx-whisper-tiny.en.tar.bz2', archive)
    const { code, stderr } = await pull('whisper-tiny.en', '--mirror', release.url.slice(0, -1))
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('has another content than the catalogue says: expected 2bd6cf96'),
    ])
    expect(stderr).toContain(sha256(archive))
    expect(readdirSync(models)).toEqual([])
  })

  longIt('adds nothing when it is killed while it unpacks, and continues with the next call', async () => {
    const folder = tinySherpaModel()
    const files = readdirSync(folder).map((name) => ({ name: `tiny/${name}`, data: readFileSync(join(folder, name)) }))
    const large = await modelArchive([{ name: 'tiny/README.txt', data: noise(12e6) }, ...files])
    release.files.set(file, large)
    release.files.set('checksum.txt', Buffer.from(`${file}\t${sha256(large)}\n`))
    const args = ['models', 'pull', `${release.url}${file}`, '--accept-licence', '--models', models]
    const child = start(args)
    const end = ended(child)
    await written(child, 'unpacking')
    child.kill('SIGKILL')
    await end
    expect(
      readdirSync(models)
        .map((name) => name.split('-')[0])
        .toSorted(),
    ).toEqual(['.adding', '.pulling'])
    expect((await runInProcess(['models', '--models', models])).stdout).toMatch(/^TENANT.*\n$/)
    release.requests.length = 0
    expect((await pull(...args.slice(2, 4))).code).toBe(0)
    expect(release.requests).toContain(`${file} bytes=${large.length}-`)
    expect(readdirSync(models)).toEqual(['Default'])
  })

  it('ends at Ctrl+C with 130, and keeps the part of the download', async () => {
    release.answer = ({ url }, response) => {
      if (url !== `/${file}`) return false
      response.writeHead(200, { etag: '"1"', 'content-length': archive.length })
      response.write(archive.subarray(0, 1000))
      return true
    }
    const child = start(['models', 'pull', `${release.url}${file}`, '--accept-licence', '--models', models])
    const end = ended(child)
    await written(child, 'downloading')
    child.kill('SIGINT')
    expect(await end).toMatchObject({
      code: 130,
      stdout: '',
      stderr: expect.stringMatching(/\nrxspeech: Interrupted; the same command continues\.\n$/) as unknown,
    })
    expect(readdirSync(models)).toEqual([`.partial-${file}`])
  })
})

describe('rxspeech models remove', () => {
  it('removes nothing outside of the folder of models', async () => {
    await pull(`${release.url}${file}`, '--accept-licence', '--as', 'one')
    const outside = join(models, '../outside')
    symlinkSync(join(models, 'Default/one/1'), outside)
    symlinkSync(outside, join(models, 'Default/one/2'))
    for (const [name, sentence] of [
      ['one/2', /is a link; remove it/],
      ['../outside', /There is no model "\.\.\/outside"/],
      ['none', /There is no model "none"/],
    ] as const) {
      const { code, stderr } = await remove(name, '--yes')
      expect([code, stderr]).toEqual([2, expect.stringMatching(sentence)])
    }
    const inside = await runInProcess(['models', 'remove', '1', '--yes', '--models', join(models, 'Default/one/1')])
    expect([inside.code, inside.stderr]).toEqual([2, expect.stringMatching(/is a model itself|There is no model/)])
    expect(readdirSync(join(models, 'Default/one')).toSorted()).toEqual(['1', '2'])
  })
})

describe('rxspeech models search', () => {
  it('lists what fits in columns, and as JSON', async () => {
    const { code, stdout } = await runInProcess(['models', 'search', 'fr', 'kroko'])
    expect([code, stdout.split('\n').slice(0, 3)]).toEqual([
      0,
      [
        'NAME      DOWNLOAD   DISK  TEXT  LICENCE       READS',
        'kroko-fr     57 MB  71 MB  live  CC-BY-SA-4.0  French',
        '',
      ],
    ])
    const json = JSON.parse((await runInProcess(['models', 'search', 'yue', '--json'])).stdout) as readonly object[]
    expect(json[0]).toMatchObject({
      name: 'sense-voice',
      isRestrictive: true,
      languages: ['zh', 'yue', 'en', 'ja', 'ko'],
    })
    expect(await runInProcess(['models', 'search', 'klingon'])).toMatchObject({
      code: 3,
      stdout: '',
      stderr: expect.stringMatching(/^rxspeech: No model of \d+ fits/) as unknown,
    })
  })

  it('cuts lines at the width of a terminal', async () => {
    const { stdout } = await runInProcess(['models', 'search', 'fr'], { columns: 80 })
    // eslint-disable-next-line no-control-regex -- colors
    const lines = stdout.replace(/\u001b\[\d+m/g, '').split('\n')
    expect(Math.max(...lines.slice(0, -4).map((line) => line.length))).toBe(80)
  })
})
