import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { EngineKind } from '../../engines/src/engine.js'
import { readModelFile } from '../../engines/src/models/model-files.js'
import { SpeechError } from '../../../src/errors/speech-error.js'
import type { LogFields } from '../../server/src/operations/logger.js'
import { scriptedEngine } from '../src/testing/scripted-engine.js'
import { openStream, plainClient } from './interop/plain-dataflow-client.js'
import { openSocket } from './interop/plain-socket-client.js'
import { plainService, recognizeOf, startOf, type PlainService } from './plain-service.js'
import { spoken } from '../../server/test/sessions/spoken.js'
import { folderOfTest } from '../../../test/temporary-folder.js'

let root: string
let service: PlainService
let lines: (LogFields & { readonly message: string })[]
let loading: (() => Promise<void>) | undefined

/** Its model recognizes the text of a file. */
const written: EngineKind = {
  name: 'written',
  open: async (model) => {
    await loading?.()
    return scriptedEngine({ texts: [await readModelFile(model, 'text', 'text.txt')] })
  },
}

const put = async (path: string, text: string): Promise<void> => {
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), text)
}
const putModel = async (version: string, text: string): Promise<void> => {
  await put(`models/Default/m/${version}/text.txt`, text)
  await put(`models/Default/m/${version}/model.json`, '{"engine": "written", "batch": true}')
}
const project = (model: string): string => `
version: 1
model: ${model}
nodes:
  in: entry
  speech: recognizer
  out: publisher
wires:
  - in -> speech
  - speech -> out
`

beforeEach(async () => {
  root = folderOfTest()
  lines = []
  loading = undefined
  await putModel('1', 'the old words')
  await mkdir(join(root, 'projects'))
  await put('releases.yaml', '')
  service = await plainService({
    modelFolders: [join(root, 'models')],
    releasesFile: join(root, 'releases.yaml'),
    projectFolders: [join(root, 'projects')],
    engines: [written],
    operations: { host: '127.0.0.1', port: 0 },
    logger: { log: (_level, message, fields) => lines.push({ message, ...fields }) },
  })
})
afterEach(async () => {
  await service.close()
})

/** A reload that a busy machine takes seconds for is a silence of the client, after which another segment begins. */
const once = (text: unknown): string => String(text).replace(/^(.+?)(?: \1)+$/, '$1')

/** A session over each interface that has begun to speak; `finish` returns what it recognized. */
const talk = async (projectName = 'transcribe') => {
  const audio = await spoken(3_200)
  const client = plainClient(service)
  const stream = openStream(client)
  stream.request(startOf(service.token, { ProjectName: projectName }))
  await stream.answered
  const socket = await openSocket(service)
  socket.send(recognizeOf())
  expect(await socket.receive()).toMatchObject({ 'operation-result': 'Success' })
  const speak = (bytes: Uint8Array): void => {
    stream.raw({ binary_content: bytes, content_type: 0 })
    socket.audio(bytes)
  }
  speak(audio.subarray(0, 24_000))
  return {
    started: stream.responses[0]?.['operation-result'],
    finish: async (): Promise<readonly unknown[]> => {
      speak(audio.subarray(24_000))
      stream.stream.end()
      socket.send({ 'message-name': 'finalize-recognition' })
      const { events } = await stream.ended
      for (;;) {
        const message = await socket.receive()
        if (message['message-name'] !== 'final-result' && !('close' in message)) continue
        socket.close()
        client.close()
        const final = events.findLast(({ Name }) => Name === 'SR Final') as { Data?: { Text?: unknown } } | undefined
        return [final?.Data?.Text, message['text']].map(once)
      }
    },
  }
}
const both = (text: string): readonly string[] => [text, text]
const metrics = async (): Promise<string> => (await fetch(`${String(service.started.operationsUrl)}/metrics`)).text()

