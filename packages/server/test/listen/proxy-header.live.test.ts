import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readProxyHeader } from '../../src/listen/proxy-header.js'
import { proxyHeader, proxyHeaderOf } from './http2-peer.js'

describe('a PROXY header', () => {
  it.each([
    ['IPv4', proxyHeaderOf('198.51.100.1'), { type: 'client', address: '198.51.100.1', lengthBytes: 28 }],
    ['IPv6', proxyHeaderOf('2001:db8::1'), { type: 'client', address: '2001:db8:0:0:0:0:0:1', lengthBytes: 52 }],
    [
      'additional values',
      proxyHeader(0x21, 0x11, Buffer.alloc(12 + 300, 1)),
      { type: 'client', address: '1.1.1.1', lengthBytes: 328 },
    ],
    ['LOCAL', proxyHeader(0x20, 0x00, Buffer.alloc(0)), { type: 'local', lengthBytes: 16 }],
    ['LOCAL with an ignored address', proxyHeader(0x20, 0x11, Buffer.alloc(12)), { type: 'local', lengthBytes: 28 }],
    ['an unknown family', proxyHeader(0x21, 0x00, Buffer.alloc(0)), { type: 'local', lengthBytes: 16 }],
    ['a UNIX socket', proxyHeader(0x21, 0x31, Buffer.alloc(216)), { type: 'local', lengthBytes: 232 }],
  ])('of %s is read, and later bytes are left unread', (_name, header, expected) => {
    expect(readProxyHeader(header)).toEqual(expected)
    expect(readProxyHeader(Buffer.concat([header, Buffer.from('GET / HTTP/1.1')]))).toEqual(expected)
    for (let length = 0; length < header.length; length += 1) {
      expect(readProxyHeader(header.subarray(0, length))).toEqual({ type: 'incomplete' })
    }
  })

  it.each([
    ['version 1', proxyHeader(0x11, 0x11, Buffer.alloc(12))],
    ['an unknown command', proxyHeader(0x22, 0x11, Buffer.alloc(12))],
    ['UDP', proxyHeader(0x21, 0x12, Buffer.alloc(12))],
    ['an address that is too short', proxyHeader(0x21, 0x11, Buffer.alloc(11))],
    ['an IPv6 address that is too short', proxyHeader(0x21, 0x21, Buffer.alloc(35))],
    ['more than two kilobytes', proxyHeader(0x21, 0x11, Buffer.alloc(2_049))],
  ])('with %s is malformed', (_name, header) => {
    expect(readProxyHeader(header)).toEqual({ type: 'malformed' })
  })

  it.each(['GET / HTTP/1.1\r\n', 'PRI * HTTP/2.0\r\n', '\x16\x03\x01', '\r\n\r\nGET', 'PROXY TCP4 1.1.1.1'])(
    'is absent in a text that begins with %j',
    (text) => {
      expect(readProxyHeader(Buffer.from(text, 'latin1'))).toEqual({ type: 'absent' })
    },
  )

  it('never throws, and never requests more bytes than its limit', () => {
    const signature = proxyHeader(0, 0, Buffer.alloc(0)).subarray(0, 12)
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2_200 }), (bytes) => {
        const { type } = readProxyHeader(Buffer.concat([signature, bytes]))
        expect(type === 'incomplete' && bytes.length > 2_052).toBe(false)
      }),
    )
  })
})
