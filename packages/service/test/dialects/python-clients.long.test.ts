import { describe, expect, it } from 'vitest'
import { installPythonClients } from './client-programs.js'
import { ClientTests } from './client-service.js'

// Clients that others wrote, unmodified, of PyPI; each program in `clients` prints what its steps have.

const tests = new ClientTests(installPythonClients)

describe('a client of PyPI', () => {
  it('openai sends recordings, lists models, and tries again while the service is full', async () => {
    const steps = await tests.run('openai_transcriptions.py')
    const { text } = tests.service
    expect(steps).toMatchObject({
      json: text,
      text: `${text}\n`,
      srt: expect.stringMatching(/^1\n00:00:00,\d{3} --> .*\ngood evening/) as unknown,
      vtt: expect.stringMatching(/^WEBVTT\n\n1\n00:00:00\.\d{3} --> .*\ngood evening/) as unknown,
      verbose_json: { text, segments: text, words: text },
      events: { deltas: text, done: text },
      models: expect.arrayContaining(['call']) as unknown,
      'an option': { code: 'unsupported_parameter', param: 'prompt', hasId: true },
      'a wrong key': { status: 401, code: 'unauthenticated' },
    })
  })

  it("LiveKit's plugin for OpenAI sends recordings", async () => {
    const steps = await tests.run('livekit_openai.py')
    expect(steps).toMatchObject({ 'a frame': tests.service.text, 'a wrong key': { status: 401, retryable: false } })
  })

  it("Pipecat's service for OpenAI sends segments of speech", async () => {
    const steps = await tests.run('pipecat_openai.py')
    expect(steps).toMatchObject({
      'a segment': { text: tests.service.text, errors: [] },
      'a wrong key': { text: '', errors: [expect.stringContaining('401 - The token is not valid') as unknown] },
    })
  })

  it('deepgram-sdk transcribes, and raises its own errors', async () => {
    const { text } = tests.service
    const stream = { text, code: 1000, metadata: 1 }
    expect(await tests.run('deepgram_listen.py')).toMatchObject({
      'a full service': { status: 429 },
      'a stream': stream,
      'a stream with an access token': stream,
      'a wrong key': { status: 401 },
      'a recording': { text, words: text, utterances: text },
      'an option': { status: 400, code: 'INVALID_QUERY_PARAMETER' },
      sessions: 3,
    })
  })

  it("LiveKit's plugin for Deepgram transcribes, and does not connect again after the close", async () => {
    expect(await tests.run('livekit_deepgram.py', 'run')).toMatchObject({
      'a stream': { text: tests.service.text, hasSpeech: true, isEven: true },
      'a wrong key': { status: 401, retryable: false },
      sessions: 1,
    })
  })

  it("Pipecat's service for Deepgram transcribes, and does not connect again after the close", async () => {
    expect(await tests.run('pipecat_deepgram.py', 'run')).toMatchObject({
      'a stream': { text: tests.service.text, errors: [] },
      sessions: 1,
    })
  })

  it('openai transcribes live audio, and is refused with the error of its WebSocket', async () => {
    const { text } = tests.service
    expect(await tests.run('openai_realtime.py')).toMatchObject({
      'a full service': { error: expect.stringMatching(/^InvalidStatus: .*429/) as unknown },
      'a commit': { text, isPrefix: true },
      speech: text,
      'an option': { code: 'unsupported_parameter', param: 'session.audio.input.transcription.prompt' },
      'a wrong key': { error: expect.stringMatching(/^InvalidStatus: .*401/) as unknown },
    })
  })

  it("LiveKit's plugin for OpenAI transcribes live audio", async () => {
    expect(await tests.run('livekit_openai_realtime.py', 'run')).toMatchObject({
      'a stream': { text: tests.service.text, hasSpeech: true, isEven: true },
      sessions: 1,
    })
  })

  it("Pipecat's service for OpenAI transcribes live audio, committed by itself and by the service", async () => {
    const { text } = tests.service
    expect(await tests.run('pipecat_openai_realtime.py', 'run')).toMatchObject({
      'a segment': { text, errors: [] },
      speech: { text, hasSpeech: true, errors: [] },
      sessions: 2,
    })
  })
})

describe('a client of PyPI', () => {
  tests.hearPeople([
    ['openai_realtime.py', 'speech'],
    ['livekit_openai_realtime.py', 'a stream'],
    ['pipecat_openai_realtime.py', 'speech'],
    ['deepgram_listen.py', 'a stream'],
    ['livekit_deepgram.py', 'a stream'],
  ])
})

describe('a recipe', () => {
  it('of pytest tests an app with a stand-in', async () => {
    expect(await tests.clients.output(['-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'test_app.py'], {})).toContain(
      '1 passed',
    )
  })

  it('of a LiveKit agent hears each turn of its user on this machine', async () => {
    const access = await tests.service.newAccess()
    const hear = (): Promise<string> => tests.clients.output(['agent_stt.py', access['RECORDING'] ?? ''], access)
    // LiveKit's native runtime sometimes panics, which is not what is tested.
    const turns = await hear().catch((error: unknown) => {
      if (!String(error).includes('panic in a function that cannot unwind')) throw error
      return hear()
    })
    // Some follow so fast, four times as fast as they were spoken, that they are one for the agent.
    expect(turns.trimEnd().split('\n').length).toBeGreaterThan(1)
    expect(turns.trimEnd().split('\n').join(' ')).toBe(tests.service.text)
  })
})
