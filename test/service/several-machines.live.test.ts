import { chmod, copyFile, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rotateKeysFile } from '../../src/service/identity/keys/keys-file.js'
import { startService } from '../../src/service/start/service.js'
import { openSocket } from '../interop/plain-socket-client.js'
import { plainService, type PlainService } from './plain-service.js'

const issuer = 'https://speech.example.com'

describe('two services with state folders of their own', () => {
  let folder: string
  let keysFile: string
  let one: PlainService
  let two: PlainService
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'machines-'))
    keysFile = join(folder, 'keys.json')
    await rotateKeysFile({ path: keysFile, now: Date.now })
    one = await plainService({ stateFolder: join(folder, 'one'), issuer, identity: { keysFile } })
    two = await plainService({ stateFolder: join(folder, 'two'), issuer, identity: { keysFile } })
  })
  afterAll(async () => {
    await Promise.all([one.close(), two.close()])
    await rm(folder, { recursive: true })
  })

  const isAccepted = (service: PlainService, token: string): Promise<boolean> =>
    openSocket(service, { token }).then(
      (socket) => {
        socket.close()
        return true
      },
      (error: unknown) => {
        expect(String(error)).toContain('HTTP 401')
        return false
      },
    )
  /** How each service answers the tokens of both. */
  const answers = (tokens: readonly string[]): Promise<readonly boolean[]> =>
    Promise.all(tokens.flatMap((token) => [isAccepted(one, token), isAccepted(two, token)]))

  it('accept the tokens of each other with one file of keys, and with none after its keys were replaced', async () => {
    const earlier = [await one.newToken(), await two.newToken()]
    expect(await answers(earlier)).toEqual([true, true, true, true])

    // As a mounted secret changes: atomically, on each machine.
    const copy = join(folder, 'copy.json')
    await copyFile(keysFile, copy)
    await chmod(copy, 0o600)
    const { kid } = await rotateKeysFile({ path: copy, now: Date.now }, { discardOthers: true })
    await rename(copy, keysFile)
    expect(await answers(earlier)).toEqual([false, false, false, false])
    const later = [await one.newToken(), await two.newToken()]
    expect(JSON.parse(Buffer.from(later[0]?.split('.')[0] ?? '', 'base64url').toString())).toMatchObject({ kid })
    expect(await answers(later)).toEqual([true, true, true, true])
  })

  it('never write the file of keys, and keep none in their folders', async () => {
    const before = await readFile(keysFile, 'utf8')
    await one.newToken()
    expect(await readFile(keysFile, 'utf8')).toBe(before)
    await expect(readFile(join(folder, 'one', 'signing-keys.json'))).rejects.toThrow('ENOENT')
  })

  it('do not start without an issuer, which would differ between them', async () => {
    const options = { modelFolders: [], stateFolder: join(folder, 'three'), identity: { keysFile } }
    await expect(startService(options)).rejects.toMatchObject({
      code: 'invalid-options',
      message: expect.stringContaining('needs an issuer') as string,
    })
  })
})
