import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import type { EngineKind } from '../../src/engine.js'
import type { CatalogueModel } from '../../src/catalogue/catalogue-table.js'
import { filesOf } from '../../src/catalogue/catalogue.js'
import { pullModel, type PullOptions } from '../../src/catalogue/pull-model.js'
import { scriptedEngine } from '../../../service/src/testing/scripted-engine.js'
import { connectProxy } from '../../../../test/proxy/connect-proxy.js'
import { modelArchive, noise, sha256, type ArchiveEntry } from './model-archive.js'
import { openRelease, type Release } from './release.js'
import { folderOfTest } from '../../../../test/temporary-folder.js'

const file = 'sherpa-onnx-tiny.tar.bz2'
const encoder = noise(400_000)
const cutBytes = 300_000
const entries: readonly ArchiveEntry[] = [
  { name: 'sherpa-onnx-tiny/', type: 'directory' },
  { name: 'sherpa-onnx-tiny/LICENSE', data: 'The licence.' },
  { name: 'sherpa-onnx-tiny/test_wavs/', type: 'directory' },
  { name: 'sherpa-onnx-tiny/test_wavs/0.wav', data: noise(2_000, 2) },
  { name: 'sherpa-onnx-tiny/encoder.onnx', data: 'the float twin' },
  { name: 'sherpa-onnx-tiny/encoder.int8.onnx', data: encoder },
  { name: 'sherpa-onnx-tiny/decoder.int8.onnx', data: noise(5_000, 3) },
  { name: 'sherpa-onnx-tiny/tokens.txt', data: 'a 0\n' },
]

let published: Buffer
let archive: Buffer
let release: Release
let root: string
let notes: string[]
beforeAll(async () => {
  published = await modelArchive(entries)
})
beforeEach(async () => {
  archive = published
  release = await openRelease()
  release.files.set(file, archive)
  root = join(folderOfTest(), 'models')
  notes = []
})
afterEach(async () => {
  await release.close()
})

const known = (change: Partial<CatalogueModel> = {}): CatalogueModel => ({
  name: 'tiny',
  archive: 'sherpa-onnx-tiny',
  isLive: false,
  type: 'fireRedAsr',
  layout: { parts: { encoder: 'encoder.int8.onnx', decoder: 'decoder.int8.onnx' }, tokens: 'tokens.txt' },
  licence: 'MIT',
  languages: 'en',
  sha256: sha256(archive),
  ...change,
})

/** Loads whatever it gets, and has seen its files. */
const loading = (seen: string[] = []): EngineKind => ({
  name: 'sherpa-onnx',
  open: ({ folder }) => {
    seen.push(...readdirSync(folder))
    return Promise.resolve(scriptedEngine({ texts: ['a'] }))
  },
})

const pull = (change: Partial<PullOptions> = {}) => {
  const model = 'known' in change ? change.known : known()
  return pullModel({
    source: { type: 'url', url: new URL(file, release.url) },
    known: model,
    place: { folder: root, tenant: 'Default', name: 'tiny' },
    acceptsContent: false,
    acceptLicence: () => Promise.resolve(false),
    describe: () => Promise.resolve({ options: { engine: 'sherpa-onnx' }, files: filesOf(model ?? known()) }),
    kind: loading(),
    proxy: false,
    signal: new AbortController().signal,
    onNote: (sentence) => notes.push(sentence),
    firstDelayMs: 1,
    ...change,
  })
}

const modelFolder = (): string => join(root, 'Default/tiny/1')
/** What is in the folder of models, also hidden. */
const inRoot = (): readonly string[] => (existsSync(root) ? readdirSync(root) : [])

