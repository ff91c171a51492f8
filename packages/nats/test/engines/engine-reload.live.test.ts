import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { EngineKind } from '../../../engines/src/engine.js'
import { readModelFile } from '../../../engines/src/models/model-files.js'
import { listEngines } from '../../src/engines/list-engines.js'
import { startEngineProcess, type EngineProcess } from '../../../service/src/start/engine-process.js'
import { scriptedEngine } from '../../../service/src/testing/scripted-engine.js'
import { openSocket, type PlainSocket } from '../../../service/test/interop/plain-socket-client.js'
import { natsIsSkipped, natsTitle, startNatsServer } from '../connection/nats-server.js'
import { plainService, recognizeOf, type PlainService } from '../../../service/test/plain-service.js'
import { spoken } from '../../../server/test/sessions/spoken.js'
import { LiveFleet } from './live-fleet.js'
import { folderOfTest } from '../../../../test/temporary-folder.js'

let folder: string
let fleet: LiveFleet
let engine: EngineProcess
let service: PlainService

/** The names of models whose engines are not ready now. */
const unready = new Set<string>()

/** Its models recognize the text of a file. */
const written: EngineKind = {
  name: 'written',
  open: async (model) => {
    const { rate = 8000, places = 20 } = model.options
    const engine = scriptedEngine({
      texts: [await readModelFile(model, 'text', 'text.txt')],
      sampleRateHz: Number(rate),
    })
    return {
      ...engine,
      capabilities: { ...engine.capabilities, segmentsAtOnce: Number(places) },
      ready: () => (unready.has(model.name) ? Promise.reject(new Error('It is not ready.')) : Promise.resolve()),
    }
  },
}
const putModel = async (text: string, options: object = {}, name = 'm'): Promise<void> => {
  const model = join(folder, 'Default', name, '1')
  await mkdir(model, { recursive: true })
  await writeFile(join(model, 'text.txt'), text)
  await writeFile(join(model, 'model.json'), JSON.stringify({ engine: 'written', batch: true, ...options }))
}

beforeEach(async () => {
  if (natsIsSkipped) return
  folder = folderOfTest()
  unready.clear()
  await putModel('the old words')
  await putModel('other words', {}, 'n')
  fleet = await LiveFleet.start()
  engine = await startEngineProcess({
    ...{ nats: { servers: [fleet.nats.url] }, modelFolders: [folder], engines: [written] },
  })
  service = await plainService({ modelFolders: [], natsEngines: { servers: [fleet.nats.url] } })
})
afterEach(async () => {
  if (natsIsSkipped) return
  await service.close()
  await engine.close({ drainMs: 0 })
  await fleet.close()
})

const startSession = async (): Promise<PlainSocket> => {
  const socket = await openSocket(service)
  socket.send(recognizeOf())
  expect(await socket.receive()).toMatchObject({ 'operation-result': 'Success' })
  return socket
}
const finalOf = async (socket: PlainSocket, audio: Uint8Array): Promise<unknown> => {
  socket.audio(audio)
  socket.send({ 'message-name': 'finalize-recognition' })
  for (;;) {
    const message = await socket.receive()
    if (message['message-name'] !== 'final-result' && !('close' in message)) continue
    socket.close()
    return message['text']
  }
}
const digest = async (): Promise<string> => {
  for (;;) {
    const found = (await listEngines(fleet.bus, 100))[0]?.models.get('Default/m/1')?.digest
    if (found !== undefined) return found
  }
}

describe.skipIf(natsIsSkipped)(natsTitle('an engine process that reloads'), () => {
  it('does not start if a message of NATS cannot carry the list of its models', async () => {
    const nats = await startNatsServer({ config: 'max_payload: 300' })
    try {
      const starting = startEngineProcess({
        ...{ nats: { servers: [nats.url] }, modelFolders: [folder], engines: [written] },
      })
      await expect(starting).rejects.toMatchObject({
        code: 'engine-failed',
        message: 'The list of 2 models does not fit into a message of the NATS server; raise its max_payload.',
      })
    } finally {
      await nats.close()
    }
  })

  it('finishes open segments with the old model, advertises the new one, and uses it from then on', async () => {
    const audio = await spoken(3_200)
    const socket = await startSession()
    socket.audio(audio.subarray(0, 28_000))
    await expect.poll(async () => (await listEngines(fleet.bus, 50))[0]?.used).toBe(1)
    const before = await digest()
    await putModel('the new words')
    expect(await engine.reload()).toMatchObject({ isReloaded: true, models: { changed: ['Default/m/1'] } })
    expect(await digest()).not.toBe(before)
    expect(await finalOf(socket, audio.subarray(28_000))).toBe('the old words')
    expect(await finalOf(await startSession(), audio)).toBe('the new words')
    expect(service.faults).toEqual([])
  })

  it('serves a model that has not changed as before, although its engine is not ready at that moment', async () => {
    unready.add('n')
    await putModel('the new words')
    expect(await engine.reload()).toMatchObject({ isReloaded: true, models: { changed: ['Default/m/1'] } })
    const served = async () => [...((await listEngines(fleet.bus, 100))[0]?.models.keys() ?? [])]
    await expect.poll(served).toEqual(['Default/m/1', 'Default/n/1'])
  })

  it('has the capacity of its models, also of open segments that exceed it', async () => {
    const placesOf = async () => {
      const [found] = await listEngines(fleet.bus, 300)
      return [engine.capacity, found?.capacity, found?.used]
    }
    await expect.poll(placesOf).toEqual([20, 20, 0])
    const audio = await spoken(3_200)
    const sockets = [await startSession(), await startSession()]
    for (const socket of sockets) socket.audio(audio.subarray(0, 28_000))
    await expect.poll(placesOf).toEqual([20, 20, 2])
    await putModel('the new words', { places: 1 })
    await putModel('other words', { places: 1 }, 'n')
    expect(await engine.reload()).toMatchObject({ isReloaded: true })
    await expect.poll(placesOf).toEqual([1, 1, 2])
    for (const socket of sockets) expect(await finalOf(socket, audio.subarray(28_000))).toBe('the old words')
    await expect.poll(placesOf).toEqual([1, 1, 0])
  })

  it.each([
    ['a fault', () => rm(join(folder, 'Default/m/1/text.txt')), /m\/1/],
    ['another sampling rate', () => putModel('the new words', { rate: 16_000 }), /16000 Hz in place of 8000 Hz/],
    ['no model at all', () => rm(join(folder, 'Default'), { recursive: true }), /contain no model/],
    [
      'a file that cannot be read',
      async () => {
        await putModel('the new words')
        await symlink('/proc/self/mem', join(folder, 'Default/m/1/weights'))
      },
      /m\/1.*cannot be read/,
    ],
  ])('changes nothing if the folders have %s', async (_what, spoil, message) => {
    const before = await digest()
    await spoil()
    expect(await engine.reload()).toMatchObject({
      isReloaded: false,
      problems: [{ code: 'invalid-model', message: expect.stringMatching(message) as unknown }],
    })
    expect(await digest()).toBe(before)
    expect(await finalOf(await startSession(), await spoken(3_200))).toBe('the old words')
  })
})
