import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { NamedFinding } from '../../src/cli/doctor/check.js'
import { callModels, firstLine } from './command.js'
import { runInProcess, startInProcess, type RunningCommand } from './in-process.js'
import { longIt } from '../../../../test/thorough.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

const folder = temporaryFolder()
let service: RunningCommand
let access: Readonly<Record<string, string>>
beforeAll(async () => {
  const free = ['--http', '127.0.0.1:0', '--grpc', '127.0.0.1:0', '--plain', '127.0.0.1:0']
  const models = ['--models', callModels, '--model', 'call']
  service = startInProcess(['serve', '--dev', '--state', join(folder, 'state'), ...free, ...models])
  access = JSON.parse(await firstLine(service)) as typeof access
})
afterAll(async () => {
  service.kill('SIGTERM')
  await service.end
})

const examine = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
  const { code, stdout, stderr } = await runInProcess(['doctor', ...args, '--json'], { env })
  expect(stderr).toBe('')
  const { ok, findings } = JSON.parse(stdout) as { readonly ok: boolean; readonly findings: readonly NamedFinding[] }
  expect(code).toBe(ok ? 0 : 1)
  const of = (name: string): readonly string[] =>
    findings.flatMap(({ check, status, message, remedy = '' }) =>
      check === name ? [`${status}: ${message} ${remedy}`.trim()] : [],
    )
  return { code, stdout, findings, of }
}

const slow = ['--timeout-ms', '60000']

