import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callModels } from '../interop/live-service.js'
import { openSocket, type PlainSocket } from '../interop/plain-socket-client.js'
import { recognizeOf } from '../plain-service.js'
import { spoken } from '../../../server/test/sessions/spoken.js'
import { serviceOfWorkers, type ServiceOfWorkers } from './service-of-workers.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

describe('a reload of a service of two workers', () => {
  let folder: string
  let live: ServiceOfWorkers
  const sockets: PlainSocket[] = []
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'reload-workers-'))
    await cp(callModels, folder, { recursive: true })
    live = await serviceOfWorkers({ modelFolders: [folder], operations: { host: '127.0.0.1', port: 0 } })
  })
  afterAll(async () => {
    for (const { raw } of sockets) raw.terminate()
    await live.close()
  })

  const addModel = async (name: string, phrases?: string): Promise<void> => {
    const model = join(folder, 'Default', name)
    await cp(join(callModels, 'Default/call/1'), join(model, '1'), { recursive: true })
    if (phrases !== undefined) await writeFile(join(model, '1/phrases.txt'), phrases)
  }
  const start = async (name: string) => {
    const socket = await openSocket(live)
    sockets.push(socket)
    socket.send(recognizeOf({ 'model-name': name }))
    const { 'operation-result': result } = await socket.receive()
    return { socket, result }
  }
  /** The results of a start on both workers, which take turns. */
  const startOnBoth = async (name: string): Promise<readonly unknown[]> => {
    const started = [await start(name), await start(name)]
    return started.map(({ result }) => result)
  }
  const finalOf = async (socket: PlainSocket): Promise<unknown> => {
    socket.audio(await spoken(3_200))
    socket.send({ 'message-name': 'finalize-recognition' })
    for (;;) {
      const message = await socket.receive()
      if (message['message-name'] === 'final-result' || 'close' in message) return message['text']
    }
  }

  it('changes both of them, or none', async () => {
    const running = await Promise.all([start('call'), start('call')])
    const denied = expect.stringMatching(/^model-denied/) as unknown
    expect(await startOnBoth('second')).toEqual([denied, denied])

    await addModel('second')
    await addModel('broken', 'zzzyyx\n')
    expect(await live.service.reload()).toMatchObject({
      isReloaded: false,
      problems: [{ code: 'invalid-model', message: expect.stringContaining('zzzyyx') as unknown }],
    })
    expect(await startOnBoth('second')).toEqual([denied, denied])

    await rm(join(folder, 'Default/broken'), { recursive: true })
    expect(await live.service.reload()).toMatchObject({ isReloaded: true, models: { added: ['Default/second/1'] } })
    expect(await startOnBoth('second')).toEqual(['Success', 'Success'])

    await rm(join(folder, 'Default/second'), { recursive: true })
    expect(await live.service.reload()).toMatchObject({ isReloaded: true, models: { removed: ['Default/second/1'] } })
    expect(await startOnBoth('second')).toEqual([denied, denied])
    const texts = await Promise.all(running.map(({ socket }) => finalOf(socket)))
    expect(texts).toEqual([expect.stringContaining('good evening'), expect.stringContaining('good evening')])
    const metrics = await (await fetch(`${String(live.service.operationsUrl)}/metrics`)).text()
    expect(metrics).toContain('rxspeech_reloads_total{outcome="reloaded"} 2')
    expect(metrics).toContain('rxspeech_reloads_total{outcome="refused"} 1')
  })

  it('is refused while a worker is started again, which has the new files by itself', async () => {
    await addModel('third')
    live.kill(1)
    await expect.poll(() => live.logged('Worker ended').length).toBe(1)
    expect(await live.service.reload()).toMatchObject({
      isReloaded: false,
      problems: [{ message: expect.stringContaining('A worker process is just starting') as unknown }],
    })
    await expect.poll(() => live.logged('Worker started').length).toBe(3)
    expect(await live.service.reload()).toMatchObject({ isReloaded: true, models: { added: ['Default/third/1'] } })
    expect(await startOnBoth('third')).toEqual(['Success', 'Success'])
  })
})

it('a service of workers without a model has the same default model in all of them after reloads', async () => {
  const folder = temporaryFolder()
  const live = await serviceOfWorkers({ modelFolders: [folder], defaultModel: undefined })
  const addModel = (name: string) =>
    cp(join(callModels, 'Default/call/1'), join(folder, 'Default', name, '1'), { recursive: true })
  try {
    expect(live.service.defaultModel).toBeUndefined()
    await addModel('second')
    expect(await live.service.reload()).toMatchObject({ isReloaded: true })
    expect(live.service.defaultModel).toBe('second')
    await addModel('first')
    expect(await live.service.reload()).toMatchObject({ isReloaded: true })
    live.kill(1)
    await expect.poll(() => live.logged('Worker started').length).toBe(3)
    // By itself the worker that was started again would choose this one, and refuse to lose it.
    await rm(join(folder, 'Default/first'), { recursive: true })
    expect(await live.service.reload()).toMatchObject({ isReloaded: true, models: { removed: ['Default/first/1'] } })
  } finally {
    await live.close()
    await rm(folder, { recursive: true })
  }
})
