import { describe, expect, it } from 'vitest'
import { presentToken } from '../../../src/client/recognizer/present-token.js'
import { recognizerUrl, type RecognizerUrlOptions } from '../../../src/client/recognizer/address.js'
import { codeThrownBy } from '../../operators/marbles.js'

const url = (base: string, more: Partial<RecognizerUrlOptions> = {}): string =>
  recognizerUrl({ url: base, model: 'A model/ü', ...more })

describe('the address of the recognition socket', () => {
  it.each([
    ['wss://speech.example.com', 'wss://speech.example.com/recognizer?ModelName=A+model%2F%C3%BC'],
    ['wss://speech.example.com/', 'wss://speech.example.com/recognizer?ModelName=A+model%2F%C3%BC'],
    ['wss://h:8443/own/path?x=1#part', 'wss://h:8443/own/path?x=1&ModelName=A+model%2F%C3%BC'],
    ['wss://h?ModelName=given', 'wss://h/recognizer?ModelName=given'],
    ['ws://localhost:1', 'ws://localhost:1/recognizer?ModelName=A+model%2F%C3%BC'],
    ['ws://127.0.0.1', 'ws://127.0.0.1/recognizer?ModelName=A+model%2F%C3%BC'],
    ['ws://[::1]', 'ws://[::1]/recognizer?ModelName=A+model%2F%C3%BC'],
  ])('of %s is %s', (base, expected) => {
    expect(url(base)).toBe(expected)
  })

  it('omits the model on request', () => {
    expect(url('wss://h', { appendModelName: false })).toBe('wss://h/recognizer')
  })

  it('has no token in clear text to another host, unless it is allowed', () => {
    for (const base of ['ws://h', 'ws://127.0.0.1.evil.example', 'ws://localhost.evil.example', 'ws://10.0.0.1']) {
      expect(codeThrownBy(() => url(base))).toBe('invalid-options')
      expect(url(base, { insecure: true })).toContain('ws://')
    }
  })

  it.each(['', 'h', 'https://h', 'file:///x', 'wss:'])('rejects "%s" by name', (base) => {
    expect(codeThrownBy(() => url(base))).toBe('invalid-options')
  })
})

describe('the token on the socket', () => {
  it('is placed as configured', () => {
    const headers = { Authorization: 'Bearer T' }
    expect(presentToken('wss://h/', 'T')).toEqual({ url: 'wss://h/', headers })
    expect(presentToken('wss://h/', 'T', 'header')).toEqual({ url: 'wss://h/', headers })
    expect(presentToken('wss://h/', 'T', 'subprotocol')).toEqual({
      url: 'wss://h/',
      protocols: ['rxspeech', 'bearer.T'],
    })
    expect(presentToken('wss://h/?a=1', 'T&b', 'query')).toEqual({ url: 'wss://h/?a=1&access_token=T%26b' })
    expect(presentToken('wss://h/', 'T', (url, token) => ({ url: `${url}${token}` }))).toEqual({ url: 'wss://h/T' })
  })

  it('is sent as subprotocol in a browser, which cannot set headers', () => {
    const { process } = globalThis
    try {
      Object.defineProperty(globalThis, 'process', { value: undefined, configurable: true })
      expect(presentToken('wss://h/', 'T').protocols).toEqual(['rxspeech', 'bearer.T'])
    } finally {
      Object.defineProperty(globalThis, 'process', { value: process, configurable: true })
    }
  })

  it('is invalid-options when a function of the user fails', () => {
    const failing = (): never => {
      throw new Error('mine')
    }
    expect(codeThrownBy(() => presentToken('wss://h/', 'T', failing))).toBe('invalid-options')
  })
})
