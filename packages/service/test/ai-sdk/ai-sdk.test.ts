import { readFile } from 'node:fs/promises'
import { NEVER } from 'rxjs'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { createRxspeech, type RxspeechOptions, type TranscriptionStreamPart } from '../../../../src/ai-sdk.js'
import { deinterleaveChannels } from '../../../../src/audio/channels.js'
import { decodeMuLaw } from '../../../../src/audio/g711.js'
import { bytesOf } from '../../../../src/audio/pcm.js'
import { inMemoryService, type InMemoryService } from '../../src/testing/in-memory-service.js'
import { scriptedEngine } from '../../src/testing/scripted-engine.js'

const services: InMemoryService[] = []
afterEach(async () => {
  for (const service of services.splice(0)) await service.close()
})

let wav: Buffer
beforeAll(async () => {
  wav = await readFile('samples/call.wav')
})

const modelOf = (options: Partial<RxspeechOptions> = {}, texts: readonly string[] = ['one two', 'three']) => {
  const service = inMemoryService({ engine: scriptedEngine({ texts }) })
  services.push(service)
  const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
  const { url, token, testing } = service.recognizer({ format })
  return { service, model: createRxspeech({ url, token, testing, ...options }).transcription('scripted') }
}

/** The first 5 seconds of the first speaker: one sentence, in µ-law, and as PCM at a multiple of 8 kHz. */
const sentence = (): Uint8Array => deinterleaveChannels(wav.subarray(58, 58 + 80_000), 1)[0]
const sentenceAt = (rateHz: number): Uint8Array =>
  bytesOf(Int16Array.from([...decodeMuLaw(sentence())].flatMap((sample) => Array<number>(rateHz / 8000).fill(sample))))

const streamOf = <T>(...chunks: readonly T[]): ReadableStream<T> =>
  new ReadableStream({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })

const partsOf = async (stream: ReadableStream<TranscriptionStreamPart>): Promise<TranscriptionStreamPart[]> => {
  const parts: TranscriptionStreamPart[] = []
  for await (const part of stream) parts.push(part)
  return parts
}

