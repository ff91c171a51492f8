import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { checkProxy, proxyFor, proxyHeaders } from '../../src/proxy/proxy.js'
import { proxyOfTarget } from '../../src/transport/grpc/channel.js'

const names = ['https_proxy', 'http_proxy', 'all_proxy', 'no_proxy', 'wss_proxy', 'ws_proxy', 'grpc_proxy']
beforeEach(() => {
  for (const name of names.flatMap((name) => [name, name.toUpperCase()])) vi.stubEnv(name, '')
})
afterEach(() => vi.unstubAllEnvs())

const nameFor = (target: string, option?: string | URL | false): string | undefined =>
  proxyFor(new URL(target), option)?.name

describe('the proxy of a connection', () => {
  it.each([
    ['https://a.example', 'tls:1'],
    ['wss://a.example', 'tls:1'],
    ['http://a.example', 'plain:2'],
    ['ws://a.example', 'plain:2'],
  ])('is that of the environment for %s', (target, expected) => {
    vi.stubEnv('HTTPS_PROXY', 'http://tls:1')
    vi.stubEnv('http_proxy', 'http://plain:2')
    expect(nameFor(target)).toBe(expected)
    const { protocol, host } = new URL(target)
    const isPlain = protocol === 'http:' || protocol === 'ws:'
    expect(proxyOfTarget({ address: host, isPlain })?.name).toBe(expected)
  })

  it.each([
    ['a.example', 'a.example', true],
    ['.example', 'a.example', true],
    ['*.example', 'a.example', true],
    ['*', 'a.example', true],
    ['b.example, a.example', 'a.example', true],
    ['a.example:443', 'a.example', true],
    ['a.example:8443', 'a.example:8443', true],
    ['A.Example', 'a.example', true],
    ['10.0.0.5', '10.0.0.5', true],
    ['[::1]', '[::1]', true],
    ['a.example:8443', 'a.example', false],
    ['example', 'a.example', false],
    ['a.example.com', 'a.example', false],
    ['10.0.0.0/8', '10.0.0.5', false],
  ])('is undefined if NO_PROXY is %s and the host is %s: %s, for every kind of connection', (list, host, isDirect) => {
    vi.stubEnv('HTTPS_PROXY', 'http://127.0.0.1:1')
    vi.stubEnv('NO_PROXY', list)
    const found = [
      nameFor(`https://${host}`),
      nameFor(`wss://${host}/recognizer`),
      proxyOfTarget({ address: host, isPlain: false })?.name,
      proxyOfTarget({ address: `dns:///${host}`, isPlain: false })?.name,
    ]
    expect(found).toEqual(found.map(() => (isDirect ? undefined : '127.0.0.1:1')))
  })

  it('is that of the option whatever the environment has, and undefined for false', () => {
    vi.stubEnv('HTTPS_PROXY', 'http://tls:1')
    vi.stubEnv('NO_PROXY', '*')
    expect(nameFor('https://a.example', 'http://mine:3128')).toBe('mine:3128')
    expect(nameFor('https://a.example', new URL('https://mine'))).toBe('mine:443')
    expect(nameFor('https://a.example', 'http://mine')).toBe('mine:80')
    vi.stubEnv('NO_PROXY', '')
    expect(nameFor('https://a.example', false)).toBeUndefined()
  })

  it('of the environment is not used for this machine unless the proxy is on this machine', () => {
    vi.stubEnv('ALL_PROXY', 'http://proxy.example:3128')
    for (const host of ['localhost:1', '127.0.0.1:1', '[::1]:1']) {
      expect([nameFor(`https://${host}`), nameFor(`ws://${host}`)]).toEqual([undefined, undefined])
      expect(proxyOfTarget({ address: host, isPlain: true })).toBeUndefined()
    }
    vi.stubEnv('ALL_PROXY', 'http://127.0.0.1:3128')
    expect([nameFor('https://localhost:1'), nameFor('ws://localhost:1')]).toEqual(['127.0.0.1:3128', '127.0.0.1:3128'])
    vi.stubEnv('NO_PROXY', 'localhost')
    expect(nameFor('https://localhost:1')).toBeUndefined()
  })

  it('on another machine is rejected for plain-text connections to this one', () => {
    for (const target of ['ws://localhost:1', 'http://127.0.0.1:1']) {
      expect(() => nameFor(target, 'http://proxy.example:3128')).toThrow(
        expect.objectContaining({ code: 'invalid-options' }),
      )
      expect(nameFor(target, 'http://localhost:3128')).toBe('localhost:3128')
    }
    expect(nameFor('wss://localhost:1', 'http://proxy.example:3128')).toBe('proxy.example:3128')
  })

  it('has its user and password apart from its address, and in no printed form', () => {
    const proxy = proxyFor(new URL('https://a.example'), 'http://us%40er:pa%3Ass@proxy.example:3128')
    expect(proxy?.credentials).toBe('us@er:pa:ss')
    expect(proxy && proxyHeaders(proxy)).toEqual({
      'Proxy-Authorization': `Basic ${Buffer.from('us@er:pa:ss').toString('base64')}`,
    })
    const printed = inspect([proxy?.url, proxy?.name])
    for (const part of ['us@er', 'us%40er', 'pa:ss', 'pa%3Ass']) expect(printed).not.toContain(part)
  })

  it.each([
    'proxy.example:3128',
    'socks5://proxy.example',
    'http://',
    'http://proxy.example/path',
    'http://p?q=1',
    5,
    true,
    null,
    '',
  ])('rejects %j', (given) => {
    expect(() => checkProxy(given)).toThrow(expect.objectContaining({ code: 'invalid-options' }))
  })

  it('is not printed when it is invalid, because it may contain a password', () => {
    for (const given of [
      'socks5://user:hidden-word@proxy.example',
      'http://user:hidden-word%@proxy.example',
      'hidden-word',
    ]) {
      let error: unknown
      try {
        checkProxy(given)
      } catch (caught) {
        error = caught
      }
      expect(error).toMatchObject({ code: 'invalid-options' })
      expect(inspect(error)).not.toContain('hidden-word@')
      expect((error as Error).message).not.toContain('hidden-word')
    }
  })

  it('is undefined for a gRPC target that is not a name, and must be http: for one that is', () => {
    for (const address of ['unix:/run/speech.sock', 'xds:speech']) {
      expect(proxyOfTarget({ address, isPlain: false, proxy: 'http://127.0.0.1:1' })).toBeUndefined()
    }
    expect(() => proxyOfTarget({ address: 'a.example', isPlain: false, proxy: 'https://proxy.example' })).toThrow(
      /http:\/\//,
    )
  })
})