describe('pullModel', () => {
  it('adds the files that are needed and the licence, in one step, and removes the archive', async () => {
    const seen: string[] = []
    const stages: string[] = []
    const model = await pull({
      kind: loading(seen),
      onProgress: (stage, done, total) => stages.push(`${stage} ${done === total}`),
    })
    expect(model).toMatchObject({ tenant: 'Default', name: 'tiny', version: '1', folder: modelFolder() })
    const kept = ['LICENSE', 'decoder.int8.onnx', 'encoder.int8.onnx', 'model.json', 'source.json', 'tokens.txt']
    expect(readdirSync(modelFolder()).toSorted()).toEqual(kept)
    expect(seen.toSorted()).toEqual(kept)
    expect(readFileSync(join(modelFolder(), 'encoder.int8.onnx')).equals(encoder)).toBe(true)
    expect(JSON.parse(readFileSync(join(modelFolder(), 'source.json'), 'utf8'))).toMatchObject({
      archive: file,
      sha256: sha256(archive),
      licence: 'MIT',
    })
    expect(inRoot()).toEqual(['Default'])
    expect([...new Set(stages)]).toEqual(
      expect.arrayContaining(['download false', 'download true', 'check true', 'unpack false', 'load false']),
    )
    expect([release.requests, notes]).toEqual([[file], []])
  })

  it('continues a download that is cut', async () => {
    release.cutAfter = cutBytes
    await pull()
    const [, resumed] = release.requests
    // What the socket has not delivered when it is reset is lost.
    expect([release.requests.length, Number(/bytes=(\d+)-$/.exec(resumed ?? '')?.[1]) > 0]).toEqual([2, true])
    expect(notes).toEqual([expect.stringMatching(/^127\.0\.0\.1:\d+ ended the file early|was lost/)])
  })

  it('continues a download of an earlier call, and starts over if the archive has changed', async () => {
    const interrupted = new AbortController()
    const reason = new Error('Ctrl+C')
    const onProgress: PullOptions['onProgress'] = (_stage, doneBytes) => {
      if (doneBytes > 0) interrupted.abort(reason)
    }
    release.cutAfter = cutBytes
    await expect(pull({ signal: interrupted.signal, onProgress })).rejects.toBe(reason)
    expect(inRoot()).toEqual([`.partial-${file}`])
    const { size } = statSync(join(root, `.partial-${file}`, file))
    archive = await modelArchive([...entries, { name: 'sherpa-onnx-tiny/more.txt', data: 'changed' }])
    release.files.set(file, archive)
    await pull()
    expect(release.requests).toEqual([file, `${file} bytes=${size}-`])
    expect(notes).toEqual([expect.stringMatching(/has another version of the file now; it is loaded from its start/)])
    expect(inRoot()).toEqual(['Default'])
  })

  it('gives up after some attempts without a byte, and keeps what it has', async () => {
    release.cutAfter = cutBytes
    release.answer = (request, response) => {
      if (request.headers.range === undefined) return false
      response.destroy()
      return true
    }
    await expect(pull()).rejects.toMatchObject({ code: 'connection-failed' })
    expect(release.requests).toHaveLength(6)
    expect(statSync(join(root, `.partial-${file}`, file)).size).toBeGreaterThan(0)
  })

  it('names both hashes of an archive that was replaced at its source, and takes it when that is accepted, without another download', async () => {
    const stale = known({ sha256: '0'.repeat(64) })
    release.files.set('checksum.txt', Buffer.from(`other.tar.bz2\t${'1'.repeat(64)}\n${file}\t${sha256(archive)}\n`))
    const refusal = await pull({ known: stale }).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code: 'invalid-options' })
    const { message } = refusal as Error
    for (const part of ['0'.repeat(64), sha256(archive), 'It was replaced at its source', '--accept']) {
      expect(message).toContain(part)
    }
    expect(existsSync(modelFolder())).toBe(false)
    release.requests.length = 0
    await pull({ known: stale, acceptsContent: true })
    expect(release.requests).toEqual([`${file} bytes=${archive.length}-`])
    expect(notes).toEqual([expect.stringContaining(`found ${sha256(archive)}. It is taken as it is.`)])
    expect(inRoot()).toEqual(['Default'])
  })

  it.each([
    ['nothing', /It is damaged, or was replaced; pull it again/],
    ['catalogue', /It was damaged on its way; pull it again/],
    ['a third', /has a third one/],
  ])('removes an archive with another hash of which checksum.txt says %s', async (says, sentence) => {
    const other = '2'.repeat(64)
    if (says !== 'nothing') {
      release.files.set('checksum.txt', Buffer.from(`${file}\t${says === 'catalogue' ? other : '3'.repeat(64)}\n`))
    }
    await expect(pull({ known: known({ sha256: other }) })).rejects.toMatchObject({
      code: 'invalid-model',
      message: expect.stringMatching(sentence) as unknown,
    })
    expect(inRoot()).toEqual([])
  })

  it('verifies an archive that is not pinned by checksum.txt, and says so; without it nothing is downloaded unless that is accepted', async () => {
    const { sha256: _pin, ...unpinned } = known()
    await expect(pull({ known: unpinned })).rejects.toMatchObject({
      code: 'invalid-options',
      message: `There is no checksum of ${file}; take it as it is with --accept.`,
    })
    expect(release.requests).toEqual(['checksum.txt'])
    release.files.set('checksum.txt', Buffer.from(`${file}\t${'4'.repeat(64)}\n`))
    await expect(pull({ known: unpinned })).rejects.toMatchObject({ code: 'invalid-model' })
    release.files.set('checksum.txt', Buffer.from(`${file}\t${sha256(archive)}\n`))
    notes = []
    await pull({ known: unpinned })
    expect(notes).toEqual([`The catalogue has no checksum of ${file}; it is verified with checksum.txt beside it.`])
    release.files.delete('checksum.txt')
    await pull({ known: unpinned, acceptsContent: true })
    expect(notes.at(-1)).toBe(`There is no checksum of ${file}; it is taken as it is.`)
    expect(readdirSync(join(root, 'Default/tiny')).toSorted()).toEqual(['1', '2'])
  })

  it.each<[string, readonly ArchiveEntry[], RegExp]>([
    ['leads out by ..', [...entries, { name: 'sherpa-onnx-tiny/../../evil.txt', data: 'x' }], /leads out of it/],
    ['is absolute', [...entries, { name: '/tmp/evil.txt', data: 'x' }], /leads out of it/],
    ['is of Windows', [...entries, { name: 'sherpa-onnx-tiny\\..\\evil.txt', data: 'x' }], /leads out of it/],
    ['is there twice', [...entries, { name: 'other/tokens.txt', data: 'x' }], /has tokens\.txt twice/],
    [
      'is a link',
      [...entries.slice(0, -1), { name: 'sherpa-onnx-tiny/tokens.txt', type: 'symlink', linkname: '/etc/passwd' }],
      /has no tokens\.txt; it is another archive/,
    ],
  ])('refuses an archive in which a path %s, and leaves nothing', async (_what, others, sentence) => {
    archive = await modelArchive(others)
    release.files.set(file, archive)
    await expect(pull()).rejects.toMatchObject({
      code: 'invalid-model',
      message: expect.stringMatching(sentence) as unknown,
    })
    expect(readdirSync(join(root, '..'))).toEqual(['models'])
    expect(inRoot()).toEqual([])
  })

  it('refuses an archive that expands beyond all measure, that is cut, and that is no bzip2', async () => {
    const bomb = await modelArchive([{ name: 'sherpa-onnx-tiny/encoder.int8.onnx', data: new Uint8Array(40e6) }])
    expect(bomb.length).toBeLessThan(1000)
    for (const [bytes, sentence] of [
      [bomb, /expands to more than 16 MB, which no model does/],
      [archive.subarray(0, archive.length / 2), /is not a whole \.tar\.bz2 archive/],
      [archive.subarray(0, 10), /is not a whole/],
      [Buffer.from('<html>Sign in</html>'), /is not a whole/],
      [Buffer.alloc(0), /is not a whole/],
    ] as const) {
      archive = Buffer.from(bytes)
      release.files.set(file, archive)
      await expect(pull()).rejects.toMatchObject({
        code: 'invalid-model',
        message: expect.stringMatching(sentence) as unknown,
      })
      expect(inRoot()).toEqual([])
    }
  })

  it('needs space for the archive and its files before it downloads, and for the files before it unpacks', async () => {
    const large = known({ bytes: 60e6, diskBytes: 70e6 })
    await expect(pull({ known: large, freeBytes: () => Promise.resolve(100e6) })).rejects.toMatchObject({
      code: 'invalid-options',
      message: expect.stringMatching(/needs 130 MB more, and its disk has 100 MB left; free some space/) as unknown,
    })
    expect(release.requests).toEqual([])
    let free = 1e9
    const fills: PullOptions['onProgress'] = (stage) => {
      if (stage === 'check') free = 1000
    }
    await expect(
      pull({ known: known({ diskBytes: 1e6 }), freeBytes: () => Promise.resolve(free), onProgress: fills }),
    ).rejects.toMatchObject({ code: 'invalid-options' })
    // The archive is there when space is.
    expect(inRoot()).toEqual([`.partial-${file}`])
    release.requests.length = 0
    await pull()
    expect(release.requests).toEqual([`${file} bytes=${archive.length}-`])
  })

  it('follows redirects to https or within this machine only', async () => {
    const elsewhere = await openRelease()
    elsewhere.files.set('object', archive)
    const to = (location: string): void => {
      release.answer = (_request, response) => {
        response.writeHead(302, { location }).end()
        return true
      }
    }
    to(`${elsewhere.url}object`)
    await pull()
    for (const location of ['http://files.example.com/x.tar.bz2', 'ftp://127.0.0.1/x', 'http://[', `/${file}`]) {
      to(location)
      await expect(pull()).rejects.toMatchObject({
        code: 'connection-failed',
        message: expect.stringMatching(/redirects (to an address that is not https|more than 5 times)/) as unknown,
      })
    }
    expect(elsewhere.requests).toEqual(['object'])
    await elsewhere.close()
  })

  it('goes through a proxy', async () => {
    const proxy = await connectProxy()
    await pull({ proxy: proxy.url })
    expect(proxy.asked).toEqual([new URL(release.url).host])
    await proxy.close()
  })

  it('takes a file of the user, without a network, and leaves it', async () => {
    const path = join(root, '..', file)
    writeFileSync(path, archive)
    await pull({ source: { type: 'file', path } })
    expect([existsSync(path), inRoot(), release.requests]).toEqual([true, ['Default'], []])
  })

  it.each([
    ['NVIDIA Open Model License', 'The model has the licence NVIDIA Open Model License'],
    [undefined, 'The model has an unknown licence'],
  ])('downloads nothing of a model with the licence %s that is not accepted', async (licence, sentence) => {
    const { licence: _open, ...rest } = known()
    const model = { ...rest, ...(licence !== undefined && { licence }) }
    const asked: unknown[] = []
    await expect(
      pull({ known: model, acceptLicence: (what) => Promise.resolve(asked.push(what) === 0) }),
    ).rejects.toMatchObject({
      code: 'invalid-options',
      message: `${sentence}; read it, then accept it with --accept-licence.`,
    })
    expect([asked, release.requests]).toEqual([[licence], []])
    await pull({ known: model, acceptLicence: () => Promise.resolve(true) })
  })

  it('stops while it unpacks, and keeps the archive', async () => {
    const interrupted = new AbortController()
    const reason = new Error('Ctrl+C')
    const onProgress: PullOptions['onProgress'] = (stage) => {
      if (stage === 'unpack') interrupted.abort(reason)
    }
    await expect(pull({ signal: interrupted.signal, onProgress })).rejects.toBe(reason)
    expect(inRoot()).toEqual([`.partial-${file}`])
  })

  it('adds nothing that the engine does not load', async () => {
    const refusal = new SpeechError('invalid-model', 'Model Default/tiny/1: no.')
    await expect(pull({ kind: { name: 'x', open: () => Promise.reject(refusal) } })).rejects.toBe(refusal)
    expect(existsSync(join(root, 'Default'))).toBe(false)
  })

  it('removes what a killed process left, not what a running one has', async () => {
    const host = hostname().replace(/[^A-Za-z0-9]/g, '_')
    const ended = spawnSync(process.execPath, ['-e', '0'])
    const left = `.adding-${host}-${ended.pid}-abcdef`
    const [running, elsewhere] = [`.adding-${host}-${process.pid}-abcdef`, `.adding-elsewhere-${ended.pid}-abcdef`]
    for (const name of [left, running, elsewhere]) mkdirSync(join(root, name), { recursive: true })
    mkdirSync(join(root, `.pulling-${host}-${ended.pid}-abcdef`))
    writeFileSync(join(root, `.pulling-${host}-${ended.pid}-abcdef`, file), 'without a version')
    await pull()
    expect(inRoot().toSorted()).toEqual([elsewhere, running, 'Default'].toSorted())
  })
})
