import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { installNodeClients } from './client-programs.js'
import { ClientTests } from './client-service.js'

// Clients that others wrote, unmodified, of npm; each program in `clients` prints what its steps have.

const { turns } = JSON.parse(readFileSync('samples/call.json', 'utf8')) as {
  readonly turns: readonly { readonly text: string }[]
}

const tests = new ClientTests(installNodeClients)

describe('a client of npm', () => {
  it('openai sends recordings, lists models, and tries again while the service is full', async () => {
    const steps = await tests.run('openai-transcriptions.mjs')
    const { text } = tests.service
    expect(steps).toMatchObject({
      'a stream': text,
      'a file': text,
      text: `${text}\n`,
      srt: expect.stringMatching(/^1\n00:00:00,\d{3} --> .*\ngood evening/) as unknown,
      vtt: expect.stringMatching(/^WEBVTT\n\n1\n00:00:00\.\d{3} --> .*\ngood evening/) as unknown,
      verbose_json: { text, segments: text, words: text },
      events: { deltas: text, done: text },
      models: expect.arrayContaining(['call']) as unknown,
      'a wrong key': { isTyped: true, status: 401, code: 'unauthenticated', hasId: true },
      'an option': { isTyped: true, status: 400, code: 'unsupported_parameter', param: 'prompt' },
      'no recording': { isTyped: true, status: 400, code: 'invalid_audio', param: 'file' },
    })
  })

  it('ai 7 reads recordings with @ai-sdk/openai, @ai-sdk/deepgram and rxspeech/ai-sdk', async () => {
    const steps = await tests.run('ai-sdk.mjs')
    const { text } = tests.service
    expect(steps).toMatchObject({
      openai: { text, segments: text },
      'openai, another model': { text },
      'openai, a wrong key': {
        isTyped: true,
        isRetryable: false,
        message: expect.stringMatching(/^The token/) as unknown,
      },
      deepgram: { text, segments: text },
      'deepgram, a wrong key': {
        isTyped: true,
        isRetryable: false,
        message: expect.stringMatching(/^The token/) as unknown,
      },
      rxspeech: { text, segments: text },
      'rxspeech, a wrong key': { isTyped: true, isRetryable: false },
      'openai, live': { deltas: text, finals: text },
      'rxspeech, live': { finals: text, partials: expect.toSatisfy((count: number) => count > 7) as unknown },
    })
  })

  it('ai 6 reads recordings with rxspeech/ai-sdk, and tries again while the service is full', async () => {
    const steps = await tests.run('ai-sdk-6.mjs')
    expect(steps).toMatchObject({
      rxspeech: tests.service.text,
      'rxspeech, a wrong key': { isTyped: true, isRetryable: false },
    })
  })

  it('openai transcribes live audio over TLS, and is refused with its own error', async () => {
    const { text } = tests.service
    expect(await tests.run('openai-realtime.mjs')).toMatchObject({
      'a full service': { name: 'OpenAIRealtimeError', message: expect.stringContaining('429') as unknown },
      'a commit': { text, deltas: text, items: 1 },
      turns: { text, deltas: text, items: 7 },
      'a wrong key': { name: 'OpenAIRealtimeError', message: expect.stringContaining('401') as unknown },
      sessions: 2,
    })
  })

  it('@openai/agents-realtime transcribes live audio in a session without answers', async () => {
    const { text } = tests.service
    expect(await tests.run('agents-realtime.mjs')).toMatchObject({
      'a full service': expect.stringContaining('429') as unknown,
      turns: { text, retrieved: text, errors: [] },
      'a wrong key': expect.stringContaining('401') as unknown,
      sessions: 1,
    })
  })

  it('@deepgram/sdk 5 transcribes, does not connect again after the close, and sends a recording again to a full service', async () => {
    const { text } = tests.service
    const stream = { text, code: 1000, metadata: 1, hasInterims: true, opens: 1, errors: [] }
    expect(await tests.run('deepgram.mjs')).toMatchObject({
      'a full service': text,
      'a stream': stream,
      'a WAV file as a stream': { ...stream, hasInterims: false },
      'a wrong key': {
        text: '',
        opens: 0,
        errors: expect.arrayContaining(['Unexpected server response: 401']) as unknown,
      },
      'a recording': { text, words: text, utterances: text, hasId: true },
      'an option': { isTyped: true, status: 400, code: 'INVALID_QUERY_PARAMETER' },
      'an address': { isTyped: true, status: 400 },
      'a recording with a wrong key': { isTyped: true, status: 401, code: 'INVALID_AUTH' },
      sessions: 4,
    })
  })

  it('@deepgram/sdk 4 transcribes with the WebSocket of Node', async () => {
    const { text } = tests.service
    expect(await tests.run('deepgram-4.mjs')).toMatchObject({
      'a full service': { name: 'DeepgramApiError', status: 429 },
      'a stream': { text, metadata: 1, errors: 0, code: 1000 },
      'a wrong key': { text: '', errors: 1 },
      'a recording': text,
      'a recording with a wrong key': { name: 'DeepgramApiError', status: 401 },
      sessions: 2,
    })
  })

  it("LiveKit's plugins transcribe, and do not connect again after the close", async () => {
    const { text } = tests.service
    expect(await tests.run('livekit.mjs', 'run')).toMatchObject({
      'deepgram, live': { text, starts: 7, errors: [] },
      'openai, live': { text, starts: 7, errors: [] },
      'openai, a recording': text,
      'deepgram, a recording': text,
      'deepgram, a wrong key': { text: '', errors: [expect.stringMatching(/^APIStatusError: .*401/) as unknown] },
      sessions: 4,
    })
  })
})

describe('a client of npm', () => {
  tests.hearPeople([
    ['openai-realtime.mjs', 'turns'],
    ['agents-realtime.mjs', 'turns'],
    ['ai-sdk.mjs', 'openai, live'],
    ['livekit.mjs', 'openai, live'],
    ['livekit.mjs', 'deepgram, live'],
    ['deepgram.mjs', 'a stream'],
  ])
})

describe('a recipe', () => {
  it.each([
    ['of a Deepgram app', 'deepgram.test.mjs', 2],
    ['of an OpenAI realtime app', 'realtime.test.mjs', 1],
  ])('%s tests it with a stand-in: %s', async (_app, file, count) => {
    const printed = await tests.clients.output(['--test', '--test-reporter=tap', file], {})
    expect(printed).toContain(`# pass ${count}\n`)
  })

  it('of the AI SDK transcribes a recording and live audio', async () => {
    const access = await tests.service.newAccess()
    const lines = (await tests.clients.output(['transcribe.mjs', 'samples/call.wav', 'call'], access))
      .trimEnd()
      .split('\n')
    expect(lines.slice(0, -1).map((line) => line.replace(/^[\d.]+ /, ''))).toEqual(turns.map(({ text }) => text))
    expect(lines.at(-1)).toBe('2 channels, 33 s')
    const live = (await tests.clients.output(['stream.mjs', access['RECORDING'] ?? '', 'call'], access))
      .trimEnd()
      .split('\n')
    expect(live.map((line) => line.replace(/^[\d.]+ /, '')).join(' ')).toBe(tests.service.text)
  })
})
