import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NEVER } from 'rxjs'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Engine, EngineKind } from '../../src/engine.js'
import { readModelFile } from '../../src/models/model-files.js'
import { flushPromises, VirtualClock } from '../../../service/test/virtual-clock.js'
import { createModelRegistry, type ModelRegistry, type PreparedModels } from '../../src/models/model-registry.js'
import { folderOfTest } from '../../../../test/temporary-folder.js'

let root = ''
let opened: string[] = []
let closed = 0
let failures = 0

const engine: Engine = {
  capabilities: { sampleRateHz: 8000, partials: false, words: false, kind: 'grammar', segmentsAtOnce: 1 },
  recognize: () => () => {
    throw new Error('not used')
  },
  ready: () => Promise.resolve(),
  close: () => {
    closed += 1
    return Promise.resolve()
  },
}
const kinds: readonly EngineKind[] = [
  {
    name: 'fake',
    open: ({ name, version }) => {
      opened.push(`${name} ${version}`)
      if (failures > 0) {
        failures -= 1
        return Promise.reject(new Error('no memory'))
      }
      return Promise.resolve(engine)
    },
  },
]

const put = async (
  path: string,
  text = '{"engine":"fake","size":3}',
  encoding: BufferEncoding = 'utf8',
): Promise<void> => {
  await mkdir(join(root, path), { recursive: true })
  await writeFile(join(root, path, 'model.json'), text, encoding)
}
const registry = (...folders: string[]) => createModelRegistry({ folders: [root, ...folders], kinds })

beforeEach(() => {
  root = folderOfTest()
  opened = []
  closed = 0
  failures = 0
})

