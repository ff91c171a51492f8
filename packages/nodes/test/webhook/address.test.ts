import { describe, expect, it } from 'vitest'
import { isPrivateAddress, isLoopbackUrl, pinAddress } from '../../src/webhook/address.js'

const answering =
  (...addresses: readonly string[]) =>
  () =>
    Promise.resolve(addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })))

describe('isPrivateAddress', () => {
  it.each([
    ...[
      '127.0.0.1',
      '10.1.2.3',
      '172.16.0.1',
      '172.31.255.255',
      '192.168.1.1',
      '169.254.169.254',
      '100.64.0.1',
      '0.0.0.0',
    ],
    ...[
      '224.0.0.1',
      '255.255.255.255',
      '198.18.0.1',
      '192.0.2.1',
      '::1',
      '::',
      'fe80::1',
      'fc00::1',
      'fd12::1',
      'ff02::1',
    ],
    ...['::ffff:127.0.0.1', '::ffff:8.8.8.8', '64:ff9b::a00:1', '2002:7f00:1::', '2001:0:1::', '2001:db8::1', 'x', ''],
  ])('is true for %s', (address) => {
    expect(isPrivateAddress(address)).toBe(true)
  })
  it.each(['8.8.8.8', '172.32.0.1', '100.128.0.1', '192.169.0.1', '2606:4700::1', '2a00:1450::1'])(
    'is false for %s',
    (address) => {
      expect(isPrivateAddress(address)).toBe(false)
    },
  )
})

describe('pinAddress', () => {
  it('returns the address that was checked', async () => {
    const url = new URL('https://example.org/')
    expect(await pinAddress(url, false, answering('8.8.8.8', '2606:4700::1'))).toEqual({
      address: '8.8.8.8',
      family: 4,
    })
    expect(await pinAddress(new URL('https://[2606:4700::1]/'), false)).toEqual({ address: '2606:4700::1', family: 6 })
  })

  it('rejects a host with one private address among others, in any notation', async () => {
    await expect(
      pinAddress(new URL('https://example.org/'), false, answering('8.8.8.8', '10.0.0.1')),
    ).rejects.toMatchObject({
      code: 'refused',
    })
    for (const host of ['127.0.0.1', '0x7f.1', '2130706433', '[::1]', '[::ffff:10.0.0.1]', '169.254.169.254']) {
      await expect(pinAddress(new URL(`https://${host}/`), false)).rejects.toMatchObject({ code: 'refused' })
    }
  })

  it('accepts private addresses if they are allowed, and without TLS only this machine', async () => {
    const inside = answering('10.0.0.1')
    expect(await pinAddress(new URL('https://intranet/'), true, inside)).toEqual({ address: '10.0.0.1', family: 4 })
    await expect(pinAddress(new URL('http://localhost/'), true, inside)).rejects.toMatchObject({ code: 'refused' })
    expect(await pinAddress(new URL('http://localhost/'), true, answering('::1'))).toEqual({
      address: '::1',
      family: 6,
    })
  })

  it('reports that a host is unknown', async () => {
    const url = new URL('https://example.org/')
    await expect(pinAddress(url, false, () => Promise.reject(new Error('ENOTFOUND')))).rejects.toMatchObject({
      code: 'connection-failed',
    })
    await expect(pinAddress(url, false, answering())).rejects.toMatchObject({ code: 'connection-failed' })
  })
})

describe('isLoopbackUrl', () => {
  it('recognizes this machine by name and address', () => {
    const loopback = ['http://localhost/', 'http://127.9.9.9/', 'http://[::1]/']
    expect(loopback.map((url) => isLoopbackUrl(new URL(url)))).toEqual([true, true, true])
    const others = ['http://localhost.example.org/', 'http://10.0.0.1/']
    expect(others.map((url) => isLoopbackUrl(new URL(url)))).toEqual([false, false])
  })
})
