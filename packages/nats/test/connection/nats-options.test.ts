import { describe, expect, it } from 'vitest'
import { checkNatsOptions, usesTls, type NatsOptions } from '../../src/connection/nats-options.js'

const refusal = (options: NatsOptions): string => {
  try {
    checkNatsOptions(options)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return 'accepted'
}

describe('the options of NATS', () => {
  it('accepts servers on loopback in plain text, and elsewhere with TLS', () => {
    expect(refusal({ servers: ['nats://127.0.0.1:4222', 'nats://localhost', 'nats://[::1]:4222'] })).toBe('accepted')
    expect(refusal({ servers: ['tls://nats-0:4222', 'tls://nats-1:4222'], user: 'edge', password: 'x' })).toBe(
      'accepted',
    )
  })

  it('refuses plain text beyond loopback unless it is permitted', () => {
    expect(refusal({ servers: ['nats://127.0.0.1', 'nats://nats-1:4222'] })).toContain('nats://nats-1:4222')
    expect(refusal({ servers: ['nats://nats-1:4222'], insecure: true })).toBe('accepted')
  })

  it.each([
    ['no server', []],
    ['another scheme', ['http://127.0.0.1']],
    ['no scheme', ['127.0.0.1:4222']],
    ['a path', ['nats://127.0.0.1/x']],
  ])('refuses %s', (_what, servers) => {
    expect(refusal({ servers })).toContain('servers must be')
  })

  it('refuses a password in an address without repeating it', () => {
    const message = refusal({ servers: ['nats://edge:hunter2@127.0.0.1'] })
    expect(message).toContain('servers must be')
    expect(message).not.toContain('hunter2')
  })

  it.each<[string, Partial<NatsOptions>, string]>([
    ['a user without a password', { user: 'edge' }, 'both a user and a password'],
    ['a password without a user', { password: 'x' }, 'both a user and a password'],
    ['credentials with a user', { credentials: 'x', user: 'edge', password: 'x' }, 'either credentials'],
    ['a certificate without a key', { certificate: 'x' }, 'certificate and its key'],
    ['a server without TLS beside a CA', { ca: 'x' }, 'must use tls://'],
  ])('refuses %s', (_what, options, sentence) => {
    expect(refusal({ servers: ['nats://127.0.0.1'], ...options })).toContain(sentence)
  })

  it('uses TLS for tls:// alone', () => {
    expect(usesTls({ servers: ['nats://127.0.0.1'] })).toBe(false)
    expect(usesTls({ servers: ['tls://127.0.0.1'] })).toBe(true)
  })
})
