import { readFileSync } from 'node:fs'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { requestToken } from '../../src/auth/request-token-in-browser.js'
import { recognize } from '../../src/client/recognizer/recognize-in-browser.js'
import * as node from '../../src/index.js'

const built = (file: string): string => readFileSync(`dist/esm/${file}`, 'utf8')
/** The names that a module exports. */
const namesOf = (text: string): readonly string[] =>
  [...text.matchAll(/^export \{(.*?)\}/gms)]
    .flatMap(([, names = '']) => names.split(',').map((name) => name.trim()))
    .filter((name) => name !== '')
    .sort()

describe('the entry point for browsers', () => {
  it('has the names of the one in Node', () => {
    expect(namesOf(built('browser.js'))).toEqual(Object.keys(node).sort())
    expect(built('browser.js')).not.toBe(built('index.js'))
  })

  it('has the types of the one in Node', () => {
    expectTypeOf(recognize).toEqualTypeOf<typeof node.recognize>()
    expectTypeOf(requestToken).toEqualTypeOf<typeof node.requestToken>()
  })

  it('rejects a token request, for which a page would need a secret, and explains what to do', () => {
    const options = { authUrl: 'https://localhost', clientId: 'c', clientSecret: 'secret-secret' }
    expect(() => requestToken(options)).toThrow(
      expect.objectContaining({ code: 'invalid-options', message: expect.stringContaining('your server') as string }),
    )
  })

  it('rejects stereo, which a page does not support, and explains what to do', () => {
    const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 2 } as const
    expect(() => recognize({ url: 'wss://localhost', token: 't', model: 'm', format })).toThrow(
      expect.objectContaining({ code: 'invalid-format', message: expect.stringContaining('deinterleave') as string }),
    )
  })
})
