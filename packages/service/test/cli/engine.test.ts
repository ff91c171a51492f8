import { writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  natsIsSkipped,
  natsTitle,
  startNatsServer,
  type NatsServer,
} from '../../../nats/test/connection/nats-server.js'
import { packageVersion } from '../../src/cli/process/package-files.js'
import { callModels, ended, firstLine, run, start } from './command.js'
import { startInProcess } from './in-process.js'
import { first, longIt } from '../../../../test/thorough.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

describe('rxspeech engine', () => {
  it.each(
    first(1, [
      ['without a server', [], 'NATS needs a server; set it with --nats.'],
      [
        'with a user without a password',
        ['--nats', 'nats://127.0.0.1', '--nats-user', 'e'],
        'set RXSPEECH_NATS_PASSWORD',
      ],
      ['in plain text beyond loopback', ['--nats', 'nats://nats-0:4222'], 'plain text'],
      ['with a password in the address', ['--nats', 'nats://u:hunter2@127.0.0.1'], 'without a user or a password'],
      ['with a certificate without its key', ['--nats', 'nats://127.0.0.1', '--cert', 'x'], '--cert and --key'],
      ['with a file and other flags', ['--config', 'engine.yaml', '--capacity', '1'], 'omit --capacity'],
    ] as const),
  )('refuses to start %s', async (_how, flags, sentence) => {
    const { code, stderr } = await run(['engine', ...flags])
    expect(code).toBe(2)
    expect(stderr).toContain(sentence)
    expect(stderr).not.toContain('hunter2')
  })
})

describe.skipIf(natsIsSkipped)(natsTitle('an engine process whose user has another name'), () => {
  longIt('says so, counts it, and is not ready', async () => {
    const permissions =
      '{ publish: ["rxspeech.alive.engine", "rxspeech.models.engine"], subscribe: ["rxspeech.engine.engine.>", "rxspeech.who"] }'
    const config = `authorization { users: [{ user: engine, password: secret, permissions: ${permissions} }] }`
    const nats = await startNatsServer({ config })
    const flags = ['--nats', nats.url, '--nats-user', 'engine', '--name', 'other', '--models', callModels]
    const env = { RXSPEECH_NATS_PASSWORD: 'secret' }
    const child = start(['engine', ...flags, '--operations', '127.0.0.1:0'], { env })
    const end = ended(child)
    const { operations } = JSON.parse(await firstLine(child)) as { operations: string }
    const get = async (path: string): Promise<string> => (await fetch(`${operations}${path}`)).text()
    await expect.poll(() => get('/readyz')).toContain('without-engine')
    expect(await get('/metrics')).toMatch(/^rxspeech_nats_refused_total [1-9]/m)
    child.kill('SIGTERM')
    const { stderr } = await end
    await nats.close()
    expect(stderr).toContain(
      'The NATS server does not allow this user to send rxspeech.alive.other; check its permissions, and the name of this process.',
    )
    // Each kind of message once, however often it is sent.
    expect(stderr.match(/to send rxspeech\.alive/g)).toHaveLength(1)
  })
})

