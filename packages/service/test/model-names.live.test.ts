import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createModelRegistry } from '../../engines/src/models/model-registry.js'
import { converse } from './interop/plain-dataflow-client.js'
import { openSocket } from './interop/plain-socket-client.js'
import { plainService, recognizeOf, startOf, type PlainService } from './plain-service.js'

// Each of these would refer to the model of another folder, or to a file of the system, if it were part of a path.
const strange = [
  '../x',
  '..',
  '.',
  '/',
  '/etc',
  '/etc/passwd',
  '../../Acme/n',
  'm/1',
  'm/../m',
  './m',
  'm/',
  'm\\1',
  'm\u0000',
  'a\u0000b',
  '..%2f',
  '%2e%2e%2fm',
  '%6d',
  'M',
  ' m',
  'm\n',
  'x'.repeat(10_000),
  '__proto__',
  'constructor',
  'hasOwnProperty',
  '["Default","m"]',
  '*',
]

let service: PlainService
beforeAll(async () => {
  service = await plainService({ development: true })
})
afterAll(() => service.close())

const overGrpc = async (settings: Readonly<Record<string, string>>): Promise<string> => {
  const { responses } = await converse(service, (stream) => {
    stream.request(startOf(service.token, { Settings: settings }))
    stream.end()
  })
  return String(responses[0]?.['operation-result'])
}

const overSocket = async (fields: Readonly<Record<string, string>>): Promise<string> => {
  const socket = await openSocket(service)
  socket.send(recognizeOf(fields))
  const answer = await socket.receive()
  socket.close()
  await socket.receive()
  return String(answer['operation-result'])
}

const denied = /^(model-denied|invalid-field|model-mismatch): [^/\\]*$/

describe('the name of a model', () => {
  it('is found as given, so that the following tests are meaningful', async () => {
    expect(await overGrpc({ ModelName: 'm', ModelTenant: 'Default', ModelVersion: '1' })).toBe('success')
    expect(await overSocket({ 'model-name': 'm', 'model-tenant': 'Default', 'model-version': '1' })).toBe('Success')
  })

  it.each(strange)('is never a path on gRPC: %j as name, tenant and version', async (name) => {
    expect(await overGrpc({ ModelName: name })).toMatch(denied)
    expect(await overGrpc({ ModelName: 'm', ModelTenant: name })).toMatch(denied)
    expect(await overGrpc({ ModelName: 'm', ModelVersion: name })).toMatch(denied)
  })

  it.each(strange)('is never a path on the WebSocket: %j as name, tenant and version', async (name) => {
    expect(await overSocket({ 'model-name': name })).toMatch(denied)
    expect(await overSocket({ 'model-name': 'm', 'model-tenant': name })).toMatch(denied)
    expect(await overSocket({ 'model-name': 'm', 'model-version': name })).toMatch(denied)
  })

  it('does not leave its folder in any registry, though the model exists', async () => {
    const root = await mkdtemp(join(tmpdir(), 'rxspeech-names-'))
    for (const path of ['models/Default/m/1', 'x/1/1', 'models/.hidden/m/1']) {
      await mkdir(join(root, path), { recursive: true })
      await writeFile(join(root, path, 'model.json'), '{"engine":"fake"}')
    }
    const kinds = [{ name: 'fake', open: () => Promise.reject(new Error('opened')) }]
    const models = createModelRegistry({ folders: [join(root, 'models')], kinds })
    expect(models.list().map(({ tenant, name, version }) => [tenant, name, version])).toEqual([['Default', 'm', '1']])
    for (const name of [...strange, '../../x', join(root, 'x')]) {
      expect(models.find({ tenant: 'Default', name })).toBeUndefined()
      expect(models.find({ tenant: name, name: 'm' })).toBeUndefined()
      expect(models.find({ tenant: 'Default', name: 'm', version: name })).toBeUndefined()
    }
    expect(models.find({ tenant: '.hidden', name: 'm' })).toBeUndefined()
    await rm(root, { recursive: true })
  })
})
