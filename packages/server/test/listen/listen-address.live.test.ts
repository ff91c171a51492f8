import { describe, expect, it } from 'vitest'
import { checkPlainText, hostPort, listenError, withCertificate } from '../../../../src/transport/listen-address.js'

describe('an address to listen on', () => {
  it('is for loopback only without a certificate', () => {
    const certificate = { certificate: 'c', key: 'k' }
    for (const host of ['127.0.0.1', '127.8.8.8', 'localhost', 'LOCALHOST', '::1'])
      checkPlainText({ host, port: 0 }, undefined)
    for (const host of ['0.0.0.0', '::', '10.0.0.1', 'example.org', '127.0.0.1.example.org', '']) {
      expect(() => {
        checkPlainText({ host, port: 0 }, undefined)
      }).toThrow(expect.objectContaining({ code: 'invalid-options' }))
      checkPlainText({ host, port: 0 }, certificate)
    }
  })

  it('is printed as a client on this machine reaches it', () => {
    const shown = (host: string): string => hostPort({ host, port: 0 }, 8443)
    expect(['127.0.0.1', 'localhost', '::1', '0.0.0.0', '::'].map(shown)).toEqual([
      '127.0.0.1:8443',
      'localhost:8443',
      '[::1]:8443',
      '127.0.0.1:8443',
      '[::1]:8443',
    ])
  })

  it('is named when listening on it fails, with the reason', () => {
    const messageOf = (code: unknown): string =>
      listenError({ host: '::1', port: 80 }, Object.assign(new Error('inside'), { code })).message
    expect(messageOf('EADDRINUSE')).toBe('Cannot listen on [::1]:80: the port is in use.')
    expect(messageOf('EACCES')).toBe('Cannot listen on [::1]:80: the port is not allowed.')
    expect(messageOf('EADDRNOTAVAIL')).toBe('Cannot listen on [::1]:80: this machine has no such address.')
    expect(messageOf('EMFILE')).toBe('Cannot listen on [::1]:80: the system error EMFILE.')
    expect(messageOf(5)).toBe('Cannot listen on [::1]:80: the system error unknown.')
  })
})

describe('a certificate that TLS cannot use', () => {
  it('is rejected without the text of the TLS library', () => {
    const library = new Error('error:0909006C:PEM routines')
    const use = (): unknown =>
      withCertificate(() => {
        throw library
      })
    expect(use).toThrow(expect.objectContaining({ code: 'invalid-options', cause: library }))
    expect(use).not.toThrow(/PEM routines/)
  })
})
