import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callBeginning, callModels, callSamples, cards, ended, firstLine, start, type Ended } from './command.js'
import { runInProcess, startInProcess } from './in-process.js'
import { sampleCall } from '../../src/cli/process/package-files.js'
import { serviceSummary, type ShownService } from '../../src/cli/view/service-summary.js'
import { openReaderFolder } from '../../../../test/docs/reader-folder.js'
import { runProgram } from '../../../../test/docs/run-program.js'
import { longIt } from '../../../../test/thorough.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

const folder = temporaryFolder()

interface Served {
  readonly child: ChildProcessWithoutNullStreams
  readonly line: string
  readonly access: Readonly<Record<string, string>>
  readonly end: Promise<Ended>
}

const serve = async (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Served> => {
  const child = start(['serve', '--state', join(folder, 'state'), ...args], { env })
  const end = ended(child)
  const line = await firstLine(child)
  return { child, line, access: JSON.parse(line), end }
}

const serveInProcess = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
  const { kill, end, stdout } = startInProcess(['serve', '--state', join(folder, 'state'), ...args], { env })
  const access = JSON.parse(await firstLine({ stdout })) as Readonly<Record<string, string>>
  return { kill, end, access }
}

const raw = ['-', '--encoding', 'ulaw', '--rate', '8000', '--channels', '2']

describe('rxspeech serve --dev', () => {
  let served: Served
  let client: string[]
  let env: Record<string, string>
  beforeAll(async () => {
    served = await serve([
      '--dev',
      '--models',
      cards,
      '--models',
      callModels,
      '--model',
      'call',
      '--http',
      '127.0.0.1:0',
      '--grpc',
      '[::1]:0',
    ])
    const { authUrl = '', ca = '', clientId = '', clientSecret = '' } = served.access
    client = ['--auth-url', authUrl, '--ca', ca, '--client-id', clientId]
    env = { RXSPEECH_CLIENT_SECRET: clientSecret }
  })
  afterAll(async () => {
    served.child.kill('SIGKILL')
    await served.end
  })

  it('refuses a second service in its folder, and names what to do', async () => {
    const state = join(folder, 'state')
    expect(await runInProcess(['serve', '--dev', '--state', state])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: `rxspeech: Another service that runs uses the folder ${state}; stop it, or choose another folder with --state DIR.\n`,
    })
  })

  it('prints in one line how to connect to it', () => {
    const { authUrl, wsUrl, grpc, ca, clientSecret, plainAuthUrl, plainWsUrl, pageUrl, credentials, ...names } =
      served.access
    expect(names).toEqual({ clientId: 'development', tenant: 'Default', project: 'transcribe', model: 'call' })
    expect([authUrl, wsUrl]).toEqual([expect.stringMatching(/^https:/), expect.stringMatching(/^wss:/)])
    expect(grpc).toMatch(/^\[::1\]:\d+$/)
    expect(isAbsolute(ca ?? '')).toBe(true)
    expect((clientSecret ?? '').length).toBeGreaterThan(20)
    expect(plainAuthUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect([plainWsUrl, pageUrl]).toEqual([plainAuthUrl?.replace('http', 'ws'), `${plainAuthUrl ?? ''}/`])
    expect(JSON.parse(readFileSync(credentials ?? '', 'utf8'))).toEqual(served.access)
  })

  it('issues tokens, alone on stdout or with the complete response', async () => {
    const [token, answer] = await Promise.all([
      runInProcess(['token', ...client], { env }),
      runInProcess(['token', ...client, '--json'], { env }),
    ])
    expect(token).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+\n$/) })
    expect(JSON.parse(answer.stdout)).toMatchObject({
      expires_in: 31_536_000,
      token_type: 'Bearer',
      scope: 'Ldm_Integration',
    })
  })

  it('transcribes over gRPC with credentials and over WebSocket with a token', async () => {
    const { grpc = '', wsUrl = '', ca = '' } = served.access
    const token = (await runInProcess(['token', ...client], { env })).stdout.trim()
    const stdin = callSamples(3500)
    const received = await Promise.all([
      runInProcess(['transcribe', ...raw, '--grpc', grpc, ...client], { env, stdin }),
      runInProcess(['transcribe', ...raw, '--url', wsUrl, '--ca', ca, '--model', 'call'], {
        env: { RXSPEECH_TOKEN: token },
        stdin,
      }),
    ])
    for (const { code, stdout } of received) {
      expect(stdout).toContain(`left: ${callBeginning.left}`)
      expect(code).toBe(0)
    }
  })

  longIt('shows a program in a terminal that transcribes', async () => {
    const reader = openReaderFolder()
    const options = {
      program: 'rxspeech',
      call: sampleCall(),
      folder: reader.path,
      paint: (_: unknown, text: string) => text,
    }
    const summary = serviceSummary(served.access as unknown as ShownService, options)
    const program = summary.slice(summary.indexOf('  import')).replaceAll(/^ {2}/gm, '')
    reader.write('first.mjs', program)
    const { exitCode, stdout, stderr } = await runProgram(process.execPath, ['first.mjs'], { cwd: reader.path })
    reader.remove()
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(stdout).toContain('\nthank you goodbye\n')
  })

  it('transcribes with only the file of its credentials, and issues tokens', async () => {
    const access = ['--access', join(folder, 'state/development.json')]
    const [text, token] = await Promise.all([
      runInProcess(['transcribe', ...raw, ...access], { stdin: callSamples(3500) }),
      runInProcess(['token', ...access]),
    ])
    expect(text).toMatchObject({ code: 0, stdout: expect.stringContaining(`left: ${callBeginning.left}`) })
    expect(token).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+\n$/) })
    const wrong = await runInProcess(['token', '--access', 'package.json'])
    expect(wrong).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is not the development.json of a service'),
    })
    const absent = await runInProcess(['token', '--access', 'none.json'])
    expect(absent).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot be read (ENOENT)') })
  })

  it.each<[string, string[], RegExp]>([
    ['a wrong secret', ['--client-secret', 'wrong-wrong-wrong-wrong'], /client id and the client secret/],
    ['a project that does not exist', ['--project', 'dance'], /project/],
    ['a model that does not exist', ['--model', 'dice'], /model/],
  ])('refuses %s, and the client exits with 1', async (_what, flags, sentence) => {
    const args = ['transcribe', ...raw, '--grpc', served.access['grpc'] ?? '', ...client, ...flags]
    const { code, stderr } = await runInProcess(args, { env, stdin: callSamples(200) })
    expect(stderr).toMatch(/^rxspeech: [^\n]+\n$/)
    expect(stderr).toMatch(sentence)
    expect(code).toBe(1)
  })

  it('is not trusted without its CA', async () => {
    const args = ['transcribe', ...raw, '--grpc', served.access['grpc'] ?? '', '--token', 'any']
    const { code, stderr } = await runInProcess(args, { stdin: callSamples(200) })
    expect(stderr).toMatch(
      /The certificate of \S+ is not trusted; give the CA certificate of the service with --ca FILE\.\n$/,
    )
    expect(code).toBe(1)
  })

  it('is not trusted without its CA by a request for a token, with the same sentence', async () => {
    const { authUrl = '', clientSecret = '' } = served.access
    const args = ['token', '--auth-url', authUrl, '--client-id', 'development']
    const { code, stderr } = await runInProcess(args, { env: { RXSPEECH_CLIENT_SECRET: clientSecret } })
    expect(stderr).toBe(
      `rxspeech: The certificate of ${new URL(authUrl).host} is not trusted; give the CA certificate of the service with --ca FILE.\n`,
    )
    expect(code).toBe(1)
  })

  longIt(
    'sends a running session its last results at SIGTERM, exits with 0 and prints nothing more on stdout',
    async () => {
      const { grpc = '' } = served.access
      const child = start(['transcribe', ...raw, '--format', 'ndjson', '--grpc', grpc, ...client], { env })
      child.stdin.on('error', () => undefined)
      const clientEnd = ended(child)
      const received = new Promise<void>((resolve) => {
        child.stdout.on('data', (text: string) => {
          if (text.includes('"type":"partial"')) resolve()
        })
      })
      child.stdin.write(callSamples(3000))
      await received
      served.child.kill('SIGTERM')
      const { code, stdout, stderr } = await served.end
      expect({ code, stdout }).toEqual({ code: 0, stdout: `${served.line}\n` })
      expect(stderr).not.toContain(served.access['clientSecret'])
      // The client looks for another service, which does not exist, until it is stopped as well.
      child.kill('SIGTERM')
      const { stdout: clientOutput } = await clientEnd
      expect(clientOutput).toContain('"type":"milestone"')
      expect(clientOutput).toMatch(/"state":"reconnecting".*"cause":"going-away"/)
    },
  )
})

