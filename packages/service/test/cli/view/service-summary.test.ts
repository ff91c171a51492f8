import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { programOf } from '../../../src/cli/view/typed-command.js'
import { serviceSummary, type ShownService } from '../../../src/cli/view/service-summary.js'

const development: ShownService = {
  authUrl: 'https://127.0.0.1:8781',
  wsUrl: 'wss://127.0.0.1:8781',
  grpc: '127.0.0.1:8782',
  model: 'call',
  credentials: '/home/me/.rxspeech/development.json',
  plainAuthUrl: 'http://127.0.0.1:8780',
  plainWsUrl: 'ws://127.0.0.1:8780',
  pageUrl: 'http://127.0.0.1:8780/',
}
const options = {
  program: 'npx rxspeech-service',
  call: '/opt/rxspeech/samples/call.wav',
  folder: '/home/me',
  paint: (_color: unknown, text: string) => text,
}

describe('serviceSummary', () => {
  it('has all addresses, and paths as one types them, within 80 columns', () => {
    const summary = serviceSummary(development, options)
    expect(summary).toMatch(/OpenAI API +http:\/\/127\.0\.0\.1:8780\/v1\n +Deepgram API +http:\/\/127\.0\.0\.1:8780\n/)
    for (const address of ['http://127.0.0.1:8780/', 'ws://127.0.0.1:8780', 'wss://127.0.0.1:8781', '127.0.0.1:8782']) {
      expect(summary).toContain(address)
    }
    expect(summary).toMatch(/^ {2}Credentials +\.rxspeech\/development\.json$/m)
    expect(summary.split('\n').filter((line) => line.length > 80)).toEqual([])
  })

  it('has a command that a shell accepts unchanged', () => {
    const odd = { ...development, credentials: "/a folder/with ' in it/development.json" }
    const summary = serviceSummary(odd, { ...options, call: "/it's here/call.wav" })
    const command = /^ {2}npx [^]*?(?=\n\n)/m.exec(summary)?.[0] ?? ''
    const script = `npx() { printf '%s\\n' "$@"; }\n${command}`
    expect(execFileSync('bash', ['-euc', script]).toString().trimEnd().split('\n')).toEqual([
      ...['rxspeech-service', 'transcribe', "/it's here/call.wav", '--speed', 'max'],
      ...['--access', odd.credentials],
    ])
  })

  it('has a command for clients of other services that a shell accepts', () => {
    const summary = serviceSummary(development, { ...options, call: "/it's here/call.wav" })
    const command = /^ {2}export OPENAI_BASE_URL[^]*?(?=\n\n)/m.exec(summary)?.[0] ?? ''
    const script = `npx() { echo token; }\ncurl() { printf '%s\\n' "$@"; }\n${command}`
    expect(execFileSync('bash', ['-euc', script]).toString().trimEnd().split('\n')).toEqual([
      ...['http://127.0.0.1:8780/v1/audio/transcriptions', '-F', 'model=any', '-H', 'Authorization: Bearer token'],
      ...['-F', "file=@/it's here/call.wav"],
    ])
  })

  it('has only the addresses of a service for others', () => {
    const { authUrl, wsUrl, grpc } = development
    const summary = serviceSummary({ authUrl, wsUrl, grpc, model: '', operations: 'http://127.0.0.1:9464' }, options)
    expect(summary.trim().split('\n')).toEqual([
      'The service is ready. Ctrl-C ends it.',
      '',
      '  WebSocket    wss://127.0.0.1:8781',
      '  Tokens       https://127.0.0.1:8781',
      '  gRPC         127.0.0.1:8782',
      '  Operations   http://127.0.0.1:9464',
    ])
  })

  it('has no secret', () => {
    const access = { ...development, clientSecret: 'a-very-secret-secret' }
    expect(serviceSummary(access, options)).not.toContain('a-very-secret-secret')
  })
})

describe('programOf', () => {
  it.each([
    [{ npm_command: 'exec' }, true, 'npx rxspeech-service'],
    [{ npm_command: 'exec' }, false, 'npx rxspeech'],
    [{}, true, 'rxspeech'],
    [{ npm_command: 'run-script' }, true, 'rxspeech'],
    [{ npm_command: 'start' }, false, 'npx rxspeech'],
  ])('is the way the program was started: %j', (env, hasServicePackage, program) => {
    expect(programOf(env, hasServicePackage)).toBe(program)
  })
})
