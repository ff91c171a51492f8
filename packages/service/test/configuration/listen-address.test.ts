import { describe, expect, it } from 'vitest'
import { parseListenAddress } from '../../src/configuration/listen-address.js'

describe('an address to listen on', () => {
  it.each([
    ['127.0.0.1:0', '127.0.0.1', 0],
    ['localhost:8443', 'localhost', 8443],
    ['[::1]:443', '::1', 443],
    ['0.0.0.0:65535', '0.0.0.0', 65_535],
  ])('reads %s', (text, host, port) => {
    expect(parseListenAddress(text)).toEqual({ host, port })
  })

  it.each([
    '',
    '8443',
    ':8443',
    'localhost',
    'localhost:',
    'localhost:65536',
    '::1:443',
    '[::1]',
    'a b:1',
    'a:-1',
    'http://a:1',
  ])('rejects %j and shows the correct form', (text) => {
    expect(() => parseListenAddress(text)).toThrow(/write HOST:PORT/)
  })
})
