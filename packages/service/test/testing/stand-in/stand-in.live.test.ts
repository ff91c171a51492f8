import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { lastValueFrom, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { recognize } from '../../../../../src/client/recognizer/recognize.js'
import { isSpeechError } from '../../../../../src/errors/speech-error.js'
import type { SessionEvent } from '../../../../../src/protocol/session-event.js'
import { transcribe } from './post-recording.js'
import { speech } from './raw-client.js'
import { standIn, type StandIn } from '../../../src/testing/stand-in/stand-in.js'
import { closedAfterEach } from './started.js'

const start = closedAfterEach()

const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

const own = (vendor: StandIn, chunks: readonly Uint8Array[], token = vendor.key): Promise<readonly SessionEvent[]> =>
  lastValueFrom(recognize({ url: vendor.wsUrl, model: 'any', token, format })(chunks).pipe(toArray()))

const finalOf = (events: readonly SessionEvent[]): string =>
  events.flatMap((event) => (event.type === 'final' ? [event.text] : [])).join('|')

const codeOf = (error: unknown): string => (isSpeechError(error) ? error.code : String(error))

describe('a stand-in', () => {
  it('answers a request with the words of the script, and knows which samples arrived', async () => {
    const vendor = await start({ dialect: 'openai', script: 'seven of clubs' })
    expect(await (await transcribe(vendor)).json()).toMatchObject({ text: 'seven of clubs' })
    const [session] = vendor.sessions
    const audio = Buffer.concat(speech(2_000))
    expect(session).toMatchObject({ kind: 'request', dialect: 'openai-transcriptions', isAccepted: true })
    expect(session?.audio.samples).toBe(16_000)
    expect(session?.audio.sha256).toBe(hashOf(audio))
    expect(session?.audio.hash(8_000, 12_000)).toBe(hashOf(audio.subarray(16_000, 24_000)))
    expect(() => session?.audio.hash(0, 16_001)).toThrow('There are samples 0 to 16000.')
    expect(session?.audio.finalizes).toMatchObject([{ sample: 16_000 }])
    const report = await fetch(`${vendor.url}/stand-in/sessions/1?from=8000&to=12000`)
    expect(await report.json()).toMatchObject({ isOpen: false, sha256: hashOf(audio.subarray(16_000, 24_000)) })
  })

  it('serves its own socket, with a script for each session in turn', async () => {
    const vendor = await start({ dialect: ['rxspeech', 'openai'], script: { sessions: ['one', 'two three'] } })
    expect(finalOf(await own(vendor, speech(1_000)))).toBe('one')
    expect(finalOf(await own(vendor, speech(1_000)))).toBe('two three')
    expect(vendor.sessions[1]?.audio.sha256).toBe(hashOf(Buffer.concat(speech(1_000))))
    expect(vendor.sessions[0]).toMatchObject({ kind: 'socket', dialect: 'rxspeech', isAccepted: true })
  })

  it('speaks only for the services that it was asked for, and says so', async () => {
    const vendor = await start({ dialect: 'openai' })
    const other = await fetch(`${vendor.url}/v1/listen`, { method: 'POST' })
    expect(other.status).toBe(404)
    expect(await other.text()).toContain('It stands for openai')
    const socket = new WebSocket(`${vendor.wsUrl}/recognizer`)
    const [error] = (await once(socket, 'error')) as [Error]
    expect(error.message).toContain('404')
    await expect(standIn({ dialect: 'acme' as 'openai' })).rejects.toThrow(/dialect must be/)
    await expect(standIn({ dialect: [] })).rejects.toThrow('dialect must name "deepgram", "openai" or "rxspeech".')
  })

  it('accepts every key, or only the given one', async () => {
    expect((await transcribe(await start({ dialect: 'openai' }), {}, 'anything')).status).toBe(200)
    const strict = await start({ dialect: ['openai', 'rxspeech'], key: 'secret-key' })
    expect((await transcribe(strict, {}, 'anything')).status).toBe(401)
    expect((await transcribe(strict)).status).toBe(200)
    expect(strict.env).toMatchObject({ OPENAI_BASE_URL: `${strict.url}/v1`, OPENAI_API_KEY: 'secret-key' })
    expect(await own(strict, speech(500), 'wrong').then(finalOf, codeOf)).toBe('unauthenticated')
  })
})
