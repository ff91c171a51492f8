import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { asyncScheduler, lastValueFrom, throwError, toArray } from 'rxjs'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { requestToken } from '../../src/auth/request-token-in-browser.js'
import { failover } from '../../src/client/failover/failover.js'
import { recognize } from '../../src/client/recognizer/recognize-in-browser.js'
import * as captionsInNode from '../../src/captions.js'
import { SpeechError } from '../../src/errors/speech-error.js'
import * as node from '../../src/index.js'
import * as microphoneInNode from '../../src/microphone.js'
import type { Dial, SocketMessage } from '../../src/transport/link.js'
import type { WebSocketDialOptions } from '../../src/transport/websocket/dial.js'
import { plainRecognizer, scriptedService } from '../client/virtual-session.js'

const built = (file: string): string => readFileSync(`dist/esm/${file}`, 'utf8')
/** The names that a module exports. */
const namesOf = (text: string): readonly string[] =>
  [...text.matchAll(/^export \{(.*?)\}/gms)]
    .flatMap(([, names = '']) => names.split(',').map((name) => name.trim()))
    .filter((name) => name !== '')
    .sort()
/** The files that a module imports. */
const filesOf = (text: string): readonly string[] => [...text.matchAll(/ from "(.*?)"/g)].map(([, file = '']) => file)

describe('the entry point for browsers', () => {
  it.each([
    ['browser.js', node, ['recognizer/recognize', 'auth/request-token']],
    ['captions-browser.js', captionsInNode, ['captions/write-to']],
    ['microphone-browser.js', microphoneInNode, ['microphone/microphone', 'microphone/command-microphone']],
  ])('has the names of the one in Node, and its own files: %s', (file, inNode, platformFiles) => {
    const text = built(file)
    expect(namesOf(text)).toEqual(Object.keys(inNode).sort())
    for (const platformFile of platformFiles) {
      expect(filesOf(text)).toContainEqual(expect.stringMatching(`/${platformFile}-in-browser.js$`))
      expect(filesOf(text)).not.toContainEqual(expect.stringMatching(`/${platformFile}.js$`))
    }
  })

  it.each([
    ['ai-sdk', ['client/recognizer/recognize']],
    ['react', ['client/recognizer/recognize', 'microphone/microphone']],
    ['speech-recognition', ['client/recognizer/recognize', 'microphone/microphone']],
  ])('runs sessions of browsers in rxspeech/%s', (name, platformFiles) => {
    const files = filesOf(built(`${name}-browser.js`))
    for (const file of platformFiles) expect(files).toContain(`./${file}-in-browser.js`)
    expect(files.filter((file) => /(?:recognizer\/recognize|microphone\/microphone)\.js$/.test(file))).toEqual([])
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

  it('runs two channels as one session each, and moves a session to the next of several addresses', async () => {
    const service = scriptedService<SocketMessage>(asyncScheduler, [plainRecognizer(0)])
    const stereo = { encoding: 'pcm', sampleRateHz: 8000, channels: 2 } as const
    const dialed: string[] = []
    const dial = (options: WebSocketDialOptions): Dial<SocketMessage, SocketMessage> => {
      const { host } = new URL(options.url)
      dialed.push(`${host} ${options.channel ?? ''}`)
      return host === 'a.example.com' ? throwError(() => new SpeechError('connection-failed', 'Away.')) : service.dial()
    }
    const urls = ['wss://a.example.com', 'wss://b.example.com']
    const options = { token: 't', model: 'm', format: stereo, testing: { dial } }
    const session = failover(urls.map((url) => recognize({ ...options, url })))
    const events = await lastValueFrom(session([new Uint8Array(640)]).pipe(toArray()))
    const finals = events.flatMap((event) => (event.type === 'final' ? `${String(event.channel)} ${event.text}` : []))
    expect(finals.toSorted()).toEqual(['0 hello', '1 hello'])
    expect(dialed.toSorted()).toEqual(['a.example.com 0', 'b.example.com 0', 'b.example.com 1'])
  })
})

describe('the entry points in Node', () => {
  it('have one build, so that an error of one is an instance of the class of another', async () => {
    const { SpeechError } = (await import('rxspeech')) as typeof node
    const { dataflow } = await import('rxspeech/grpc')
    const { SpeechError: required } = createRequire(`${process.cwd()}/`)('rxspeech') as typeof node
    expect(() => dataflow({} as Parameters<typeof dataflow>[0])).toThrow(SpeechError)
    expect(required).toBe(SpeechError)
  })
})

describe('the worklet of the microphone', () => {
  it('is one file without imports, and too large to become a data: URL, which a content security policy forbids', () => {
    const worklet = built('microphone/worklet.js')
    expect(worklet).not.toMatch(/^import |\bimport\(/m)
    expect(worklet).toContain("'rxspeech-microphone'")
    // The package has no map, for which bundlers and browsers would look.
    expect(worklet).not.toContain('sourceMappingURL')
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
