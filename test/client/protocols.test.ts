import { Observable, Subject, takeUntil, VirtualTimeScheduler } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { decodeMuLaw } from '../../src/audio/g711.js'
import { SpeechError } from '../../src/errors/speech-error.js'
import type { UpdateRequest } from '../../src/protocol/dataflow-messages.js'
import { DataflowProtocol } from '../../src/client/dataflow/protocol.js'
import type { DataflowOptions } from '../../src/client/dataflow/dataflow.js'
import type { RecognizeOptions } from '../../src/client/recognizer/recognize-on.js'
import { RecognizerProtocol } from '../../src/client/recognizer/protocol.js'
import type { DataflowMessage, Link, SocketMessage } from '../../src/transport/link.js'
import { plainDataflow, plainRecognizer, response, scriptedService, virtually } from './virtual-session.js'

const samples = Uint8Array.of(0, 127, 128, 255)

/** Every message of a complete session of two samples, as it was sent. */
const wire = (options: Partial<RecognizeOptions>): SocketMessage[] => {
  const messages: SocketMessage[] = []
  virtually(({ clock, watch, recognizing }) => {
    const service = scriptedService(clock, [plainRecognizer(0)], { onMessage: (message) => messages.push(message) })
    watch(recognizing({ dial: service.dial, ...options })([samples]))
    return () => undefined
  })
  return messages
}
const dataflowWire = (options: Partial<DataflowOptions>): DataflowMessage[] => {
  const messages: DataflowMessage[] = []
  virtually(({ clock, watch, flowing }) => {
    const plain = plainDataflow(0)
    const lowerCase = Object.entries(plain).map(([name, answer]) => [name.toLowerCase(), answer] as const)
    const answers = { ...plain, ...Object.fromEntries(lowerCase) }
    const service = scriptedService<DataflowMessage>(clock, [answers], {
      onMessage: (message) => messages.push(message),
    })
    watch(flowing({ dial: service.dial, ...options })([samples]))
    return () => undefined
  })
  return messages
}

