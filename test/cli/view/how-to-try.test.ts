import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { howToTry } from '../../../src/cli/commands/serve.js'

const service = {
  authUrl: 'https://127.0.0.1:1',
  grpc: '[::1]:2',
  ca: "/a folder/with ' in it/ca.pem",
  clientId: 'development',
  clientSecret: 'a-b_c',
}

describe('the instructions for a development service', () => {
  it('are a text that a shell accepts unchanged', () => {
    const commands = (howToTry(service) ?? '').split('\n').slice(2).join('\n')
    const script = `rxspeech() { printf '%s\\n' "$RXSPEECH_CLIENT_SECRET" "$@"; }\n${commands}`
    expect(execFileSync('bash', ['-euc', script]).toString().trimEnd().split('\n')).toEqual([
      service.clientSecret,
      ...['transcribe', 'call.wav', '--speed', 'max', '--grpc', service.grpc],
      ...['--auth-url', service.authUrl, '--client-id', service.clientId, '--ca', service.ca],
    ])
  })

  it('are omitted if a client would lack something', () => {
    expect(howToTry({ ...service, ca: null })).toBeUndefined()
    const { clientSecret: _secret, ...known } = service
    expect(howToTry(known)).toBeUndefined()
  })
})
