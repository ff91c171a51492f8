import { describe, expect, it } from 'vitest'
import { parseNetwork, TrustedProxies } from '../../src/listen/trusted-proxies.js'

describe('trusted proxies', () => {
  const proxies = new TrustedProxies(['10.0.0.0/8', '192.0.2.7', '2001:db8:1::/48', '::ffff:172.16.0.0/108'])

  it.each([
    ['10.255.0.1', true],
    ['11.0.0.1', false],
    ['::ffff:10.0.0.1', true],
    ['::ffff:a00:1', true],
    ['192.0.2.7', true],
    ['192.0.2.8', false],
    ['2001:DB8:1::5', true],
    ['2001:db8:2::5', false],
    ['172.16.3.4', true],
    ['172.32.0.1', false],
    ['fe80::1%eth0', false],
    ['unknown', false],
  ])('include %s: %s', (address, isTrusted) => {
    expect(proxies.has(address)).toBe(isTrusted)
  })

  it.each<readonly [string, string | undefined, string]>([
    ['10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['10.0.0.1', '203.0.113.9, 198.51.100.1', '198.51.100.1'],
    ['10.0.0.1', '203.0.113.9, 198.51.100.1, 10.2.3.4 ,192.0.2.7', '198.51.100.1'],
    ['10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
    ['10.0.0.1', '[2001:db8:2::1]:4711', '2001:db8:2::1'],
    ['10.0.0.1', '::ffff:198.51.100.1', '198.51.100.1'],
    ['10.0.0.1', '10.9.9.9, 10.8.8.8', '10.9.9.9'],
    ['10.0.0.1', '203.0.113.9, 198.51.100.1, 10.2.3.4:80', '198.51.100.1'],
    ['10.0.0.1', '198.51.100.1, garbage', '10.0.0.1'],
    ['10.0.0.1', '198.51.100.1,,10.2.3.4', '10.2.3.4'],
    ['10.0.0.1', '198.51.100.1, fe80::1%eth0', 'fe80::1'],
    ['10.0.0.1', '', '10.0.0.1'],
    ['10.0.0.1', undefined, '10.0.0.1'],
    ['203.0.113.1', '198.51.100.1', '203.0.113.1'],
  ])('attribute a request from %s with X-Forwarded-For %s to %s', (from, forwardedFor, client) => {
    expect(proxies.clientOf(from, forwardedFor)).toBe(client)
  })

  it.each(['10.0.0.0/33', '10.0.0/8', 'balancer', '10.0.0.0/-1', '2001:db8::/129', '::ffff:10.0.0.0/95', ''])(
    'reject %j by its name',
    (text) => {
      expect(parseNetwork(text)).toBeUndefined()
      expect(() => new TrustedProxies([text])).toThrow(JSON.stringify(text))
    },
  )
})