describe('the messages of recognize (PROTOCOL 4.2)', () => {
  it('are recognize with the given fields, the samples, and finalize-recognition', () => {
    const messages = wire({
      model: 'English',
      tenant: 'Acme',
      modelVersion: '2',
      audioSplitter: 'audio-segmenter',
      voiceActivity: {
        sensitivity: 7,
        preSpeechBufferMs: 1,
        postSpeechBufferMs: 2,
        maxSpeechDurationMs: -1,
        silenceTriggerMs: 503,
        completeSilenceMs: 104,
        gracefulSilenceThresholdMs: 0,
      },
      reject: 'high',
      phrases: ['ask for maria'],
    })
    expect(
      messages.map((message) => (typeof message === 'string' ? (JSON.parse(message) as unknown) : message)),
    ).toEqual([
      {
        'message-name': 'recognize',
        'audio-format': 'pcm',
        'model-name': 'English',
        'model-tenant': 'Acme',
        'model-version': '2',
        'sample-rate': 8000,
        'audio-splitter': 'audio-segmenter',
        'vad-sensitivity': 7,
        'vad-pre-speech-buffer-msec': 1,
        'vad-post-speech-buffer-msec': 2,
        'vad-max-speech-duration-msec': -1,
        'vad-silence-trigger-msec': 503,
        'vad-complete-silence-msec': 104,
        'vad-graceful-silence-threshold-msec': 0,
        reject: 'high',
        phrases: ['ask for maria'],
      },
      samples,
      { 'message-name': 'finalize-recognition' },
    ])
  })

  it('omit fields that are not given', () => {
    expect(wire({ format: { encoding: 'pcm', sampleRateHz: 16_000, channels: 1 } })[0]).toBe(
      '{"message-name":"recognize","audio-format":"pcm","model-name":"m","sample-rate":16000}',
    )
  })

  it('have G.711 decoded to the PCM that the socket requires', () => {
    const [start, audio] = wire({ format: { encoding: 'ulaw', sampleRateHz: 8000, channels: 1 } })
    expect(start).toContain('"audio-format":"pcm"')
    expect(audio).toEqual(new Uint8Array(decodeMuLaw(samples).buffer))
  })

  it('have PCM without a copy', () => {
    const request = { audioFormat: 'pcm', modelName: 'm', sampleRateHz: 8000 } as const
    const protocol = new RecognizerProtocol(request, 'pcm')
    expect(protocol.audio(samples)).toBe(samples)
    expect(protocol.stop()).toBe('{"message-name":"stop-recognition"}')
  })

  it('are read with every field of a result, and require only the text', () => {
    const request = { audioFormat: 'pcm', modelName: 'm', sampleRateHz: 8000 } as const
    const protocol = new RecognizerProtocol(request, 'pcm')
    const read = (message: SocketMessage) => protocol.read(message)
    const result = { 'recognition-id': 'r', text: 'hi', channel: '1', 'start-msec': '10', 'end-msec': '20' }
    const full = { recognitionId: 'r', text: 'hi', channel: 1, startMs: 10, endMs: 20 }
    expect(read(JSON.stringify({ 'message-name': 'partial-result', ...result }))).toEqual({
      event: { type: 'partial', ...full },
    })
    const partialOf = (stable: unknown) =>
      read(JSON.stringify({ 'message-name': 'partial-result', ...result, 'stable-length': stable }))
    expect(partialOf('2')).toEqual({ event: { type: 'partial', ...full, stableLength: 2 } })
    // What cannot be true counts as absent, like what cannot be read.
    for (const stable of ['3', '-1', '0', '1.5', 'all', null, true, [2]]) {
      expect(partialOf(stable), String(stable)).toEqual({ event: { type: 'partial', ...full } })
    }
    expect(read(JSON.stringify({ 'message-name': 'milestone-result', text: 'hi' }))).toEqual({
      event: { type: 'milestone', text: 'hi' },
    })
    const words = JSON.stringify([{ text: 'hi', 'start-msec': '12', 'end-msec': '18', confidence: '0.875' }])
    const milestone = {
      'message-name': 'milestone-result',
      ...result,
      confidence: '0.88',
      words,
      slots: '{"who":"you"}',
    }
    expect(read(JSON.stringify(milestone))).toEqual({
      event: {
        type: 'milestone',
        ...full,
        confidence: 0.88,
        words: [{ text: 'hi', startMs: 12, endMs: 18, confidence: 0.875 }],
        slots: { who: 'you' },
      },
    })
    const final = { 'message-name': 'final-result', ...result, 'operation-result': 'success', confidence: '0.25' }
    expect(read(JSON.stringify(final))).toEqual({
      event: { type: 'final', ...full, confidence: 0.25 },
      signal: { type: 'session-ended' },
    })
  })
})

