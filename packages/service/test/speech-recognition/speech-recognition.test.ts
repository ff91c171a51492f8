import { EMPTY, from, NEVER, Observable, of, throwError, type ObservableInput } from 'rxjs'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { deinterleaveChannels } from '../../../../src/audio/channels.js'
import type { AudioFormat } from '../../../../src/audio/format.js'
import { decodeSamples } from '../../../../src/audio/codec.js'
import { bytesOf } from '../../../../src/audio/pcm.js'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import { createSpeechRecognition } from '../../../../src/speech-recognition.js'
import type { SessionEvent } from '../../../../src/protocol/session-event.js'
import {
  recognitionClassOn,
  type RecognitionObject,
  type SpeechRecognitionOptions,
} from '../../../../src/speech-recognition/speech-recognition.js'
import { RecognitionErrorEvent, RecognitionResultEvent } from '../../../../src/speech-recognition/recognition-events.js'
import { inMemoryService, type InMemoryService } from '../../src/testing/in-memory-service.js'
import { scriptedEngine } from '../../src/testing/scripted-engine.js'
import { readRecording } from '../../../../test/audio/read-recording.js'

const format: AudioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }

const services: InMemoryService[] = []
afterEach(async () => {
  for (const service of services.splice(0)) await service.close()
})

/** The first speaker of the sample call, in chunks of 20 ms. */
let call: readonly Uint8Array[]
beforeAll(async () => {
  const recording = await readRecording('samples/call.wav')
  const [first] = deinterleaveChannels(recording.bytes, 1)
  const bytes = bytesOf(decodeSamples(first, recording.format.encoding))
  call = Array.from({ length: Math.ceil(bytes.length / 320) }, (_, index) =>
    bytes.subarray(320 * index, 320 * index + 320),
  )
})

const audioOf = (source: ObservableInput<Uint8Array>) => () =>
  Object.assign(new Observable<Uint8Array>((subscriber) => from(source).subscribe(subscriber)), { format })

const create = (
  options: Partial<SpeechRecognitionOptions> = {},
  texts: readonly string[] = ['one two', 'three', 'four five six'],
): RecognitionObject => {
  const service = inMemoryService({ engine: scriptedEngine({ texts }) })
  services.push(service)
  const { url, token, testing } = service.recognizer({ format })
  const Recognition = createSpeechRecognition({
    url,
    token,
    testing,
    models: 'scripted',
    audio: audioOf(call),
    ...options,
  })
  return new Recognition()
}

const names = ['start', 'audiostart', 'soundstart', 'speechstart', 'speechend', 'soundend', 'audioend', 'error', 'end']

const describeEvent = (event: Event): string => {
  if (event instanceof RecognitionResultEvent) {
    const { results, resultIndex } = event
    const texts = Array.from(results, (result) => `${result.item(0).transcript}${result.isFinal ? '.' : '…'}`)
    return `${resultIndex}: ${texts.join('|')}`
  }
  return event instanceof RecognitionErrorEvent ? `error ${event.error}` : event.type
}

/** Runs until `end`; returns all events. */
const run = (recognition: RecognitionObject): Promise<readonly string[]> =>
  new Promise((resolve) => {
    const events: string[] = []
    for (const name of [...names, 'result']) {
      recognition.addEventListener(name, (event) => {
        events.push(describeEvent(event))
        if (name === 'end') resolve(events)
      })
    }
    recognition.start()
  })

const withoutResults = (events: readonly string[]): readonly string[] => events.filter((event) => !/^\d/.test(event))
const finals = (events: readonly string[]): readonly string[] => events.filter((event) => /^\d+: [^…]*$/.test(event))

/** Receives the uncaught exceptions in place of the test runner, until the returned function is called. */
const collectUncaught = (receive: (error: unknown) => void): (() => void) => {
  const others = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', receive)
  return () => {
    process.off('uncaughtException', receive)
    for (const other of others) process.on('uncaughtException', other)
  }
}