describe('createModelRegistry', () => {
  it('finds a model by tenant, name and version, with its options', async () => {
    await put('Default/English/1')
    const found = registry().find({ tenant: 'Default', name: 'English', version: '1' })
    expect(found).toEqual({
      tenant: 'Default',
      name: 'English',
      version: '1',
      folder: join(root, 'Default/English/1'),
      options: { engine: 'fake', size: 3 },
    })
  })

  it('assigns a model without a tenant to the tenant Default', async () => {
    await put('English/2')
    expect(registry().list()).toMatchObject([{ tenant: 'Default', name: 'English', version: '2' }])
  })

  it('accepts a folder that is a model itself, as a model of the tenant Default', async () => {
    await put('English')
    await put('French/2')
    const list = (folder: string) => createModelRegistry({ folders: [join(root, folder)], kinds }).list()
    expect(list('English')).toMatchObject([{ tenant: 'Default', name: 'English', version: '1' }])
    expect(list('French/2')).toMatchObject([{ tenant: 'Default', name: 'French', version: '2' }])
  })

  it('uses the embedded engine if model.json names none', async () => {
    await put('Default/Cards/1', '{"phrases":"phrases.txt"}')
    const models = createModelRegistry({
      folders: [root],
      kinds: [{ ...kinds[0], name: 'soundswallower' } as EngineKind],
    })
    expect(models.list()).toMatchObject([{ options: { engine: 'soundswallower', phrases: 'phrases.txt' } }])
  })

  it('finds the newest version if none is named, by number and not by letter', async () => {
    for (const version of ['1.9', '1.10', '1.2', '0.99']) await put(`Default/English/${version}`)
    const models = registry()
    expect(models.find({ tenant: 'Default', name: 'English', version: '' })?.version).toBe('1.10')
    expect(models.find({ tenant: 'Default', name: 'English' })?.version).toBe('1.10')
    expect(models.list().map(({ version }) => version)).toEqual(['0.99', '1.2', '1.9', '1.10'])
  })

  it.each(['..', '../Default', 'English/1', 'English/../English', '/', '.', '', 'english', '__proto__', 'English\0'])(
    'does not use the name %j as a path',
    async (name) => {
      await put('Default/English/1')
      const models = registry()
      expect(models.find({ tenant: 'Default', name })).toBeUndefined()
      expect(models.find({ tenant: name, name: 'English' })).toBeUndefined()
      expect(models.find({ tenant: 'Default', name: 'English', version: `../English/1${name}` })).toBeUndefined()
    },
  )

  it('prefers the first folder that has a model', async () => {
    const other = await mkdtemp(join(tmpdir(), 'rxspeech-models-'))
    await mkdir(join(other, 'Default/English/1'), { recursive: true })
    await writeFile(join(other, 'Default/English/1/model.json'), '{"engine":"fake"}')
    await put('Default/English/1')
    const models = registry(other)
    expect(models.list().map(({ folder }) => folder)).toEqual([join(root, 'Default/English/1')])
    await rm(other, { recursive: true })
  })

  it('loads a model once, also for two concurrent requests', async () => {
    await put('Default/English/1')
    const models = registry()
    const [model] = models.list()
    if (model === undefined) throw new Error('no model')
    const both = await Promise.all([models.engine(model), models.engine(model)])
    expect(both[1]).toBe(both[0])
    expect(await models.engine(model)).toBe(both[0])
    expect(opened).toEqual(['English 1'])
  })

  it('reads a model.json with a byte order mark, and in UTF-16', async () => {
    for (const encoding of ['utf8', 'utf16le'] as const) {
      await put('Default/English/1', '\ufeff{"engine":"fake"}', encoding)
      expect(registry().list()).toMatchObject([{ name: 'English' }])
    }
  })

  it('loads again after a failure', async () => {
    await put('Default/English/1')
    failures = 1
    const models = registry()
    const [model] = models.list()
    if (model === undefined) throw new Error('no model')
    await expect(models.engine(model)).rejects.toThrow('no memory')
    expect((await models.engine(model)).capabilities).toBe(engine.capabilities)
    expect(opened).toHaveLength(2)
  })

  it.each([
    ['{"engine":', /model\.json must contain one JSON object/],
    ['[]', /model\.json must contain one JSON object/],
    ['{}', /"engine" in model\.json/],
    ['{"engine":5}', /"engine" in model\.json/],
    ['{"engine":"other"}', /"engine" in model\.json is "other"; the engines here are fake/],
    [
      '{"engine":"pocketsphinx"}',
      /which was removed: take soundswallower for .*, sherpa-onnx or remote for dictation;/,
    ],
  ])('reports the broken model.json %s, refuses to open it, and keeps the others', async (text, message) => {
    await put('Default/English/1')
    await put('Default/English/2', text)
    await put('Default/French/1')
    const models = registry()
    const problem = { code: 'invalid-model', message: expect.stringMatching(message) }
    expect(models.problems()).toEqual([expect.objectContaining(problem)])
    expect(models.list().map(({ name, version }) => `${name} ${version}`)).toEqual(['English 1', 'French 1'])
    const newest = models.find({ tenant: 'Default', name: 'English' })
    if (newest === undefined) throw new Error('no model')
    await expect(models.engine(newest)).rejects.toMatchObject(problem)
    expect(opened).toEqual([])
  })

  it('reports a folder without model.json, and ignores files and hidden folders', async () => {
    await put('Default/English/1')
    await mkdir(join(root, 'Default/Empty/1'), { recursive: true })
    await mkdir(join(root, '.git/hooks/x'), { recursive: true })
    await writeFile(join(root, 'README'), '')
    await writeFile(join(root, 'Default/notes.txt'), '')
    const models = registry()
    expect(models.problems().map((problem) => problem.message)).toEqual([expect.stringContaining('Default/Empty/1')])
    expect(models.list()).toHaveLength(1)
  })

  it('refuses a model that is not in its folders', async () => {
    const stranger = { tenant: 'T', name: 'n', version: '1', folder: root, options: { engine: 'fake' } }
    await expect(registry().engine(stranger)).rejects.toMatchObject({ code: 'invalid-model' })
  })

  it('refuses a folder that does not exist', () => {
    const missing = () => registry(join(root, 'none'))
    expect(missing).toThrow(expect.objectContaining({ code: 'invalid-options' }))
  })

  it('waits up to its deadline for an engine that is loading, and closes it when it has loaded', async () => {
    await put('Default/English/1')
    const clock = new VirtualClock()
    let load: (loaded: Engine) => void = () => undefined
    const slow: EngineKind = { name: 'fake', open: () => new Promise((resolve) => (load = resolve)) }
    const models = createModelRegistry({ folders: [root], kinds: [slow], scheduler: clock })
    const [model] = models.list()
    if (model === undefined) throw new Error('no model')
    const loading = models.engine(model)
    let over = false
    const closing = models.close().then(() => (over = true))
    clock.advanceTo(4_999)
    await flushPromises()
    expect(over).toBe(false)
    clock.advanceTo(5_000)
    await closing
    load(engine)
    await loading
    await flushPromises()
    expect(closed).toBe(1)
    expect(clock.waiting).toBe(0)
  })

  it('closes every engine once, and loads none afterwards', async () => {
    await put('Default/English/1')
    await put('Default/French/1')
    const models = registry()
    const found = models.list()
    await Promise.all(found.map((model) => models.engine(model)))
    await Promise.all([models.close(), models.close()])
    expect(closed).toBe(2)
    for (const model of found) await expect(models.engine(model)).rejects.toMatchObject({ code: 'going-away' })
  })
})