describe('the messages of dataflow (PROTOCOL 3)', () => {
  it('are Start as a REQUEST, the samples as AUDIO, and a half-close', () => {
    const messages = dataflowWire({
      language: 'en-GB',
      settings: { ModelName: 'English', ChannelTags: ['agent', 'customer'] },
      callProperties: { id: 5 },
      audioOutput: { Encoding: 'pcm' },
    })
    expect(messages.map(({ contentType }) => contentType)).toEqual([2, 0])
    expect(JSON.parse(messages[0]?.content ?? '')).toEqual({
      MessageName: 'Start',
      Audio: { SampleRate: 8000, ChannelCount: 1, Encoding: 'pcm', Output: { Encoding: 'pcm' } },
      Tenant: 't',
      Token: 'secret-token',
      ProjectName: 'p',
      Language: 'en-GB',
      Settings: { ModelName: 'English', ChannelTags: ['agent', 'customer'] },
      CallProperties: { id: 5 },
    })
    expect(messages[1]).toEqual({ contentType: 0, content: '', binaryContent: samples })
  })

  it('have the options of recognition as settings, which given settings override', () => {
    const [start] = dataflowWire({
      model: 'call',
      modelVersion: '2',
      audioSplitter: 'audio-segmenter',
      voiceActivity: {
        sensitivity: 7,
        preSpeechBufferMs: 100,
        postSpeechBufferMs: 200,
        maxSpeechDurationMs: 30_000,
        silenceTriggerMs: 500,
        completeSilenceMs: 150,
        gracefulSilenceThresholdMs: 0,
      },
      reject: 'low',
      phrases: ['ask for maria', 'no'],
      settings: { VadSensitivity: 3, Other: 'x' },
    })
    expect(JSON.parse(start?.content ?? '')).toMatchObject({
      Settings: {
        ModelName: 'call',
        ModelVersion: '2',
        AudioSplitter: 'audio-segmenter',
        VadSensitivity: 3,
        VadPreSpeechBufferMsec: 100,
        VadPostSpeechBufferMsec: 200,
        VadMaxSpeechDurationMsec: 30_000,
        VadSilenceTriggerMsec: 500,
        VadCompleteSilenceMsec: 150,
        VadGracefulSilenceThresholdMsec: 0,
        Reject: 'low',
        Phrases: ['ask for maria', 'no'],
        Other: 'x',
      },
    })
  })

  it('support the older kebab form, stereo and A-law, and Finalize as a request', () => {
    const format = { encoding: 'alaw', sampleRateHz: 8000, channels: 2 } as const
    const messages = dataflowWire({ dialect: 'kebab', finalizeBy: 'request', format })
    expect(messages.map(({ contentType }) => contentType)).toEqual([2, 0, 2])
    expect(JSON.parse(messages[0]?.content ?? '')).toEqual({
      'message-name': 'start',
      audio: { 'sample-rate': 8000, 'channel-count': 2, encoding: 'alaw' },
      tenant: 't',
      token: 'secret-token',
      'project-name': 'p',
    })
    expect(messages[2]?.content).toBe('{"message-name":"finalize"}')
  })

  it('include updates while it streams, whose responses match by name or by order', () => {
    virtually(({ clock, watch, flowing, hot }) => {
      const messages: DataflowMessage[] = []
      const plain = plainDataflow(0)
      const service = scriptedService<DataflowMessage>(
        clock,
        [
          {
            ...plain,
            Start: [10, response('{"operation-result":"success"}')],
            Update: [1, response('{"operation-result":"no"}')],
          },
        ],
        { onMessage: (message) => messages.push(message) },
      )
      const update$ = hot('5ms a 9ms b 4ms b', {
        a: { settings: { A: 1 } },
        b: { settings: { B: true }, callProperties: { C: 'c' } },
      })
      const source$ = hot<Uint8Array>('18ms |')
      const { log } = watch(flowing({ dial: service.dial, update$, finalizeBy: 'request' })(source$))
      return () => {
        expect(messages.map(({ content }) => content).slice(1)).toEqual([
          '{"MessageName":"Update","Settings":{"B":true},"CallProperties":{"C":"c"}}',
          '{"MessageName":"Finalize"}',
        ])
        expect(log).toContain('16 response Update no')
        expect(log.slice(-2)).toEqual(['18 done', '18 complete'])
        expect(update$.subscriptions).toHaveLength(1)
        expect(update$.subscriptions[0]).toMatchObject({ subscribedFrame: 10, unsubscribedFrame: 18 })
      }
    })
  })

  it('fail by name when the updates fail', () => {
    virtually(({ clock, watch, flowing, cold }) => {
      const update$ = cold<UpdateRequest>('5ms #')
      const service = scriptedService(clock, [plainDataflow(0)])
      const { log } = watch(flowing({ dial: service.dial, update$ })(new Subject<Uint8Array>()))
      return () => expect(log.at(-1)).toBe('5 error source-failed')
    })
  })

  it.each([null, 5, { settings: null }, { settings: { A: { B: 1 } } }, { callProperties: { A: 1n } }])(
    'fail by name when an update is invalid, such as %o',
    (update) => {
      virtually(({ clock, watch, flowing, cold }) => {
        const update$ = cold<UpdateRequest>('5ms a', { a: update as never })
        const service = scriptedService(clock, [plainDataflow(0)])
        const { log } = watch(flowing({ dial: service.dial, update$ })(new Subject<Uint8Array>()))
        return () => expect([log.at(-1), clock.pending()]).toEqual(['5 error invalid-options', 0])
      })
    },
  )

  it('release the updates when the user unsubscribes during the first of them', () => {
    virtually(({ clock, flowing }) => {
      let open = 0
      const leaves$ = new Subject<undefined>()
      const update$ = new Observable<UpdateRequest>((subscriber) => {
        open += 1
        subscriber.next({ settings: { A: 1 } })
        return () => (open -= 1)
      })
      const service = scriptedService<DataflowMessage>(clock, [plainDataflow(0)], {
        onMessage: ({ content }) => content.includes('Update') && leaves$.next(undefined),
      })
      const session$ = flowing({ dial: service.dial, update$ })(new Subject<Uint8Array>())
      const subscription = session$.pipe(takeUntil(leaves$)).subscribe()
      return () => expect([subscription.closed, open, service.dials.open, clock.pending()]).toEqual([true, 0, 0, 0])
    })
  })

  const start = {
    audio: { sampleRateHz: 8000, channels: 1, encoding: 'pcm' },
    tenant: 't',
    projectName: 'p',
  } as const

  it('match a response without a name to the oldest pending request', () => {
    const protocol = new DataflowProtocol({ start, dialect: 'pascal' })
    const read = (json: string): string => {
      const { event } = protocol.read(response(json))
      return event.type === 'response' ? event.request : event.type
    }
    const unnamed = '{"operation-result":"success"}'
    expect(read(unnamed)).toBe('')
    protocol.start('T')
    protocol.finalize()
    protocol.stop()
    expect(read('{"MessageName":"finalizeresponse","operation-result":"success"}')).toBe('Finalize')
    expect([read(unnamed), read(unnamed), read(unnamed)]).toEqual(['Start', 'Stop', ''])
    expect(read('{"message-name":"StopResponse","operation-result":"success"}')).toBe('Stop')
  })

  describe('deliver the refusal of a start with the status that follows', () => {
    const refusal = response('{"MessageName":"StartResponse","operation-result":"overloaded: Full."}')
    const other = response('{"MessageName":"StartResponse","operation-result":"success"}')
    const full = new SpeechError('overloaded', 'Full.', { retryAfterMs: 7_000 })
    /** What a client sees of the messages of a service, in virtual time. */
    const seen = (act: (incoming$: Subject<DataflowMessage>, clock: VirtualTimeScheduler) => void): unknown[] => {
      const clock = new VirtualTimeScheduler()
      const incoming$ = new Subject<DataflowMessage>()
      const protocol = new DataflowProtocol({ start, dialect: 'pascal' })
      protocol.start('T')
      const link = protocol.awaitStatus({ incoming$ } as unknown as Link<DataflowMessage, DataflowMessage>, clock)
      const log: unknown[] = []
      link.incoming$.subscribe({
        next: (message) => {
          const { error } = protocol.read(message).signal ?? {}
          log.push(error === undefined ? 'a success' : `${error.code} ${error.retryAfterMs} at ${clock.now()}`)
        },
        error: (error: unknown) => log.push(error),
        complete: () => log.push('complete'),
      })
      act(incoming$, clock)
      clock.flush()
      return log
    }
    const after = (clock: VirtualTimeScheduler, ms: number, act: () => void): unknown => clock.schedule(act, ms)

    it('and the wait in it', () => {
      const log = seen((incoming$, clock) => {
        incoming$.next(refusal)
        after(clock, 30, () => incoming$.error(full))
      })
      expect(log).toEqual(['overloaded 7000 at 30', full])
    })

    it('or without a wait, when the call ends without one', () => {
      const ended = seen((incoming$, clock) => {
        incoming$.next(refusal)
        after(clock, 30, () => incoming$.complete())
      })
      expect(ended).toEqual(['overloaded undefined at 30', 'complete'])
    })

    it('or after a second, when the call does not end', () => {
      const log = seen((incoming$) => incoming$.next(refusal))
      expect(log).toEqual(['overloaded undefined at 1000'])
    })

    it('or before the next message', () => {
      const log = seen((incoming$) => {
        incoming$.next(refusal)
        incoming$.next(other)
      })
      expect(log).toEqual(['overloaded undefined at 0', 'a success'])
    })

    it('but only one that may succeed later, and no other answer', () => {
      const denied = response('{"MessageName":"StartResponse","operation-result":"project-denied: No."}')
      expect(seen((incoming$) => incoming$.next(denied))).toEqual(['project-denied undefined at 0'])
      const log = seen((incoming$) => {
        incoming$.next(other)
        incoming$.next(response('{"MessageName":"StopResponse","operation-result":"overloaded: Full."}'))
      })
      expect(log).toEqual(['a success', 'overloaded undefined at 0'])
    })
  })
})