describe('SpeechRecognition of the Web Speech API', () => {
  it('ends after the first definitive result, with the events in order', async () => {
    const events = await run(create())
    expect(events).toEqual([
      'start',
      'audiostart',
      'soundstart',
      'speechstart',
      '0: one two.',
      'speechend',
      'soundend',
      'audioend',
      'end',
    ])
  })

  it('has all results of the audio when it is continuous, each in the list of the later ones', async () => {
    const recognition = create()
    recognition.continuous = true
    const events = await run(recognition)
    expect(finals(events).slice(0, 3)).toEqual([
      '0: one two.',
      '1: one two.| three.',
      '2: one two.| three.| four five six.',
    ])
    expect(withoutResults(events).at(-1)).toBe('end')
  })

  it('reports interim results only if they are requested, before the definitive one', async () => {
    const recognition = create()
    recognition.interimResults = true
    const results = (await run(recognition)).filter((event) => /^\d/.test(event))
    expect(results.slice(0, -1).every((result) => result.endsWith('…'))).toBe(true)
    expect(results.length).toBeGreaterThan(1)
    expect(results.at(-1)).toBe('0: one two.')
  })

  it('reports a definitive result as an interim one first, also if the service sends no partials', async () => {
    const session$ = of<SessionEvent[]>(
      { type: 'connection', state: 'streaming' },
      { type: 'milestone', text: 'one two' },
      { type: 'milestone', text: ' three' },
    )
    const platform = { recognize: () => () => session$, microphone: audioOf(NEVER) }
    const recognition = new (recognitionClassOn(platform, {
      url: 'wss://localhost',
      token: 'none',
      models: 'scripted',
    }))()
    recognition.interimResults = true
    recognition.continuous = true
    const results = (await run(recognition)).filter((event) => /^\d/.test(event))
    expect(results).toEqual(['0: one two…', '0: one two.', '1: one two.| three…', '1: one two.| three.'])
  })

  it('says nomatch for speech that the model does not know', async () => {
    const recognition = create({}, ['one two', '', 'three'])
    recognition.continuous = true
    const seen: unknown[] = []
    recognition.onnomatch = ({ type, resultIndex, results }) => seen.push([type, resultIndex, results.length])
    expect(finals(await run(recognition))).toEqual(expect.arrayContaining(['0: one two.', '1: one two.| three.']))
    expect(seen[0]).toEqual(['nomatch', 1, 1])
  })

  it.each(['handler', 'listener'])(
    'reports the exceptions of each %s of a page, and ends as without them',
    async (kind) => {
      const thrown: string[] = []
      const restore = collectUncaught((error) => thrown.push((error as Error).message))
      let isRead = false
      const audio$ = new Observable<Uint8Array>((subscriber) => {
        isRead = true
        subscriber.add(() => (isRead = false))
        return from(call).subscribe(subscriber)
      })
      const recognition = create({ audio: audioOf(audio$) })
      const events = [...names.filter((name) => name !== 'error'), 'result']
      for (const name of events) {
        const fail = (): never => {
          throw new Error(name)
        }
        if (kind === 'handler') Reflect.set(recognition, `on${name}`, fail)
        else recognition.addEventListener(name, fail)
      }
      expect(withoutResults(await run(recognition))).toEqual(names.filter((name) => name !== 'error'))
      expect([isRead, finals(await run(recognition))]).toEqual([false, ['0: one two.']])
      await new Promise(setImmediate)
      restore()
      expect(thrown.slice(0, events.length).sort()).toEqual(events.sort())
    },
  )

  it('calls a handler at the place of its first assignment, until null replaces it', async () => {
    const recognition = create()
    const calls: string[] = []
    recognition.onresult = () => calls.push('replaced')
    recognition.addEventListener('result', (event) => {
      calls.push('listener')
      event.stopImmediatePropagation()
    })
    recognition.onresult = () => calls.push('handler')
    recognition.onend = () => calls.push('removed')
    recognition.onend = null
    expect([typeof recognition.onresult, recognition.onend]).toEqual(['function', null])
    await new Promise((resolve) => {
      recognition.addEventListener('end', resolve)
      recognition.start()
    })
    expect(calls).toEqual(['handler', 'listener'])
  })

  it('calls the handlers after the listeners before them, with the recognition as this', async () => {
    const recognition = create()
    const calls: unknown[] = []
    recognition.addEventListener('result', () => calls.push('listener'))
    recognition.onresult = function (this: unknown, event) {
      calls.push(this === recognition, event.results[0]?.[0]?.confidence)
    }
    await run(recognition)
    expect(calls).toEqual(['listener', true, 0.9])
  })

  it('selects the model by the language, also of another country, and refuses a language without one', async () => {
    const models = { 'en-US': 'scripted' }
    const british = create({ models })
    british.lang = 'en-GB'
    expect(finals(await run(british))).toEqual(['0: one two.'])
    const french = create({ models })
    french.lang = 'fr'
    expect(await run(french)).toEqual(['error language-not-supported', 'end'])
  })

  it('asks for the language if the model has it, and otherwise for none', async () => {
    const spokenIn = async (lang: string, languages?: readonly string[]): Promise<readonly (string | undefined)[]> => {
      const asked: (string | undefined)[] = []
      const Recognition = recognitionClassOn(
        {
          recognize: (options) => {
            asked.push(options.language)
            return () => EMPTY
          },
          microphone: audioOf(EMPTY),
        },
        { url: 'ws://localhost', token: 't', models: 'many', language: 'it', languages },
      )
      const recognition = new Recognition()
      recognition.lang = lang
      await run(recognition)
      return asked
    }
    expect(await spokenIn('fr-CA', ['en', 'fr'])).toEqual(['fr'])
    expect(await spokenIn('de', ['en', 'fr'])).toEqual(['it'])
    expect(await spokenIn('fr')).toEqual(['it'])
  })

  it.each([
    ['microphone-denied', 'not-allowed'],
    ['microphone-missing', 'audio-capture'],
    ['internal', 'network'],
  ] as const)('names the error %s of its audio %s', async (code, expected) => {
    const events = await run(create({ audio: audioOf(throwError(() => new SpeechError(code, 'No audio.'))) }))
    expect(events.slice(-2)).toEqual([`error ${expected}`, 'end'])
  })

  it('throws InvalidStateError while it runs, and can start again after the end', async () => {
    const recognition = create()
    const first = run(recognition)
    expect(() => recognition.start()).toThrow(expect.objectContaining({ name: 'InvalidStateError' }))
    await first
    expect(finals(await run(recognition))).toContain('0: one two.')
  })

  it('ends with no-speech when nothing is said in time, unless it is continuous', async () => {
    const silence = { audio: audioOf(NEVER), noSpeechMs: 30 }
    expect(await run(create(silence))).toEqual(['start', 'audiostart', 'audioend', 'error no-speech', 'end'])
    const continuous = create(silence)
    continuous.continuous = true
    const events = run(continuous)
    setTimeout(() => continuous.stop(), 60)
    expect(await events).toEqual(['start', 'audiostart', 'audioend', 'end'])
  })

  it('aborts with an error of that name, also before it listens, and releases the audio', async () => {
    let isRead = false
    const audio$ = new Observable<Uint8Array>(() => {
      isRead = true
      return () => (isRead = false)
    })
    const recognition = create({ audio: audioOf(audio$) })
    const aborted = run(recognition)
    recognition.addEventListener('audiostart', () => recognition.abort())
    expect(await aborted).toEqual(['start', 'audiostart', 'audioend', 'error aborted', 'end'])
    expect(isRead).toBe(false)
    const early = create({ audio: audioOf(audio$) })
    const events = run(early)
    early.abort()
    expect(await events).toEqual(['error aborted', 'end'])
    await new Promise((resolve) => setTimeout(resolve, 10))
    expect(isRead).toBe(false)
  })

  it('reports an abort after abort has returned, and starts again only then', async () => {
    const recognition = create({ audio: audioOf(NEVER) })
    const events: string[] = []
    const ended = new Promise((resolve) => {
      recognition.onend = resolve
    })
    recognition.onerror = ({ error }) => events.push(error)
    recognition.start()
    recognition.abort()
    await Promise.resolve()
    expect(events).toEqual([])
    expect(() => recognition.start()).toThrow(expect.objectContaining({ name: 'InvalidStateError' }))
    await ended
    expect(events).toEqual(['aborted'])
    const again = run(recognition)
    recognition.abort()
    expect((await again).at(-1)).toBe('end')
  })

  it('stops before it listens with the results of the audio so far', async () => {
    const recognition = create({ audio: audioOf(NEVER) })
    const events = run(recognition)
    recognition.stop()
    expect((await events).at(-1)).toBe('end')
    expect(await events).not.toContain('error network')
  })

  it('has an error for options that recognize refuses', async () => {
    const events = await run(create({ url: 'ftp://example.com' }))
    expect(events).toEqual(['error network', 'end'])
  })
})
