import { readFileSync } from 'node:fs'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { requestToken } from '../../src/auth/request-token-in-browser.js'
import { recognize } from '../../src/client/recognizer/recognize-in-browser.js'
import * as node from '../../src/index.js'
import * as microphoneInNode from '../../src/microphone.js'

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
    expect(namesOf(built('microphone-browser.js'))).toEqual(Object.keys(microphoneInNode).sort())
    expect(built('microphone-browser.js')).not.toBe(built('microphone.js'))
  })

  it.each(['react', 'speech-recognition'])('runs sessions of browsers in rxspeech/%s', (name) => {
    const files = (text: string): readonly string[] => [...text.matchAll(/ from '(.*?)'/g)].map(([, file = '']) => file)
    const inBrowser = (file: string): string =>
      file.replace(/(recognizer\/recognize|microphone\/microphone)\.js$/, '$1-in-browser.js')
    expect(files(built(`${name}-browser.js`))).toEqual(files(built(`${name}.js`)).map(inBrowser))
    expect(built(`${name}-browser.js`)).not.toBe(built(`${name}.js`))
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

describe('the worklet of the microphone', () => {
  it('is one file without imports, and too large to become a data: URL, which a content security policy forbids', () => {
    const worklet = built('microphone/worklet.js')
    expect(worklet).not.toMatch(/^import |\bimport\(/m)
    expect(worklet).toContain("'rxspeech-microphone'")
    // The limit of Vite, `build.assetsInlineLimit`.
    expect(Buffer.byteLength(worklet)).toBeGreaterThan(4096)
  })

  it('is also a text, minified, for pages without the file', async () => {
    const { workletSource } = (await import(`${process.cwd()}/dist/esm/microphone/worklet-source.js`)) as {
      readonly workletSource: string
    }
    expect(workletSource).toContain('rxspeech-microphone')
    expect(workletSource).not.toMatch(/\/\*|sourceMappingURL/)
  })
})