describe.skipIf(natsIsSkipped)(natsTitle('engine processes'), () => {
  let nats: NatsServer
  const folder = temporaryFolder()
  const cleanups: (() => void)[] = []
  beforeAll(async () => {
    nats = await startNatsServer()
  })
  afterEach(() => {
    for (const cleanup of cleanups.splice(0)) cleanup()
  })
  afterAll(async () => {
    await nats.close()
  })

  const startEngine = (flags: readonly string[]) => {
    const child = start(['engine', ...flags])
    cleanups.push(() => child.kill('SIGKILL'))
    return { child, end: ended(child), line: firstLine(child) }
  }
  const list = async (): Promise<readonly unknown[]> => {
    const { stdout, stderr, code } = await run(['engines', '--nats', nats.url, '--json', '--wait-ms', '600'])
    const engines = JSON.parse(stdout) as readonly unknown[]
    expect([code, stderr]).toEqual(engines.length > 0 ? [0, ''] : [1, expect.stringContaining('no engine process')])
    return engines
  }

  it('are listed as long as they run, are ready, and end with 0 on SIGTERM', async () => {
    const config = [
      `nats: { servers: ["${nats.url}"] }`,
      `models: { folders: ["${callModels}"] }`,
      'name: gpu-2',
      'capacity: 3',
      'region: eu',
      'operations: 127.0.0.1:0',
    ]
    writeFileSync(join(folder, 'engine.yaml'), config.join('\n'))
    expect(await list()).toEqual([])
    const first = startEngine(['--nats', nats.url, '--models', callModels, '--name', 'gpu-1', '--capacity', '2'])
    const second = startEngine(['--config', join(folder, 'engine.yaml')])
    const { instance } = JSON.parse(await first.line) as { instance: string }
    const identity = { host: hostname(), version: packageVersion() }
    const { operations } = JSON.parse(await second.line) as { operations: string }
    const model = {
      model: 'Default/call/1',
      sampleRateHz: 8000,
      digest: expect.stringMatching(/^[\da-f]{64}$/) as string,
    }
    // They tell of themselves four times a second, and later where the machine is busy.
    await expect.poll(list).toMatchObject([
      {
        name: 'gpu-1',
        instance,
        ...identity,
        region: null,
        used: 0,
        capacity: 2,
        draining: false,
        behind: false,
        lagMs: 0,
        models: [model],
      },
      { name: 'gpu-2', region: 'eu', used: 0, capacity: 3, draining: false, models: [model] },
    ])
    const table = async () => (await run(['engines', '--nats', nats.url, '--wait-ms', '600'])).stdout
    await expect
      .poll(table)
      .toMatch(
        /^NAME +INSTANCE +HOST +VERSION +REGION +USED +CAPACITY +LAG +CLOCK +STATE +SINCE +MODELS\ngpu-1 .* 0\.0 s +[+-]0\.0 s +serving .*Default\/call\/1/,
      )
    expect((await fetch(`${operations}/readyz`)).status).toBe(200)
    const metrics = await (await fetch(`${operations}/metrics`)).text()
    expect(metrics).toContain('rxspeech_nats_up 1')
    expect(metrics).toContain('rxspeech_engine_places{state="free"} 3')
    expect(metrics).toContain('rxspeech_engine_places{state="behind"} 0')
    first.child.kill('SIGTERM')
    const { code, stderr } = await first.end
    expect(code).toBe(0)
    const lines = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(lines.at(-1)).toMatchObject({ ...identity, process: instance, msg: 'The engine process has ended.' })
    expect(new Set(lines.map((line) => line['process']))).toEqual(new Set([instance]))
    await expect.poll(list).toMatchObject([{ name: 'gpu-2' }])
  })

  longIt('do not start without a model, and say so', async () => {
    const { code, stderr } = await run(['engine', '--nats', nats.url, '--models', folder])
    expect(code).toBe(1)
    expect(stderr).toContain('contain no model')
  })

  it('are what a service needs that has no model of its own', async () => {
    const config = [
      `engines: { nats: { servers: ["${nats.url}"] } }`,
      'models: { defaultModel: call }',
      'stateFolder: state',
      ...['http: 127.0.0.1:0', 'grpc: 127.0.0.1:0', 'log: { level: warn }'],
    ]
    writeFileSync(join(folder, 'service.yaml'), config.join('\n'))
    const served = startInProcess(['serve', '--config', join(folder, 'service.yaml')])
    await firstLine(served)
    served.kill('SIGTERM')
    const { code, stderr } = await served.end
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('There is no model, so that no session can begin; start an engine process that has one'),
    ])
  })

  it('report the faults of their file by line', async () => {
    const file = join(folder, 'wrong.yaml')
    writeFileSync(file, 'nats:\n  server: x\ncapacty: 3\noperations: 0.0.0.0:9464\n')
    const { code, stderr } = await run(['engine', '--config', file])
    expect(code).toBe(2)
    expect(stderr).toContain(`${file}:2:3: nats.server: there is no such key; did you mean servers?`)
    expect(stderr).toContain(`${file}:3:1: capacty: there is no such key; did you mean capacity?`)
  })
})
