import { fork } from 'node:child_process'
import { once } from 'node:events'
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { issuerFileName, lockIssuer } from '../../../src/identity/state/issuer-lock.js'
import { converse } from '../../../../service/test/interop/plain-dataflow-client.js'
import { plainService, startOf, type PlainService } from '../../../../service/test/plain-service.js'
import { folderOfTest } from '../../../../../test/temporary-folder.js'

let stateFolder: string
const releases: (() => void)[] = []
const services: PlainService[] = []
beforeEach(() => {
  stateFolder = folderOfTest()
})
afterEach(async () => {
  for (const release of releases.splice(0)) release()
  for (const service of services.splice(0)) await service.close()
})

const audience = 'urn:rxspeech:service'
const lock = async (issuer: string, other = audience): Promise<() => void> => {
  const release = await lockIssuer(stateFolder, { issuer, audience: other })
  releases.push(release)
  return release
}

describe('the issuer of a state folder', () => {
  it('is shared by all services with the same issuer, and refused to one with another, by name', async () => {
    await lock('https://one.example')
    await lock('https://one.example')
    await expect(lock('https://two.example')).rejects.toMatchObject({
      code: 'invalid-options',
      message:
        'A service that runs with this state folder has the issuer https://one.example, and this one has https://two.example. ' +
        'Set the same identity.issuer for all of them; to change it, stop all of them first.',
    })
    await expect(lock('https://one.example', 'urn:other')).rejects.toMatchObject({
      message: expect.stringMatching(/has the audience urn:rxspeech:service, and this one has urn:other/) as unknown,
    })
    await lock('https://one.example')
  })

  it('may be changed by a service that runs alone, and is then that of all others', async () => {
    const first = await lock('https://one.example')
    first()
    await lock('https://two.example')
    await expect(lock('https://one.example')).rejects.toMatchObject({ code: 'invalid-options' })
    expect((await stat(join(stateFolder, issuerFileName))).mode & 0o777).toBe(0o600)
  })

  it('is held by another process until that is killed', async () => {
    const holder = join(__dirname, 'hold-issuer.cjs')
    const child = fork(holder, [stateFolder, 'https://one.example'])
    await once(child, 'message')
    await expect(lock('https://two.example')).rejects.toMatchObject({ code: 'invalid-options' })
    await lock('https://one.example').then((release) => release())
    child.kill('SIGKILL')
    await once(child, 'exit')
    await lock('https://two.example')
  })

  it('is refused with the name of the file if that is damaged', async () => {
    await writeFile(join(stateFolder, issuerFileName), 'x'.repeat(5_000))
    await expect(lock('https://one.example')).rejects.toMatchObject({
      code: 'invalid-options',
      message: expect.stringMatching(/^issuer\.db in the state folder is damaged/) as unknown,
    })
  })

  it('makes tokens of one service valid for another behind the same balancer', async () => {
    const issuer = 'https://speech.example.com'
    for (let count = 0; count < 2; count += 1) services.push(await plainService({ stateFolder, issuer }))
    const [first, second] = services
    if (first === undefined || second === undefined) throw new Error('There are two.')
    const { responses } = await converse(second, ({ request, end }) => {
      request(startOf(first.token))
      end()
    })
    expect(responses[0]).toMatchObject({ 'operation-result': 'success' })
  })

  it('stops a service that would refuse half of all tokens, as with separate addresses', async () => {
    services.push(await plainService({ stateFolder }))
    await expect(plainService({ stateFolder })).rejects.toMatchObject({
      code: 'invalid-options',
      message: expect.stringMatching(/Set the same identity\.issuer/) as unknown,
    })
  })
})
