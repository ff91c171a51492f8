import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { howToTry, programOf } from '../../../src/cli/commands/serve.js'

const service = {
  authUrl: 'https://127.0.0.1:1',
  grpc: '[::1]:2',
  ca: "/a folder/with ' in it/ca.pem",
  clientId: 'development',
  clientSecret: 'a-b_c',
}

const sample = { program: 'npx rxspeech-service', call: "/it's here/call.wav", stateFolder: '/state' }

describe('the instructions for a development service', () => {
  it('are a text that a shell accepts unchanged', () => {
    const commands = (howToTry(service, sample) ?? '').split('\n').slice(3).join('\n')
    const script = `npx() { printf '%s\\n' "$RXSPEECH_CLIENT_SECRET" "$@"; }\n${commands}`
    expect(execFileSync('bash', ['-euc', script]).toString().trimEnd().split('\n')).toEqual([
      service.clientSecret,
      ...['rxspeech-service', 'transcribe', sample.call, '--speed', 'max', '--grpc', service.grpc],
      ...['--auth-url', service.authUrl, '--client-id', service.clientId, '--ca', service.ca],
    ])
  })

  it('name the folder of the keys', () => {
    expect(howToTry(service, sample)).toContain('Its keys and its certificate are in /state.\n')
  })

  it.each([
    [{ npm_command: 'exec' }, true, 'npx rxspeech-service'],
    [{ npm_command: 'exec' }, false, 'npx rxspeech'],
    [{}, true, 'rxspeech'],
    [{ npm_command: 'run-script' }, true, 'rxspeech'],
  ])('begin with the way the service was started: %j', (env, hasServicePackage, program) => {
    expect(programOf(env, hasServicePackage)).toBe(program)
  })

  it('are omitted if a client would lack something', () => {
    expect(howToTry({ ...service, ca: null }, sample)).toBeUndefined()
    const { clientSecret: _secret, ...known } = service
    expect(howToTry(known, sample)).toBeUndefined()
  })
})
