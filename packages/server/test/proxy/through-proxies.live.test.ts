import { inspect } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { requestToken } from '../../../../src/auth/request-token.js'
import { connectProxy, type ConnectProxy, type ConnectProxyOptions } from '../../../../test/proxy/connect-proxy.js'
import { outcomeOf, proxied, ways, type Proxied } from './proxied-sessions.js'

let there: Proxied
beforeAll(async () => void (there = await proxied()))
afterAll(() => there.close())

let proxies: ConnectProxy[] = []
const open = async (options?: ConnectProxyOptions): Promise<ConnectProxy> => {
  const proxy = await connectProxy(options)
  proxies.push(proxy)
  return proxy
}
beforeEach(() => {
  for (const name of [
    'https_proxy',
    'HTTPS_PROXY',
    'http_proxy',
    'HTTP_PROXY',
    'all_proxy',
    'ALL_PROXY',
    'no_proxy',
    'NO_PROXY',
  ])
    vi.stubEnv(name, '')
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await Promise.all(proxies.map((proxy) => proxy.close()))
  proxies = []
})

const secretProxy = ({ port }: ConnectProxy): string => `http://user:hidden%2Fword@127.0.0.1:${port}`
const credentials = 'user:hidden/word'

describe.each(ways)('%s through a proxy', (way) => {
  it('uses the proxy of the option, with user and password', async () => {
    const proxy = await open({ credentials })
    expect(await outcomeOf(there.run(way, secretProxy(proxy)))).toBe(there.results[way])
    expect(new Set(proxy.asked)).toEqual(new Set([there.peers[way]]))
  })

  it('uses the proxy of the environment unless NO_PROXY names the host or the option is false', async () => {
    const proxy = await open()
    vi.stubEnv('HTTPS_PROXY', proxy.url)
    expect(await outcomeOf(there.run(way))).toBe(there.results[way])
    const count = proxy.asked.length
    expect(count).toBeGreaterThan(0)
    expect(await outcomeOf(there.run(way, false))).toBe(there.results[way])
    vi.stubEnv('NO_PROXY', '127.0.0.1')
    expect(await outcomeOf(there.run(way))).toBe(there.results[way])
    expect(proxy.asked.length).toBe(count)
  })

  it.each([
    ['requires a password', { credentials }, /requires a user and a password/, false],
    ['refuses every connection', { answer: 403 }, /refuses connections to 127\.0\.0\.1:\d+/, false],
    ['cannot reach the service', { answer: 503 }, /could not connect to 127\.0\.0\.1:\d+ \(HTTP 503\)/, true],
    ['does not support CONNECT', { answer: 404 }, /could not connect to .* \(HTTP 404\)/, false],
  ])('reports immediately what is wrong if the proxy %s', async (_what, options, message, retryable) => {
    const proxy = await open(options)
    const error = await outcomeOf(there.run(way, `http://wrong:wrong-word@127.0.0.1:${proxy.port}`))
    expect(error).toMatchObject({
      code: 'connection-failed',
      retryable,
      message: expect.stringMatching(message) as unknown,
    })
    expect((error as Error).message).toContain(`The proxy at 127.0.0.1:${proxy.port} `)
    expect(proxy.asked).toHaveLength(1)
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('wrong-word')
  })

  it('reports that the proxy cannot be reached, and not the service', async () => {
    const proxy = await open()
    await proxy.close()
    proxies = []
    const error = await outcomeOf(there.run(way, secretProxy(proxy)))
    expect(error).toMatchObject({ code: 'connection-failed', retryable: true })
    expect((error as Error).message).toMatch(/^The proxy at 127\.0\.0\.1:\d+ cannot be reached \(ECONNREFUSED\)/)
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('hidden')
  })

  it('reports that the proxy cannot be reached if something else answers at its address', async () => {
    const proxy = await open({ answer: 'garbage' })
    expect(await outcomeOf(there.run(way, proxy.url))).toMatchObject({
      code: 'connection-failed',
      message: expect.stringContaining('The proxy at ') as unknown,
    })
  })

  it('ends with its timeout if the proxy does not answer, and leaves no connection', async () => {
    const proxy = await open({ answer: 'silence' })
    const error = await outcomeOf(there.run(way, proxy.url, { connectTimeoutMs: 100 }))
    expect(error).toMatchObject({ code: way === 'a token request' ? 'token-timeout' : 'connect-timeout' })
    await expect.poll(() => proxy.open()).toBe(0)
  })

  it('leaves no connection if it is unsubscribed while the proxy does not answer', async () => {
    const proxy = await open({ answer: 'silence' })
    const subscription = there.run(way, proxy.url).subscribe()
    await expect.poll(() => proxy.asked).toHaveLength(1)
    subscription.unsubscribe()
    await expect.poll(() => proxy.open()).toBe(0)
  })
})

describe('requestToken without a custom fetch', () => {
  const credentialsOf = { authUrl: 'https://127.0.0.1:9', clientId: 'c', clientSecret: 'secret-secret' }

  it('uses the proxy of the option or of the environment', async () => {
    const proxy = await open({ answer: 403 })
    const refused = { code: 'connection-failed', message: expect.stringContaining('refuses connections') as unknown }
    const asked = (options: object): Promise<unknown> =>
      new Promise((resolve) => requestToken({ ...credentialsOf, ...options }).subscribe({ error: resolve }))
    expect(await asked({ proxy: proxy.url })).toMatchObject(refused)
    vi.stubEnv('HTTPS_PROXY', proxy.url)
    expect(await asked({})).toMatchObject(refused)
    expect(proxy.asked).toEqual(['127.0.0.1:9', '127.0.0.1:9'])
    expect(await asked({ proxy: false })).toMatchObject({
      message: expect.stringContaining('token endpoint') as unknown,
    })
  })

  it('rejects an invalid proxy, and a proxy together with a fetch, when it is called', () => {
    const invalid = expect.objectContaining({ code: 'invalid-options' }) as unknown
    expect(() => requestToken({ ...credentialsOf, proxy: 'nonsense' })).toThrow(invalid)
    expect(() => requestToken({ ...credentialsOf, proxy: 'http://p:1', fetch })).toThrow(invalid)
  })
})
