import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import {
  natsIsSkipped,
  natsTitle,
  startNatsServer,
  type NatsServer,
} from '../../../nats/test/connection/nats-server.js'
import { runInProcess } from './in-process.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

const folder = temporaryFolder()

const configure = async (identity: object): Promise<string> => {
  const file = join(folder, 'service.yaml')
  await writeFile(file, stringify({ stateFolder: 'state', identity }))
  return file
}

describe.skipIf(natsIsSkipped)(natsTitle('rxspeech identity migrate'), () => {
  let server: NatsServer
  beforeAll(async () => {
    server = await startNatsServer({ config: `jetstream { store_dir: "${folder}/nats" }` })
  })
  afterAll(() => server.close())

  it('says what it would copy, copies it once, and copies it back to another folder', async () => {
    const issuer = 'https://speech.example.com'
    const file = await configure({ issuer, keysFile: 'keys.json', nats: { servers: [server.url] } })
    const state = join(folder, 'state')
    for (const args of [
      ['create', '--client-id', 'acme'],
      ['create', '--client-id', 'gone'],
      ['cancel', 'gone'],
      ['revoke', 't1'],
    ]) {
      expect((await runInProcess(['subscription', ...args, '--state', state])).code).toBe(0)
    }
    const migrate = async (...args: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await runInProcess(['identity', 'migrate', '--config', file, ...args])
      expect([code, stderr]).toEqual([0, ''])
      return stdout
    }
    const list = async (...args: readonly string[]): Promise<unknown> =>
      JSON.parse((await runInProcess(['subscription', 'list', '--json', ...args])).stdout)
    const inFolder = await list('--state', state)

    expect(await migrate('--to', 'nats', '--dry-run')).toBe(
      [
        'subscriptions would be added: 2 (acme, gone)',
        'subscriptions would be cancelled, as where they came from: 0',
        'subscriptions that are the same: 0',
        'subscriptions that differ and stay as they are: 0',
        'revoked tokens would be added: 1, already there: 0',
        '',
      ].join('\n'),
    )
    expect(await list('--config', file)).toEqual([])
    expect(await migrate('--to', 'nats')).toContain('subscriptions added: 2 (acme, gone)\n')
    expect(await list('--config', file)).toEqual(inFolder)
    expect(await migrate('--to', 'nats')).toMatch(
      /added: 0\n.*cancelled.*: 0\n.*same: 2\n.*are: 0\n.*added: 0, already there: 1\n$/s,
    )
    expect(JSON.parse(await migrate('--to', 'nats', '--dry-run', '--json'))).toEqual({
      ...{ isDryRun: true, added: [], cancelled: [], unchanged: ['acme', 'gone'], different: [] },
      revokedTokens: { added: 0, unchanged: 1 },
    })
    const other = join(folder, 'other')
    expect(await migrate('--to', 'folder', '--state', other)).toContain('subscriptions added: 2')
    expect(await list('--state', other)).toEqual(inFolder)
  })
})

describe('rxspeech identity migrate', () => {
  const errorOf = async (...args: readonly string[]): Promise<string> => {
    const { code, stderr } = await runInProcess(['identity', 'migrate', ...args])
    expect(code).toBe(2)
    return stderr
  }

  it('names what is missing', async () => {
    expect(await errorOf()).toBe('rxspeech: Set --config, a configuration file with identity.nats.\n')
    const file = await configure({})
    expect(await errorOf('--config', file)).toBe('rxspeech: Set --to nats or --to folder.\n')
    expect(await errorOf('--config', file, '--to', 'tape')).toBe('rxspeech: --to must be nats or folder, not "tape".\n')
    expect(await errorOf('--config', file, '--to', 'nats')).toMatch(
      /has no identity\.nats, so there is nothing to copy/,
    )
  })

  it('reports each fault of the configuration file', async () => {
    const file = await configure({ nats: { servers: [], user: 'edge' } })
    expect(await errorOf('--config', file, '--to', 'nats')).toMatch(
      /identity\.nats: needs at least one of servers\n.*identity\.nats: needs identity\.keysFile; .*\nrxspeech: .* has 2 faults; nothing was started\.\n$/,
    )
  })
})
