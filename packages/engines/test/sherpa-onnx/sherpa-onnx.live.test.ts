import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadSherpa, type SherpaRecognizer, type SherpaSettings } from '../../src/sherpa-onnx/package.js'
import { createSherpaOnnx, sherpaOnnx } from '../../src/sherpa-onnx/sherpa-onnx.js'
import { sherpaWords } from '../../src/sherpa-onnx/words.js'
import { SherpaSegments } from '../../src/sherpa-onnx/segments.js'
import type { FromWorker, SegmentMessage } from '../../src/pool/worker-messages.js'
import { fakeRecognizer } from './fake-sherpa.js'
import { sherpaFolder, sherpaModel, transducer } from './model-folder.js'

const beamSearch = { decodingMethod: 'modified_beam_search' }
const whisper = { encoder: 'whisper.onnx', decoder: 'decoder.onnx' }
let folder = ''
beforeAll(() => {
  folder = sherpaFolder()
  writeFileSync(join(folder, 'short.txt'), 'a 0\nb 1\n')
})
afterAll(() => rmSync(folder, { recursive: true }))

describe('a model of the engine sherpa-onnx', () => {
  it.each<readonly [Readonly<Record<string, unknown>>, RegExp]>([
    [{ transducer: undefined }, /exactly one of "transducer", "paraformer", .* and "funasrNano"/],
    [{ zipformer2Ctc: { model: 'ctc.onnx' } }, /exactly one of/],
    [{ transducer: { encoder: 'encoder.onnx' } }, /"transducer\.decoder" in model\.json must be the name of a file/],
    [{ transducer: { ...transducer, joiner: 'none.onnx' } }, /"transducer\.joiner" in model\.json names "none\.onnx"/],
    [{ transducer: { ...transducer, encoder: '../x' } }, /"transducer\.encoder" .* not inside the model's folder/],
    [{ tokens: 'none.txt' }, /"tokens" in model\.json names "none\.txt", which cannot be read/],
    [{ sampleRateHz: 44_100 }, /"sampleRateHz" in model\.json must be 8000 or 16000/],
    [{ numThreads: 0 }, /"numThreads" in model\.json must be a whole number from 1 to 64/],
    [{ provider: 'tpu' }, /"provider" in model\.json must be "cpu"/],
    [{ decodingMethod: 'x' }, /"decodingMethod" in model\.json must be/],
    [{ hotwords: 'hotwords.txt' }, /"hotwords" needs a "transducer" and/],
    [{ ...beamSearch, hotwords: 'hotwords.txt' }, /"hotwords" needs "modelingUnit"/],
    [{ ...beamSearch, hotwords: 'hotwords.txt', modelingUnit: 'bpe' }, /"bpe" .* with the file "bpeVocab"/],
    [{ endpoint: true }, /"endpoint" in model\.json is not known/],
    [{ tokens: undefined }, /"tokens" in model\.json must be the name of the file/],
    [{ transducer: { ...transducer, joiner: 'text.onnx' } }, /text\.onnx is not a whole file of ONNX/],
    [{ punctuation: true }, /"punctuation" needs a switch for it, which "transducer" does not have/],
    [{ inverseTextNormalization: true }, /"inverseTextNormalization" needs a switch/],
    [
      { transducer: undefined, nemoCtc: { model: 'ctc.onnx' }, ...beamSearch },
      /"decodingMethod" needs a model with beam/,
    ],
    [{ transducer: undefined, toneCtc: { model: 'ctc.onnx' }, sampleRateHz: 16_000 }, /"sampleRateHz" must be 8000/],
    [
      { transducer: undefined, whisper: { ...whisper, task: 'x' } },
      /"whisper\.task" in model\.json must be "transcribe"/,
    ],
    [
      { transducer: undefined, whisper, language: 'de' },
      /"language" is "de", which the model does not have; it has auto, en, fr/,
    ],
    [
      { transducer: undefined, whisper, tokens: 'short.txt' },
      /short\.txt has 2 tokens, and the model has 3: it belongs to/,
    ],
    [
      { transducer: undefined, canary: whisper },
      /"canary" needs "language", for sessions that name none: en, es, de, fr/,
    ],
    [{ transducer: undefined, moonshine: whisper }, /"moonshine\.decoder" in model\.json is not known/],
    [
      { transducer: undefined, moonshine: { encoder: 'encoder.onnx' } },
      /"moonshine" .* must name the files of one type/,
    ],
    [{ transducer: undefined, whisper, streaming: true }, /"whisper" has no type with "streaming": true/],
  ])('is refused for %j, with the key', async (change, message) => {
    await expect(sherpaOnnx().open(sherpaModel(folder, change))).rejects.toMatchObject({
      code: 'invalid-model',
      message: expect.stringMatching(message) as unknown,
    })
  })

  it('configures the package with the paths of its files and its options, without its own end of segments', async () => {
    const started: SherpaSettings[] = []
    const kind = createSherpaOnnx((settings) => ({ message }) => {
      started.push(settings)
      queueMicrotask(() => message({ type: 'ready' }))
      return { post: () => undefined, setBusy: () => undefined, terminate: () => Promise.resolve() }
    })
    const beam = { ...beamSearch, hotwords: 'hotwords.txt', modelingUnit: 'cjkchar', numThreads: 2 }
    const engine = await kind.open(sherpaModel(folder, { ...beam, sampleRateHz: 8000 }))
    expect(started).toMatchObject([
      {
        sampleRateHz: 8000,
        config: {
          featConfig: { sampleRate: 8000, featureDim: 80 },
          modelConfig: {
            transducer: { encoder: expect.stringMatching(/\/encoder\.onnx$/) as unknown },
            tokens: expect.stringMatching(/^\/.*\/tokens\.txt$/) as unknown,
            modelingUnit: 'cjkchar',
            numThreads: 2,
            provider: 'cpu',
          },
          decodingMethod: 'modified_beam_search',
          hotwordsFile: expect.stringMatching(/\/hotwords\.txt$/) as unknown,
          enableEndpoint: 0,
        },
      },
    ])
    await engine.close()
  })
})

describe('the package sherpa-onnx-node', () => {
  it('refuses files that are not models, and does not end the process', async () => {
    const opening = sherpaOnnx().open(sherpaModel(folder))
    await expect(opening).rejects.toMatchObject({
      code: 'invalid-model',
      message:
        'Model Default/english/1: sherpa-onnx does not load its files; check that they are whole and belong together.',
      cause: { message: expect.stringMatching(/The process ended/) as unknown },
    })
  })

  it('loads, and has the calls that are used', () => {
    const { OnlineRecognizer } = loadSherpa()
    for (const call of ['createStream', 'isReady', 'decode', 'getResult']) {
      expect((OnlineRecognizer.prototype as Readonly<Record<string, unknown>>)[call]).toBeTypeOf('function')
    }
  })
})

describe('SherpaSegments', () => {
  const set = (recognizer: SherpaRecognizer = fakeRecognizer()) => {
    const posted: FromWorker[] = []
    const due: (() => void)[] = []
    const segments = new SherpaSegments(
      recognizer,
      { sampleRateHz: 16_000, leadMs: 0, tailMs: 500 },
      (item) => posted.push(item),
      (work) => due.push(work),
    )
    /** Messages that arrive in one turn of the event loop, and the turns that follow. */
    const receive = (...messages: readonly SegmentMessage[]): void => {
      for (const message of messages) segments.receive(message)
      for (let work = due.shift(); work !== undefined; work = due.shift()) work()
    }
    return { posted, receive }
  }
  const audio = (segment: number, value = 1000): SegmentMessage => ({
    type: 'audio',
    segment,
    samples: new Int16Array(5120).fill(value),
  })

  it('posts progress, a partial when the text changed, and the words with their times at the close', () => {
    const { posted, receive } = set()
    receive({ type: 'open', segment: 1, startMs: 1000 })
    for (let at = 0; at < 4; at += 1) receive(audio(1))
    receive({ type: 'close', segment: 1, endMs: 2280 })
    expect(posted.slice(0, -1)).toEqual([
      { type: 'progress', segment: 1, sampleCount: 5120, partial: 'ten' },
      { type: 'progress', segment: 1, sampleCount: 5120, partial: 'ten of' },
      { type: 'progress', segment: 1, sampleCount: 5120, partial: 'ten of clubs' },
      { type: 'progress', segment: 1, sampleCount: 5120 },
    ])
    const confidence = expect.closeTo(Math.exp(-0.1)) as number
    expect(posted.at(-1)).toEqual({
      type: 'decided',
      segment: 1,
      text: { text: 'ten of clubs' },
      words: [
        { text: 'ten', startMs: 1000, endMs: 1200, confidence },
        { text: 'of', startMs: 1200, endMs: 1400, confidence },
        { text: 'clubs', startMs: 1400, endMs: 2280, confidence },
      ],
    })
  })

  it('does not decode a segment that is aborted after its audio was sent', () => {
    const { posted, receive } = set()
    const open = (segment: number): SegmentMessage => ({ type: 'open', segment, startMs: 0 })
    receive(open(1), audio(1), audio(1), { type: 'abort', segment: 1 }, open(2), audio(2))
    expect(posted).toEqual([{ type: 'progress', segment: 2, sampleCount: 5120, partial: 'ten' }])
  })

  it('fails the segment whose stream throws, and decodes the others', () => {
    const recognizer = fakeRecognizer()
    let throws = true
    const { posted, receive } = set({
      ...recognizer,
      decode: (stream) => {
        if (throws) throw new Error('native')
        recognizer.decode(stream)
      },
    })
    receive({ type: 'open', segment: 1, startMs: 0 })
    receive(audio(1))
    receive(audio(1))
    throws = false
    receive({ type: 'open', segment: 2, startMs: 0 })
    receive(audio(2))
    expect(posted).toEqual([
      { type: 'failed', segment: 1 },
      { type: 'progress', segment: 2, sampleCount: 5120, partial: 'ten' },
    ])
  })
})

describe('sherpaWords', () => {
  const texts = (tokens: readonly string[]): readonly string[] =>
    sherpaWords({ text: '', tokens, timestamps: tokens.map((_, at) => at / 10) }, 0, 900).map(({ text }) => text)

  it('is empty if the model provides no times, or not where words begin', () => {
    const tokens = ['\u2581a', 'b']
    expect(sherpaWords({ text: 'ab' }, 0, 100)).toEqual([])
    expect(sherpaWords({ text: 'ab', tokens, timestamps: [0], ys_probs: [0, 0] }, 0, 100)).toEqual([])
    expect(sherpaWords({ text: 'ab', tokens: ['a', 'b'], timestamps: [0, 0.1], ys_probs: [0, 0] }, 0, 100)).toEqual([])
  })

  it('has no confidence of tokens without probabilities', () => {
    const tokens = [' a', 'b', ' c']
    const result = { text: 'ab c', tokens, timestamps: [0, 0.1, 0.5], durations: [0.1, 0.2, 0.1], ys_log_probs: [] }
    expect(sherpaWords(result, 1000, 2000)).toEqual([
      { text: 'ab', startMs: 1000, endMs: 1300 },
      { text: 'c', startMs: 1500, endMs: 1600 },
    ])
    expect(sherpaWords({ ...result, ys_log_probs: [0, 0, 0] }, 1000, 2000)).toMatchObject([{ confidence: 1 }, {}])
  })

  it('joins the bytes of a character, and takes each one of a script without spaces for a word', () => {
    expect(texts(['\u2581f', '<0xC3>', '<0xBC>', 'r', '\u2581a'])).toEqual(['für', 'a'])
    expect(texts(['今', '天', '\u2581ok', 'ay', '好'])).toEqual(['今', '天', 'okay', '好'])
  })

  it('keeps every time within the segment', () => {
    const words = sherpaWords(
      { text: 'a b', tokens: ['\u2581a', '\u2581b'], timestamps: [-1, 9], ys_probs: [0, -50] },
      100,
      200,
    )
    expect(words).toEqual([
      { text: 'a', startMs: 100, endMs: 200, confidence: 1 },
      { text: 'b', startMs: 200, endMs: 200, confidence: expect.closeTo(0) as number },
    ])
  })
})