describe('rxspeech doctor', () => {
  it('recognizes a sample in this process, over both interfaces', async () => {
    const { code, of, findings } = await examine(slow)
    // A warning on a machine that is too slow.
    expect(of('models')).toEqual([
      expect.stringMatching(
        /^(ok|warning): Default\/English\/1 \(sherpa-onnx\) loads, and reads the sample in \d+\.\d s for 3\.5 s of audio/,
      ),
      expect.stringMatching(/^(ok|warning): Default\/call\/1 \(soundswallower\) loads/),
    ])
    expect(of('recognition')).toEqual([
      expect.stringMatching(/^ok: the embedded engine reads the sample over gRPC/),
      expect.stringMatching(/^ok: the embedded engine reads the sample over WebSocket/),
    ])
    expect(of('packages')[0]).toMatch(/^ok: /)
    expect(findings.filter(({ status }) => status === 'wrong')).toEqual([])
    expect(code).toBe(0)
  })

  longIt('finds the faults of a configuration file, and of what it names', async () => {
    const file = join(folder, 'rxspeech.yaml')
    writeFileSync(file, 'htp: 127.0.0.1:1\nlimits:\n  sessions: -1\n')
    const faults = await examine(['--config', file, ...slow])
    expect(faults.of('configuration')).toEqual([
      expect.stringMatching(/^wrong: \S+rxspeech\.yaml:1:1: htp: there is no such key/),
      expect.stringMatching(/^wrong: \S+rxspeech\.yaml:3:3: limits\.sessions: expected a whole number/),
    ])
    const taken = await listen()
    writeFileSync(
      file,
      [
        `http: 127.0.0.1:${taken.port}`,
        'grpc: 127.0.0.1:0',
        'subscriptions: [{ clientId: acme, secret: { env: ACME_SECRET } }]',
        `models: { folders: [${JSON.stringify(callModels)}] }`,
        'engines: { nats: { servers: ["nats://127.0.0.1:9"] } }',
      ].join('\n'),
    )
    const named = await examine(['--config', file, ...slow])
    expect(named.of('configuration')[0]).toMatch(/^wrong: .*ACME_SECRET must contain a secret/)
    expect(named.of('ports')).toEqual([expect.stringMatching(/^warning: 127\.0\.0\.1:\d+ is in use/)])
    expect(named.of('NATS (engines)')[0]).toMatch(/^wrong: /)
    expect(named.of('models')).toContainEqual(
      expect.stringMatching(/^(ok|warning): Default\/call\/1 \(soundswallower\) loads, and reads/),
    )
    await taken.close()
  })

  longIt('checks a service with real sessions', async () => {
    const { code, stdout, of } = await examine(['--access', access['credentials'] ?? '', ...slow])
    for (const name of ['tokens', 'gRPC', 'WebSocket']) {
      expect(of(name)).toEqual([
        expect.stringMatching(/^ok: 127\.0\.0\.1:\d+: certificate for localhost, 127\.0\.0\.1/),
      ])
    }
    expect(of('clock')).toEqual(['ok: like that of the service'])
    expect(of('token')).toEqual(['ok: the client development gets a token for 365 days'])
    for (const name of ['session, gRPC', 'session, WebSocket'])
      expect(of(name)).toEqual([expect.stringMatching(/^ok: started/)])
    expect(code).toBe(0)
    expect(stdout).not.toContain(access['clientSecret'])
  })

  longIt('says what is wrong with certificates, credentials and models, and repeats no secret', async () => {
    const { authUrl = '', wsUrl = '', grpc = '', ca = '', clientSecret = '' } = access
    const client = ['--client-id', 'development', ...slow]
    const secret = 'hunter2-hunter2-hunter2'
    const untrusted = await examine([wsUrl, ...client, '--auth-url', authUrl, '--model', 'call'], {
      RXSPEECH_CLIENT_SECRET: clientSecret,
    })
    expect(untrusted.of('WebSocket')).toEqual([expect.stringMatching(/is not trusted .* with --ca FILE\.$/)])
    expect(untrusted.of('session, WebSocket')).toEqual([expect.stringMatching(/^warning: Not tried without a token/)])
    const refused = await examine([grpc, authUrl, '--ca', ca, ...client], { RXSPEECH_CLIENT_SECRET: secret })
    expect(refused.of('token')).toEqual([expect.stringMatching(/^wrong: Check the client id and the client secret/)])
    const without = await examine([grpc, '--ca', ca, ...slow])
    expect(without.of('token')).toEqual([expect.stringMatching(/^wrong: The service requires a token/)])
    const unknown = await examine([grpc, authUrl, '--ca', ca, ...client, '--model', 'nope'], {
      RXSPEECH_CLIENT_SECRET: clientSecret,
    })
    expect(unknown.of('session, gRPC')).toEqual([expect.stringMatching(/^wrong: .*model/)])
    for (const { stdout } of [untrusted, refused, unknown])
      expect(stdout).not.toMatch(new RegExp(`hunter2|${clientSecret}`))
  })

  it('tells ports that are exchanged, and one where nothing listens', async () => {
    const { wsUrl = '', grpc = '', ca = '' } = access
    const token = { RXSPEECH_TOKEN: 'any' }
    const args = [new URL(wsUrl).host, `wss://${grpc}`, 'https://127.0.0.1:9', '--ca', ca, '--model', 'call', ...slow]
    const { code, of } = await examine(args, token)
    expect(of('gRPC')[0]).toMatch(/speaks another protocol\. Check that the ports/)
    expect(of('WebSocket')[0]).toMatch(/speaks another protocol\. Check that the ports/)
    expect(of('tokens')[0]).toMatch(/nothing listens there\. Start the service/)
    expect(code).toBe(1)
  })

  it('ends each check with a service that hangs, and all at Ctrl-C', async () => {
    const hanging = await listen()
    const { of } = await examine([`127.0.0.1:${hanging.port}`, '--timeout-ms', '300'], { RXSPEECH_TOKEN: 'any' })
    expect(of('gRPC')).toEqual([expect.stringMatching(/^wrong: No answer within 0\.3 s\./)])
    expect(of('session, gRPC')).toEqual([expect.stringMatching(/^wrong: /)])
    const connected = once(hanging.server, 'connection')
    const { kill, end } = startInProcess(['doctor', `127.0.0.1:${hanging.port}`, ...slow], {
      env: { RXSPEECH_TOKEN: 'any' },
    })
    await connected
    kill('SIGINT')
    const { code, stdout } = await end
    expect(code).toBe(130)
    expect(stdout).not.toContain('gRPC')
    await hanging.close()
  })
})

interface Listening {
  readonly server: Server
  readonly port: number
  readonly close: () => Promise<void>
}

/** A server that accepts connections and says nothing. */
const listen = async (): Promise<Listening> => {
  const sockets = new Set<{ readonly destroy: () => unknown }>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  }
  return { server, port: (server.address() as AddressInfo).port, close }
}
