import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { firstValueFrom } from 'rxjs'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { nodeFetch } from '../../../../../src/auth/node-fetch.js'
import { requestToken } from '../../../../../src/auth/request-token.js'
import type { TokenFetch } from '../../../../../src/auth/token-fetch.js'
import { testCertificates } from '../../test-certificates.js'
import { serveTokens, type TokenServer } from '../../../../../test/auth/token-server.js'

const credentials = { clientId: 'client', clientSecret: 's&cret=1' }
const granted = JSON.stringify({ access_token: 'tok', expires_in: 60, token_type: 'Bearer' })

let servers: TokenServer[] = []
const serve = async (...how: Parameters<typeof serveTokens>): Promise<TokenServer> => {
  const server = await serveTokens(...how)
  servers.push(server)
  return server
}
afterEach(async () => {
  await Promise.all(servers.map((server) => server.close()))
  servers = []
})

const ask = (authUrl: string, fetch?: TokenFetch): Promise<unknown> =>
  firstValueFrom(requestToken({ ...credentials, authUrl, ...(fetch && { fetch }) })).catch((error: unknown) => error)

const ways: readonly (readonly [string, TokenFetch | undefined])[] = [
  ['the global fetch', undefined],
  ['nodeFetch', nodeFetch()],
]

describe.each(ways)('requestToken with %s', (_, fetch) => {
  it('gets a token over a real connection', async () => {
    const server = await serve((__, response) => response.end(granted))
    expect(await ask(server.authUrl, fetch)).toMatchObject({ accessToken: 'tok' })
    expect(server.paths).toEqual(['POST /connect/token'])
    expect(server.bodies).toEqual([
      'client_id=client&client_secret=s%26cret%3D1&grant_type=client_credentials&scope=Ldm_Integration',
    ])
  })

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ] as const)('reads an answer in %s', async (coding, encode) => {
    const { authUrl } = await serve((_request, response) => {
      response.writeHead(200, { 'content-encoding': coding })
      response.end(encode(granted))
    })
    expect(await ask(authUrl, fetch)).toMatchObject({ accessToken: 'tok' })
  })

  it('maps a refusal and its Retry-After', async () => {
    const server = await serve((__, response) => response.writeHead(429, { 'Retry-After': '2' }).end())
    expect(await ask(server.authUrl, fetch)).toMatchObject({ code: 'too-many-attempts', retryAfterMs: 2000 })
  })

  it.each([301, 302, 303, 307, 308])('does not forward the secret with a %i', async (status) => {
    const elsewhere = await serve((__, response) => response.end(granted))
    const server = await serve((__, response) =>
      response.writeHead(status, { location: `${elsewhere.authUrl}/connect/token` }).end(),
    )
    expect(await ask(server.authUrl, fetch)).toMatchObject({ code: 'token-endpoint-failed', retryable: false })
    expect(elsewhere.bodies).toEqual([])
  })

  it('reads no endless body', async () => {
    const closed = new Promise<string>((resolve) => {
      void serve((__, response) => {
        response.on('close', () => resolve('closed'))
        const more = (): void => {
          while (!response.destroyed && response.write(' '.repeat(16_384)));
        }
        response.on('drain', more)
        more()
      }).then(async (server) => {
        expect(await ask(server.authUrl, fetch)).toMatchObject({ code: 'token-endpoint-failed' })
      })
    })
    expect(await closed).toBe('closed')
  })

  it('errors when the connection breaks before and within the response', async () => {
    const mute = await serve((request) => request.socket.destroy())
    expect(await ask(mute.authUrl, fetch)).toMatchObject({ code: 'connection-failed' })
    const broken = await serve((request, response) => {
      response.writeHead(200, { 'content-length': '500' })
      response.write(granted, () => request.socket.destroy())
    })
    expect(await ask(broken.authUrl, fetch)).toMatchObject({ code: 'token-endpoint-failed' })
  })

  it('includes the reason when nothing listens', async () => {
    const server = await serve(() => undefined)
    await server.close()
    expect(await ask(server.authUrl, fetch)).toMatchObject({
      code: 'connection-failed',
      message: expect.stringContaining('(ECONNREFUSED)'),
    })
  })

  it('closes the connection when it is unsubscribed', async () => {
    const closed = new Promise<string>((resolve) => {
      void serve((request) => {
        request.socket.on('close', () => resolve('closed'))
        subscription?.unsubscribe()
      }).then(({ authUrl }) => {
        subscription = requestToken({ ...credentials, authUrl, ...(fetch && { fetch }) }).subscribe()
      })
    })
    let subscription: { unsubscribe: () => void } | undefined
    expect(await closed).toBe('closed')
  })
})

describe('requestToken over TLS', () => {
  let tls: { readonly key: string; readonly cert: string }

  let ca: string

  beforeAll(async () => {
    const made = await testCertificates()
    tls = { key: made.key, cert: made.certificate }
    ca = made.ca
  })

  it.each([
    ['text', (pem: string) => pem],
    ['bytes', (pem: string) => new TextEncoder().encode(pem)],
    ['a list', (pem: string) => [pem]],
  ])('trusts a private CA passed to nodeFetch as %s', async (_, form) => {
    const server = await serve((__, response) => response.end(granted), tls)
    expect(await ask(server.authUrl, nodeFetch({ ca: form(ca) }))).toMatchObject({ accessToken: 'tok' })
  })

  it.each(ways)('sends the secret to no server whose certificate is not trusted, with %s', async (_, fetch) => {
    const server = await serve((__, response) => response.end(granted), tls)
    expect(await ask(server.authUrl, fetch)).toMatchObject({
      code: 'connection-failed',
      message: `The certificate of ${new URL(server.authUrl).host} is not trusted; give the CA certificate of the service.`,
      retryable: false,
    })
    expect(server.bodies).toEqual([])
  })
})