describe('a reload', () => {
  it('gives new sessions a changed model, while running ones keep the old one', async () => {
    const running = await talk()
    await putModel('1', 'the new words')
    expect(await service.started.reload()).toEqual({
      isReloaded: true,
      models: { added: [], changed: ['Default/m/1'], removed: [] },
      projects: expect.any(Number) as unknown,
    })
    expect(await (await talk()).finish()).toEqual(both('the new words'))
    expect(await running.finish()).toEqual(both('the old words'))
    expect(lines).toContainEqual(
      expect.objectContaining({
        message: 'Models, projects and certificates were reloaded. All other settings need a restart.',
        ...{ added: 'none', changed: 'Default/m/1', removed: 'none' },
      }),
    )
    expect(await metrics()).toContain('rxspeech_reloads_total{outcome="reloaded"} 1')
    expect(service.faults).toEqual([])
  })

  it('finds a new version, and a project that is new', async () => {
    await putModel('2', 'the second version')
    await put('projects/Default/custom/1.yaml', project('m'))
    const early = await talk('custom')
    expect(early.started).toMatch(/project-denied/)
    await early.finish()
    expect(await service.started.reload()).toMatchObject({ isReloaded: true, models: { added: ['Default/m/2'] } })
    const running = await talk('custom')
    expect(running.started).toBe('success')
    expect(await running.finish()).toEqual(both('the second version'))
  })

  it('gives new sessions a canary, and takes it back, as the file of releases says', async () => {
    const release = async (percent: number): Promise<void> => {
      await put('releases.yaml', `Default/m: { version: '1', canary: { version: '2', percent: ${percent} } }`)
      expect(await service.started.reload()).toMatchObject({ isReloaded: true })
    }
    await putModel('2', 'the new words')
    await release(0)
    expect(await (await talk()).finish()).toEqual(both('the old words'))
    await release(100)
    const running = await talk()
    await release(0)
    expect(await running.finish()).toEqual(both('the new words'))
    expect(await (await talk()).finish()).toEqual(both('the old words'))
    expect(service.faults).toEqual([])
  })

  it('keeps the version of a session that resumes, on another machine too', async () => {
    await putModel('2', 'the new words')
    await put('releases.yaml', "Default/m: { version: '1', canary: { version: '2', percent: 50 } }")
    expect(await service.started.reload()).toMatchObject({ isReloaded: true })
    const other = await plainService({
      modelFolders: [join(root, 'models')],
      releasesFile: join(root, 'releases.yaml'),
      engines: [written],
    })
    const audio = await spoken(3_200)
    /** What a session gets, and its id. */
    const socketSession = async (at: PlainService, id?: string) => {
      const socket = await openSocket(at)
      socket.send(recognizeOf(id === undefined ? {} : { 'session-id': id }))
      const started = await socket.receive()
      socket.audio(audio)
      socket.send({ 'message-name': 'finalize-recognition' })
      for (;;) {
        const message = await socket.receive()
        if (message['message-name'] !== 'final-result') continue
        socket.close()
        return { id: String(started['session-id']), text: message['text'] }
      }
    }
    const streamSession = async (at: PlainService, id: string) => {
      const client = plainClient(at)
      const stream = openStream(client)
      stream.request(startOf(at.token, { SessionId: id }))
      await stream.answered
      stream.raw({ binary_content: audio, content_type: 0 })
      stream.stream.end()
      const { events } = await stream.ended
      client.close()
      const final = events.findLast(({ Name }) => Name === 'SR Final') as { Data?: { Text?: unknown } } | undefined
      return { id: stream.responses[0]?.['SessionId'], text: final?.Data?.Text }
    }
    const texts = new Set<unknown>()
    for (let count = 0; count < 12; count += 1) {
      const first = await socketSession(service)
      texts.add(first.text)
      const resumed = await socketSession(other, first.id)
      expect(resumed).toEqual({ id: expect.not.stringContaining(first.id) as string, text: first.text })
      expect(await streamSession(other, first.id)).toEqual({ id: expect.any(String) as string, text: first.text })
    }
    expect([...texts].sort()).toEqual(['the new words', 'the old words'])
    await other.close()
  })

  it('has segments read by a challenger, which only operators see', async () => {
    const release = async (challenger: string): Promise<void> => {
      await put('releases.yaml', `Default/m: { challenger: { version: '2', percent: 100${challenger} } }`)
      expect(await service.started.reload()).toMatchObject({ isReloaded: true })
    }
    await putModel('2', 'the new')
    await release('')
    expect(await (await talk()).finish()).toEqual(both('the old words'))
    const labels = 'model="Default/m/1",challenger="Default/m/2"'
    await expect.poll(metrics).toContain(`rxspeech_challenger_segments_total{${labels},outcome="compared"} 2`)
    for (const [word, count] of Object.entries({ equal: 2, substituted: 2, inserted: 0, deleted: 2 })) {
      expect(await metrics()).toContain(`rxspeech_challenger_words_total{${labels},word="${word}"} ${count}`)
    }
    const line = { message: 'A challenger read other words', model: 'Default/m/1', challenger: 'Default/m/2', words: 3 }
    const ofChallenger = () => lines.filter(({ message }) => message.includes('challenger'))
    const place = { sessionId: expect.any(String) as string, startMs: expect.any(Number) as number }
    const counts = { ...line, ...place, right: 1, substituted: 1, inserted: 0, deleted: 1 }
    expect(ofChallenger()).toEqual([counts, counts])
    await release(', logsWords: true')
    await (await talk()).finish()
    const differences = 'old → –, words → new'
    await expect.poll(ofChallenger).toEqual([counts, counts, { ...counts, differences }, { ...counts, differences }])
    expect(service.faults).toEqual([])
  })

  it.each([
    [
      'a release with a fault',
      'releases.yaml',
      'Default/m: { versions: 1 }',
      /releases\.yaml cannot be used: .*versions/,
    ],
    ['a release that is no YAML', 'releases.yaml', '[', /releases\.yaml cannot be used: line 1: /],
    ['a release of a model without tenant', 'releases.yaml', 'm: {}', /"m" is not <tenant>\/<name>/],
    [
      'a challenger that is absent',
      'releases.yaml',
      "Default/m: { challenger: { name: n, version: '7', percent: 1 } }",
      /the version 7 of Default\/n/,
    ],
    ['a release of an absent version', 'releases.yaml', "Default/m: { version: '7' }", /the version 7 of Default\/m/],
    ['a model.json that is broken', 'models/Default/m/2/model.json', '{', /Default\/m\/2: model\.json must/],
    ['a model that cannot be loaded', 'models/Default/m/2/model.json', '{"engine": "written"}', /m\/2.*text\.txt/],
    ['an engine that is unknown', 'models/Default/m/1/model.json', '{"engine": "none"}', /m\/1: "engine"/],
    ['a project with a fault', 'projects/Default/custom/1.yaml', project('m').replace('entry', 'entri'), /custom\/1/],
    ['a project whose model is absent', 'projects/Default/custom/1.yaml', project('absent'), /absent/],
  ])('is refused for %s, and the old models and projects serve on', async (_what, path, text, message) => {
    const running = await talk()
    await putModel('3', 'never seen')
    await put(path, text)
    const result = await service.started.reload()
    expect(result).toMatchObject({
      isReloaded: false,
      problems: [{ message: expect.stringMatching(message) as unknown }],
    })
    expect(service.started.models.list().map(({ version }) => version)).toEqual(['1'])
    expect(await (await talk()).finish()).toEqual(both('the old words'))
    expect(await running.finish()).toEqual(both('the old words'))
    expect(lines.map((line) => line.message)).toContainEqual(expect.stringMatching(message))
    expect(await metrics()).toContain('rxspeech_reloads_total{outcome="refused"} 1')
    await rm(join(root, 'projects/Default'), { recursive: true, force: true })
    await put('releases.yaml', '')
    await rm(join(root, 'models/Default/m/2'), { recursive: true, force: true })
    await putModel('1', 'mended')
    expect(await service.started.reload()).toMatchObject({ isReloaded: true, models: { added: ['Default/m/3'] } })
    expect(await (await talk()).finish()).toEqual(both('never seen'))
  })

  it('that is refused has the cause of a fault in the log', async () => {
    const cause = new SpeechError('connection-lost', 'The server does not run.')
    loading = () => Promise.reject(new SpeechError('engine-failed', 'The server failed; try again.', { cause }))
    await putModel('2', 'never seen')
    expect(await service.started.reload()).toMatchObject({ isReloaded: false })
    expect(lines).toContainEqual({
      message: 'The server failed; try again.',
      code: 'engine-failed',
      cause: 'The server does not run.',
    })
  })

  it('is not refused for a fault that was there at the start', async () => {
    await put('models/Default/broken/1/model.json', '{')
    await service.close()
    service = await plainService({ modelFolders: [join(root, 'models')], engines: [written] })
    await putModel('2', 'the second version')
    expect(await service.started.reload()).toMatchObject({ isReloaded: true })
  })

  it('refuses new sessions a model that is gone, while running ones keep it', async () => {
    await putModel('2', 'the second version')
    await service.started.reload()
    const running = await talk()
    await rm(join(root, 'models/Default/m/2'), { recursive: true })
    expect(await service.started.reload()).toMatchObject({ isReloaded: true, models: { removed: ['Default/m/2'] } })
    expect(await (await talk()).finish()).toEqual(both('the old words'))
    expect(await running.finish()).toEqual(both('the second version'))
  })

  it('is refused if the default model is gone', async () => {
    await rm(join(root, 'models/Default/m'), { recursive: true })
    expect(await service.started.reload()).toMatchObject({
      isReloaded: false,
      problems: [{ message: expect.stringContaining('There is no model "m"') as unknown }],
    })
    expect(await (await talk()).finish()).toEqual(both('the old words'))
  })

  it('gives a service that began without a model one for sessions that name none', async () => {
    await rm(join(root, 'models/Default'), { recursive: true })
    await service.close()
    const options = { modelFolders: [join(root, 'models')], engines: [written], defaultModel: undefined }
    service = await plainService(options)
    expect(service.started.defaultModel).toBeUndefined()
    await putModel('1', 'the first words')
    expect(await service.started.reload()).toMatchObject({ isReloaded: true, models: { added: ['Default/m/1'] } })
    expect(service.started.defaultModel).toBe('m')
    expect(await (await talk()).finish()).toEqual(both('the first words'))
    // From then on it stays.
    await rm(join(root, 'models/Default/m'), { recursive: true })
    expect(await service.started.reload()).toMatchObject({ isReloaded: false })
  })

  it('runs alone: those asked for meanwhile become one, which sees the latest files', async () => {
    let loads = 0
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => (release = resolve))
    loading = async () => {
      loads += 1
      await released
    }
    await putModel('1', 'the new words')
    const first = service.started.reload()
    await expect.poll(() => loads).toBe(1)
    await putModel('1', 'the newest words')
    const others = [service.started.reload(), service.started.reload()]
    expect(others[0]).toBe(others[1])
    release()
    expect(await Promise.all([first, ...others])).toMatchObject([
      { isReloaded: true },
      { isReloaded: true, models: { changed: ['Default/m/1'] } },
      { isReloaded: true },
    ])
    expect(loads).toBe(2)
    expect(await (await talk()).finish()).toEqual(both('the newest words'))
  })

  it('is refused while the service drains, also one that runs', async () => {
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => (release = resolve))
    loading = () => released
    await putModel('1', 'the new words')
    const running = service.started.reload()
    const closing = service.started.close({ drainMs: 1_000 })
    release()
    for (const result of [await running, await service.started.reload()])
      expect(result).toMatchObject({ isReloaded: false, problems: [{ code: 'going-away' }] })
    await closing
  })
})