describe('a reload of models', () => {
  interface Loaded {
    readonly engine: Engine
    readonly closed: () => boolean
  }
  let clock: VirtualClock
  let loaded: Loaded[]
  const load = (): Loaded => {
    let isClosed = false
    return {
      closed: () => isClosed,
      engine: {
        ...engine,
        recognize: () => () => NEVER,
        close: () => {
          isClosed = true
          return Promise.resolve()
        },
      },
    }
  }
  const open = () =>
    createModelRegistry({
      folders: [root],
      retry: false,
      scheduler: clock,
      kinds: [
        {
          name: 'fake',
          open: () => {
            const one = load()
            loaded.push(one)
            return Promise.resolve(one.engine)
          },
        },
      ],
    })
  const name = { tenant: 'Default', name: 'calls' }
  const engineOf = async (models: ModelRegistry): Promise<Engine> => {
    const model = models.find(name)
    if (model === undefined) throw new Error('no model')
    return models.engine(model)
  }
  const prepare = async (models: ModelRegistry): Promise<PreparedModels> => {
    if (models.prepareReload === undefined) throw new Error('no reload')
    return models.prepareReload()
  }
  beforeEach(async () => {
    clock = new VirtualClock()
    loaded = []
    await put('Default/calls/1')
  })

  it('keeps the engine of a model that is the same, and loads only what is new', async () => {
    const models = open()
    const before = await engineOf(models)
    await put('Default/others/1')
    const prepared = await prepare(models)
    expect([loaded.length, models.list().length]).toEqual([2, 1])
    prepared.commit()
    expect([await engineOf(models), models.list().length]).toEqual([before, 2])
    clock.advanceTo(60_000)
    await flushPromises()
    expect(loaded.map(({ closed }) => closed())).toEqual([false, false])
    await models.close()
  })

  it('closes a replaced engine 40 s after its last channel, and not while one has just got it', async () => {
    const models = open()
    const before = await engineOf(models)
    const channel = NEVER.pipe(before.recognize()).subscribe()
    await put('Default/calls/1', '{"engine":"fake","size":4}')
    ;(await prepare(models)).commit()
    expect(await engineOf(models)).not.toBe(before)
    const closedAt = async (ms: number): Promise<boolean | undefined> => {
      clock.advanceTo(ms)
      await flushPromises()
      return loaded[0]?.closed()
    }
    expect(await closedAt(60_000)).toBe(false)
    channel.unsubscribe()
    // The longest that a project may take to open, after which its channels use the engine.
    expect(await closedAt(90_000)).toBe(false)
    const late = NEVER.pipe(before.recognize()).subscribe()
    expect(await closedAt(190_000)).toBe(false)
    late.unsubscribe()
    expect(await closedAt(229_999)).toBe(false)
    expect(await closedAt(230_000)).toBe(true)
    expect(loaded[1]?.closed()).toBe(false)
    await models.close()
  })

  it('closes what it has loaded if it is discarded, and every engine with the registry', async () => {
    const models = open()
    const before = await engineOf(models)
    const channel = NEVER.pipe(before.recognize()).subscribe()
    await put('Default/calls/1', '{"engine":"fake","size":4}')
    ;(await prepare(models)).discard()
    expect(await engineOf(models)).toBe(before)
    await flushPromises()
    expect(loaded.map(({ closed }) => closed())).toEqual([false, true])
    ;(await prepare(models)).commit()
    await models.close()
    channel.unsubscribe()
    expect(loaded.map(({ closed }) => closed())).toEqual([true, true, true])
  })

  it('leaves nothing open if the registry was closed meanwhile', async () => {
    const models = open()
    await put('Default/calls/1', '{"engine":"fake","size":4}')
    const prepared = await prepare(models)
    await models.close()
    prepared.discard()
    await flushPromises()
    expect(loaded.map(({ closed }) => closed())).toEqual([true])
    await expect(prepare(models)).rejects.toMatchObject({ code: 'going-away' })
  })
})

describe('readModelFile', () => {
  const model = () => ({ tenant: 'T', name: 'n', version: '1', folder: join(root, 'm'), options: { engine: 'fake' } })

  it('reads a file in the folder, also through a link that stays inside', async () => {
    await mkdir(join(root, 'm/sub'), { recursive: true })
    await writeFile(join(root, 'm/sub/a.txt'), 'text')
    await symlink(join(root, 'm/sub/a.txt'), join(root, 'm/link.txt'))
    expect(await readModelFile(model(), 'phrases', 'sub/a.txt')).toBe('text')
    expect(await readModelFile(model(), 'phrases', 'link.txt')).toBe('text')
  })

  it.each(['../secret', 'sub/../../secret', 'link', '.', '', '/etc/hostname'])(
    'refuses %j, which is outside of the folder or the folder itself',
    async (file) => {
      await mkdir(join(root, 'm'), { recursive: true })
      await writeFile(join(root, 'secret'), 'text')
      await symlink(join(root, 'secret'), join(root, 'm/link'))
      const reading = readModelFile(model(), 'phrases', file)
      await expect(reading).rejects.toMatchObject({
        code: 'invalid-model',
        message: expect.stringMatching(/^Model T\/n\/1: "phrases" in model\.json names .* not inside/),
      })
    },
  )
})