describe('a recording', () => {
  it('becomes text, segments in the order of their times, and its duration', async () => {
    const { model } = modelOf()
    const result = await model.doGenerate({ audio: wav, mediaType: 'audio/wav' })
    expect(model).toMatchObject({ specificationVersion: 'v4', provider: 'rxspeech', modelId: 'scripted' })
    const [first, second] = result.text.split('\n')
    expect(first).toMatch(/^one two three/)
    expect(second).toMatch(/^one two three/)
    expect(result.segments.map(({ text }) => text).toSorted()).toEqual(
      expect.arrayContaining(['one two', 'one two', 'three', 'three']),
    )
    const starts = result.segments.map(({ startSecond }) => startSecond)
    expect(starts).toEqual(starts.toSorted((a, b) => a - b))
    expect(result.durationInSeconds).toBeCloseTo((wav.length - 58) / 16_000, 1)
    expect(result.usage).toEqual({ seconds: result.durationInSeconds })
    expect(result).toMatchObject({ warnings: [], language: undefined, response: { modelId: 'scripted' } })
    expect(result.words?.[0]).toMatchObject({ text: 'one' })
  })

  it('may come in base64, with an option of the call', async () => {
    const { model } = modelOf()
    const call = { audio: wav.toString('base64'), mediaType: 'audio/wav' }
    expect((await model.doGenerate(call)).text).toMatch(/^one two three/)
    const inFrench = { ...call, providerOptions: { rxspeech: { language: 'fr-CA' }, other: { language: 7 } } }
    await expect(model.doGenerate(inFrench)).rejects.toMatchObject({
      code: 'invalid-field',
      message: expect.stringContaining('fr') as unknown,
    })
  })

  it('of another format is refused with what to do', async () => {
    const { model } = modelOf()
    const mp3 = Buffer.from('ID3\u0004 and the rest of the file')
    await expect(model.doGenerate({ audio: mp3, mediaType: 'audio/mpeg' })).rejects.toMatchObject({
      code: 'invalid-wav',
      message: expect.stringMatching(/MP3.*ffmpeg/) as unknown,
    })
  })

  it.each([
    ['an option that is unknown', { providerOptions: { rxspeech: { langage: 'en' } } }, /langage.*language/],
    ['an option of the provider', { providerOptions: { rxspeech: { url: 'ws://other' } } }, /url/],
    ['a header', { headers: { 'user-agent': 'ai', 'x-tenant': 'a' } }, /headers\.x-tenant.*presentToken/],
  ])('refuses %s by its name', async (_case, call, message) => {
    const { model } = modelOf()
    await expect(model.doGenerate({ audio: wav, mediaType: 'audio/wav', ...call })).rejects.toMatchObject({
      code: 'invalid-options',
      message: expect.stringMatching(message) as unknown,
    })
  })

  it('is aborted with the reason of the signal', async () => {
    const { model } = modelOf()
    const reason = new Error('enough')
    const call = { audio: wav, mediaType: 'audio/wav', headers: { 'user-agent': 'ai' } }
    await expect(model.doGenerate({ ...call, abortSignal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  })
})

describe('live audio', () => {
  it.each([
    ['audio/pcm', 24_000, () => sentenceAt(24_000)],
    ['audio/pcmu', undefined, sentence],
    ['audio/pcm', 16_000, () => Buffer.from(sentenceAt(16_000)).toString('base64')],
  ] as const)('of %s at %s Hz becomes partials, finals and a finish', async (type, rate, audioOf) => {
    const { model } = modelOf({}, ['one two'])
    const { stream } = await model.doStream({
      audio: streamOf<Uint8Array | string>(audioOf()),
      inputAudioFormat: { type, ...(rate !== undefined && { rate }) },
    })
    const parts = await partsOf(stream)
    expect(parts[0]).toEqual({ type: 'stream-start', warnings: [] })
    const finals = parts.filter((part) => part.type === 'transcript-final')
    expect(finals).toMatchObject([{ id: '0-0', text: 'one two', channelIndex: 0 }])
    for (const part of parts) if (part.type === 'transcript-partial') expect(part.id).toBe('0-0')
    expect(finals[0]?.endSecond).toBeGreaterThan(0.3)
    expect(parts.at(-1)).toMatchObject({
      type: 'finish',
      text: 'one two',
      segments: [{ text: 'one two' }],
      durationInSeconds: 5,
      providerMetadata: { rxspeech: { gaps: [] } },
    })
  })

  it.each<[string, Partial<RxspeechOptions>, string | undefined]>([
    ['before its first part', {}, undefined],
    ['before it has a connection', { token: NEVER }, 'authorizing'],
    ['while it sends audio', {}, 'streaming'],
  ])('ends as soon as its reader leaves, %s', async (_when, options, state) => {
    const { model } = modelOf(options)
    const cancel = vi.fn<() => void>()
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(320)),
      cancel,
    })
    const inputAudioFormat = { type: 'audio/pcm', rate: 8000 }
    const { stream } = await model.doStream({ audio: endless, inputAudioFormat, includeRawChunks: true })
    const reader = stream.getReader()
    for (let reached: unknown; reached !== state;) {
      const { value } = await reader.read()
      if (value?.type === 'raw') reached = (value.rawValue as { readonly state?: string }).state
    }
    await reader.cancel()
    await expect.poll(() => cancel.mock.calls.length).toBe(1)
  })

  it('has the events of the session as raw parts, if they are asked for', async () => {
    const { model } = modelOf({}, ['one two'])
    const { stream } = await model.doStream({
      audio: streamOf<Uint8Array>(sentenceAt(8000)),
      inputAudioFormat: { type: 'audio/pcm', rate: 8000 },
      includeRawChunks: true,
    })
    const raw = (await partsOf(stream)).filter((part) => part.type === 'raw')
    expect(raw).toContainEqual({ type: 'raw', rawValue: expect.objectContaining({ type: 'final' }) as unknown })
  })

  it.each([
    ['audio/wav', undefined, /inputAudioFormat\.type.*audio\/pcmu/],
    ['audio/pcm', undefined, /inputAudioFormat\.rate/],
  ])('of %s at %s Hz is refused with what to do', async (type, rate, message) => {
    const { model } = modelOf()
    const inputAudioFormat = { type, ...(rate !== undefined && { rate }) }
    await expect(model.doStream({ audio: streamOf<Uint8Array>(), inputAudioFormat })).rejects.toMatchObject({
      code: 'invalid-options',
      message: expect.stringMatching(message) as unknown,
    })
  })
})

describe('an error of the service', () => {
  const isMarked = (error: unknown, name: string): boolean =>
    (error as Readonly<Record<symbol, unknown>>)[Symbol.for(name)] === true

  it.each([
    ['a wrong token', 'unauthenticated', false],
    ['a service that closes', 'going-away', true],
  ])('is an APICallError for the AI SDK: %s', async (cause, code, isRetryable) => {
    const { service, model } = modelOf(cause === 'a wrong token' ? { token: 'wrong' } : { resumption: false })
    if (isRetryable) service.drain()
    const error: unknown = await model.doGenerate({ audio: wav, mediaType: 'audio/wav' }).then(
      () => undefined,
      (caught: unknown) => caught,
    )
    expect(error).toMatchObject({ name: 'SpeechError', code, isRetryable, url: 'ws://localhost' })
    expect(isMarked(error, 'vercel.ai.error') && isMarked(error, 'vercel.ai.error.AI_APICallError')).toBe(true)
  })
})

describe('the provider', () => {
  it('names a model by either method, and refuses other kinds of models', () => {
    const provider = createRxspeech({ url: 'ws://localhost', token: 't', specificationVersion: 'v3' })
    expect(provider.transcriptionModel('a')).toMatchObject({ specificationVersion: 'v3', modelId: 'a' })
    expect(() => provider.languageModel('a')).toThrow(/transcription\("a"\)/)
  })
})