describe('rxspeech serve', () => {
  it('serves plain text on loopback for the given subscriber', async () => {
    const env = { RXSPEECH_CLIENT_SECRET: 'a secret of enough characters' }
    const { kill, access, end } = await serveInProcess(['--client-id', 'acme', '--tenant', 'Acme'], env)
    expect(access).toEqual({
      authUrl: expect.stringMatching(/^http:/),
      wsUrl: expect.stringMatching(/^ws:/),
      grpc: expect.any(String),
      ca: null,
      clientId: 'acme',
      tenant: 'Acme',
      project: 'transcribe',
      model: 'English',
    })
    const { authUrl = '', grpc = '' } = access
    const client = ['--auth-url', authUrl, '--client-id', 'acme', '--plaintext', '--grpc', grpc]
    const stdin = callSamples(300)
    const [granted, denied] = await Promise.all([
      runInProcess(['transcribe', ...raw, ...client, '--tenant', 'Acme'], { env, stdin }),
      runInProcess(['transcribe', ...raw, ...client, '--tenant', 'Other'], { env, stdin }),
    ])
    expect([granted.code, denied.code]).toEqual([0, 1])
    kill('SIGINT')
    expect((await end).code).toBe(0)
  })

  it('starts without a subscriber, and explains how to create one while it runs', async () => {
    const { kill, access, end } = await serveInProcess([])
    expect(access).not.toHaveProperty('clientId')
    kill('SIGTERM')
    const { code, stderr } = await end
    expect(code).toBe(0)
    expect(stderr).toContain('rxspeech subscription create')
  })

  it('continues when nothing reads its stdout', async () => {
    const { child, end } = await serve(['--dev'])
    child.stdout.destroy()
    child.kill('SIGTERM')
    expect((await end).code).toBe(0)
  })
})
