import { describe, expect, it } from 'vitest'
import { planServe as planTyped, serveFlags } from '../../../src/cli/commands/serve.js'
import { readFlags, type TypedFlags } from '../../../src/cli/parsing/flags.js'

const planServe = (typed: TypedFlags, env: Readonly<Record<string, string | undefined>>) =>
  planTyped(readFlags(serveFlags, typed), env)
const env = { RXSPEECH_CLIENT_SECRET: '0123456789abcdef' }

describe('planServe', () => {
  it('listens on the same ports of loopback for development, unless others are chosen', () => {
    expect(planServe({ dev: true }, {})).toEqual({
      mode: 'development',
      options: {
        plainHttp: { host: '127.0.0.1', port: 8780 },
        http: { host: '127.0.0.1', port: 8781 },
        grpc: { host: '127.0.0.1', port: 8782 },
        modelFolders: [],
        projectFolders: [],
        customNodes: [],
        stateFolder: '.rxspeech',
      },
      preset: ['http', 'plainHttp', 'grpc'],
      hasStudio: true,
    })
    expect(planServe({ dev: true, http: '[::1]:1', plain: '127.0.0.1:2' }, {})).toMatchObject({
      options: { http: { host: '::1', port: 1 }, plainHttp: { host: '127.0.0.1', port: 2 } },
      preset: ['grpc'],
    })
  })

  it('listens on free ports otherwise, in plain text nowhere else, and serves the page on demand', () => {
    const plan = planServe({}, {})
    const anyPort = { host: '127.0.0.1', port: 0 }
    expect(plan).toMatchObject({ options: { http: anyPort, grpc: anyPort }, hasStudio: false })
    expect([plan.options.plainHttp, plan.preset]).toEqual([undefined, undefined])
    expect(planServe({ studio: true }, {})).toMatchObject({ hasStudio: true })
  })

  it('accepts folders of projects, and custom nodes by file or by package', () => {
    const flags = { dev: true, projects: ['p'], nodes: ['./shout.mjs', 'shout.js', '@acme/nodes', 'nodes'] }
    expect(planServe(flags, {}).options).toMatchObject({
      projectFolders: ['p'],
      customNodes: [{ file: './shout.mjs' }, { file: 'shout.js' }, { package: '@acme/nodes' }, { package: 'nodes' }],
    })
    expect(() => planServe({ dev: true, nodes: [' '] }, {})).toThrow('--nodes')
  })

  it('accepts a folder for recordings', () => {
    expect(planServe({ dev: true, recordings: 'r' }, {}).options).toMatchObject({ recordingsFolder: 'r' })
    expect(() => planServe({ dev: true, recordings: ' ' }, {})).toThrow('--recordings')
  })

  it('serves other hosts with a certificate and a subscriber', () => {
    const flags = { http: '0.0.0.0:443', grpc: '[::]:8443', cert: 'c', key: 'k', clientId: 'acme', tenant: ['A', 'B'] }
    expect(planServe(flags, env)).toMatchObject({
      mode: 'production',
      options: { http: { host: '0.0.0.0', port: 443 }, grpc: { host: '::', port: 8443 } },
      tls: { certFile: 'c', keyFile: 'k' },
      tenants: ['A', 'B'],
    })
  })

  it.each<[TypedFlags, RegExp]>([
    [{ dev: true, cert: 'c' }, /omit --cert/],
    [{ dev: true, http: '192.0.2.1:1' }, /this machine only/],
    [{ dev: true, plain: '0.0.0.0:1' }, /this machine only/],
    [{ plain: '127.0.0.1:1' }, /--plain is for --dev/],
    [{ dev: true, grpc: '::1:1' }, /--grpc must be HOST:PORT/],
    [{ dev: true, http: '127.0.0.1:65536' }, /--http must be HOST:PORT/],
    [{ grpc: '192.0.2.1:1', clientId: 'a' }, /needs TLS/],
    [{ cert: 'c', clientId: 'a' }, /belong together/],
  ])('rejects %j', (flags, sentence) => {
    expect(() => planServe(flags, env)).toThrow(sentence)
  })

  it('uses the subscribers in the state folder if none is given', () => {
    expect(planServe({ state: 's' }, {})).toMatchObject({
      mode: 'production',
      options: { stateFolder: 's' },
      tenants: ['Default'],
    })
    expect(planServe({}, env)).toHaveProperty('subscriber', undefined)
    expect(planServe({ clientId: 'a' }, env)).toMatchObject({
      subscriber: { clientId: 'a', clientSecret: env.RXSPEECH_CLIENT_SECRET },
    })
  })

  it('rejects a secret that can be guessed', () => {
    expect(() => planServe({ clientId: 'a' }, { RXSPEECH_CLIENT_SECRET: '0123456789abcde' })).toThrow(/at least 16/)
  })
})
