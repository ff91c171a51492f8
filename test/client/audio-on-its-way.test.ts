import { concat, NEVER, of, Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { DataflowMessage, Link, SocketMessage } from '../../src/transport/link.js'
import { audio, plainDataflow, plainRecognizer, scriptedService, virtually } from './virtual-session.js'

const numbered = (durationMs: number, first: number): Uint8Array =>
  Uint8Array.from({ length: durationMs * 16 }, (_, index) => (first + index) % 251)

describe('audio in transit', () => {
  it('is buffered until the start-response, then sent in order, before later audio', () => {
    virtually(({ clock, watch, flowing, cold }) => {
      const service = scriptedService(clock, [plainDataflow(50)])
      const source$ = cold('a 9ms b 9ms c 59ms (d|)', { a: audio(1), b: audio(2), c: audio(3), d: audio(4) })
      watch(flowing({ dial: service.dial })(source$))
      return () => {
        expect(service.received).toEqual(['0 Start', '50 audio 1', '50 audio 2', '50 audio 3', '80 audio 4', '80 end'])
      }
    })
  })

  it('reports what does not fit as one gap with exact times, when audio fits again', () => {
    virtually(({ clock, watch, recognizing, cold }) => {
      const service = scriptedService(clock, [plainRecognizer(100)])
      const source$ = cold('a 19ms a 19ms a 19ms a 19ms a 39ms (a|)', { a: audio(20) })
      const { log } = watch(recognizing({ dial: service.dial, buffer: { maxMs: 50 } })(source$))
      return () => {
        expect(log.filter((entry) => entry.includes('gap'))).toEqual(['120 gap 50-100 buffer-full'])
        expect(service.received).toEqual([
          '0 recognize',
          '100 audio 20',
          '100 audio 20',
          '100 audio 10',
          '120 audio 20',
          '120 finalize-recognition',
          '220 end',
        ])
      }
    })
  })

  it('reports a gap that is open at the end, and a sample that is cut', () => {
    virtually(({ clock, watch, recognizing, cold }) => {
      const service = scriptedService(clock, [plainRecognizer(100)])
      const source$ = cold('a b 9ms |', { a: audio(70), b: new Uint8Array(1) })
      const { log } = watch(recognizing({ dial: service.dial, buffer: { maxMs: 50 } })(source$))
      return () => {
        expect(log.filter((entry) => entry.includes('gap'))).toEqual([
          '11 gap 50-70 buffer-full',
          '11 gap 70-70.0625 cut-sample',
        ])
        expect(log.at(-1)).toBe('200 complete')
      }
    })
  })

  it('is buffered while the link is congested, and continues in order after the drain', () => {
    virtually(({ clock, watch, recognizing, cold }) => {
      const service = scriptedService<SocketMessage>(clock, [plainRecognizer(0)], {
        scheduler: clock,
        latencyMs: 30,
        highWaterMarkBytes: 500,
        lowWaterMarkBytes: 100,
      })
      // Streaming from 60 on. Two chunks of 320 bytes are above the mark; both have arrived at 100.
      const source$ = cold('60ms a 9ms a 9ms a 9ms (b|)', { a: audio(20), b: audio(5) })
      const { log } = watch(recognizing({ dial: service.dial })(source$))
      return () => {
        expect(service.received).toEqual([
          '30 recognize',
          '90 audio 20',
          '100 audio 20',
          '130 audio 20',
          '130 audio 5',
          '130 finalize-recognition',
        ])
        expect(log.slice(-2)).toEqual(['160 done', '160 complete'])
      }
    })
  })

  it('keeps the audio of a pushed source within the bound while the service does not read, to the byte', () => {
    virtually(({ clock, watch, recognizing, cold }) => {
      const service = scriptedService<SocketMessage>(clock, [plainRecognizer(0)], {
        pauseAfter: 1,
        highWaterMarkBytes: 320,
      })
      const source$ = cold('a 9ms a 9ms a 9ms a 9ms a', { a: audio(20) })
      const { log } = watch(recognizing({ dial: service.dial, buffer: { maxMs: 30 }, stop$: cold('50ms s') })(source$))
      return () => {
        // 2 x 20 ms went to the link and have no result, 30 ms are buffered, the rest does not fit.
        expect(log.filter((entry) => entry.includes('gap'))).toEqual([
          '50 gap 0-70 stopped',
          '50 gap 70-100 buffer-full',
        ])
      }
    })
  })

  it('is carried over when a sample is cut, and no empty message is sent', () => {
    virtually(({ clock, watch, flowing }) => {
      const messages: DataflowMessage[] = []
      const service = scriptedService(clock, [plainDataflow(0)], { onMessage: (message) => messages.push(message) })
      const bytes = numbered(2, 7)
      const parts = [
        bytes.subarray(0, 1),
        bytes.subarray(1, 1),
        bytes.subarray(1, 4),
        bytes.subarray(4, 7),
        bytes.subarray(7),
      ]
      watch(flowing({ dial: service.dial })(parts))
      return () => {
        const sent = messages.filter(({ contentType }) => contentType === 0).map(({ binaryContent }) => binaryContent)
        expect(sent.every(({ length }) => length > 0 && length % 2 === 0)).toBe(true)
        expect(Buffer.concat(sent)).toEqual(Buffer.from(bytes))
      }
    })
  })

  it.each(['pcm', 'ulaw'] as const)(
    'splits a long chunk of %s at whole samples, below the maximum message length',
    (encoding) => {
      virtually(({ clock, watch, recognizing }) => {
        const messages: SocketMessage[] = []
        const service = scriptedService(clock, [plainRecognizer(0)], { onMessage: (message) => messages.push(message) })
        const bytes = numbered(1, 3)
        const format = { encoding, sampleRateHz: 8000, channels: 1 } as const
        watch(recognizing({ dial: service.dial, format, buffer: { maxChunkBytes: 7 } })([bytes]))
        return () => {
          const sent = messages.filter((message) => typeof message !== 'string')
          expect(sent.map(({ length }) => length)).toEqual(encoding === 'pcm' ? [6, 6, 4] : [6, 6, 6, 6, 6, 2])
        }
      })
    },
  )

  it('accepts a pulled chunk of any length, and pulls no more than the link accepts', () => {
    virtually(({ clock, watch, recognizing, cold }) => {
      let asked = 0
      const endless: Iterable<Uint8Array> = {
        [Symbol.iterator]: () => ({
          next: () => {
            asked += 1
            return { done: false, value: audio(100) }
          },
        }),
      }
      const service = scriptedService<SocketMessage>(clock, [plainRecognizer(0)], {
        pauseAfter: 1,
        highWaterMarkBytes: 3500,
      })
      const options = { dial: service.dial, buffer: { maxMs: 30, maxChunkBytes: 800 }, stop$: cold('9ms s') }
      const { log } = watch(recognizing(options)(endless))
      return () => {
        // The audio sent has no result; the second half of the third chunk waits for the drain, beyond the bound for
        // pushed audio.
        expect(asked).toBe(3)
        expect(log.filter((entry) => entry.includes('gap'))).toEqual(['9 gap 0-300 stopped'])
      }
    })
  })

  it.each([800, 1600])(
    'continues to pull after the drain, with messages of at most %i bytes',
    (maxAudioMessageBytes) => {
      virtually(({ clock, watch, recognizing }) => {
        const service = scriptedService<SocketMessage>(clock, [plainRecognizer(0)], {
          scheduler: clock,
          latencyMs: 10,
          highWaterMarkBytes: 1500,
        })
        const options = { dial: service.dial, buffer: { maxChunkBytes: maxAudioMessageBytes } }
        const { log } = watch(recognizing(options)([audio(100), audio(100), audio(100)]))
        return () => {
          const sentMs = service.received.flatMap((message) =>
            message.includes('audio') ? [Number(message.split(' ')[2])] : [],
          )
          expect(sentMs.reduce((sum, value) => sum + value, 0)).toBe(300)
          expect(log.at(-1)).toContain('complete')
        }
      })
    },
  )

  it('stops waiting for the drain when it is unsubscribed', () => {
    virtually(({ watch, recognizing }) => {
      const drained$ = new Subject<undefined>()
      const link: Link<SocketMessage, SocketMessage> = {
        incoming$: concat(of('{"message-name":"recognize-response","operation-result":"Success"}'), NEVER),
        send: () => undefined,
        bufferedBytes: 5,
        isCongested: true,
        drain$: drained$ as Subject<unknown> as Link<SocketMessage, SocketMessage>['drain$'],
        pause: () => undefined,
        resume: () => undefined,
        finish: () => undefined,
        close: () => undefined,
      }
      const { subscription } = watch(recognizing({ dial: () => concat(of(link), NEVER) })(concat(of(audio(5)), NEVER)))
      expect(drained$.observed).toBe(true)
      subscription.unsubscribe()
      expect(drained$.observed).toBe(false)
      return () => undefined
    })
  })

  it('neither loses nor reorders audio that a handler pushes during an event', () => {
    virtually(({ clock, recognizing }) => {
      const lengths: number[] = []
      const service = scriptedService<SocketMessage>(
        clock,
        [{ ...plainRecognizer(0), audio: [0, '{"message-name":"partial-result","text":"x"}'] }],
        { onMessage: (message) => typeof message !== 'string' && lengths.push(message.length / 16) },
      )
      const source$ = new Subject<Uint8Array>()
      let pushed = 1
      recognizing({ dial: service.dial })(source$).subscribe(({ type }) => {
        if (type === 'partial' && pushed < 4) source$.next(audio(++pushed))
      })
      source$.next(audio(1))
      return () => expect(lengths).toEqual([1, 2, 3, 4])
    })
  })

  it('fails by name on a value that is not a Uint8Array', () => {
    virtually(({ clock, watch, recognizing }) => {
      for (const junk of [undefined, null, 'text', 7, [1, 2], new Int16Array(2), new DataView(new ArrayBuffer(2))]) {
        const service = scriptedService(clock, [plainRecognizer(0)])
        const watched = watch(recognizing({ dial: service.dial })([junk as unknown as Uint8Array]))
        expect(watched.log.slice(-2)).toEqual(['0 failed', '0 error invalid-options'])
        expect(watched.error?.message).toContain('Uint8Array')
      }
      return () => undefined
    })
  })
})
