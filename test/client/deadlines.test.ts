import { EMPTY, from, merge, mergeMap, NEVER, Observable, of, timer } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { DataflowMessage, SocketMessage } from '../../src/transport/link.js'
import { scriptedDial } from '../../src/testing/scripted-dial.js'
import {
  audio,
  ok,
  plainDataflow,
  plainRecognizer,
  recognizerMessage,
  scriptedService,
  virtually,
  type Answers,
} from './virtual-session.js'

const { recognize } = plainRecognizer(0)
const startOnly: Answers<SocketMessage> = recognize ? { recognize } : {}

describe('the deadlines', () => {
  it('report a token that does not arrive', () => {
    virtually(({ clock, watch, recognizing, cold, expectSubscriptions }) => {
      const token$ = cold('-')
      const source$ = cold<Uint8Array>('-')
      const watched = watch(recognizing({ token: token$, timeouts: { tokenMs: 70 } })(source$))
      expectSubscriptions(token$.subscriptions).toBe('^ 69ms !')
      expectSubscriptions(source$.subscriptions).toBe('^ 69ms !')
      return () => {
        expect(watched.log).toEqual(['0 authorizing', '70 failed', '70 error token-timeout'])
        expect(watched.error?.retryable).toBe(true)
        expect(clock.pending()).toBe(0)
      }
    })
  })

  it('report a connection that is not established, and the audio that was buffered for it', () => {
    virtually(({ clock, watch, recognizing, cold }) => {
      let hungUp = 0
      const dial = () => new Observable<never>(() => () => (hungUp += 1))
      const source$ = cold('a 9ms b', { a: audio(10), b: audio(10) })
      const { log } = watch(recognizing({ dial, timeouts: { connectMs: 70 } })(source$))
      return () => {
        expect(log).toEqual([
          '0 authorizing',
          '0 connecting',
          '70 gap 0-20 failed',
          '70 failed',
          '70 error connect-timeout',
        ])
        expect([hungUp, clock.pending()]).toEqual([1, 0])
      }
    })
  })

  it('report a start without a response', () => {
    virtually(({ clock, watch, recognizing }) => {
      const service = scriptedService<SocketMessage>(clock, [{}], { connectMs: 30 })
      const { log } = watch(recognizing({ dial: service.dial, timeouts: { startMs: 70, connectMs: 50 } })(NEVER))
      return () => {
        expect(log.slice(-3)).toEqual(['30 starting', '100 failed', '100 error start-timeout'])
        expect([service.dials.open, clock.pending()]).toEqual([0, 0])
      }
    })
  })

  it('count from the beginning of the wait, whatever happens meanwhile', () => {
    virtually(({ clock, watch, recognizing, cold }) => {
      const service = scriptedService<SocketMessage>(clock, [{}])
      const options = { dial: service.dial, timeouts: { startMs: 70 }, finalize$: cold('40ms f') }
      const { log } = watch(recognizing(options)(NEVER))
      return () => expect(log.at(-1)).toBe('70 error start-timeout')
    })
  })

  it('report a final that does not arrive, on both interfaces and never as success', () => {
    virtually(({ clock, watch, recognizing, flowing, cold }) => {
      const source$ = cold('a 9ms |', { a: audio(10) })
      const socket = scriptedService<SocketMessage>(clock, [startOnly])
      const { Start } = plainDataflow(0)
      const stream = scriptedService<DataflowMessage>(clock, [Start ? { Start } : {}])
      const options = { timeouts: { finalizeMs: 70 } }
      const watched = [
        watch(recognizing({ ...options, dial: socket.dial })(source$)),
        watch(flowing({ ...options, dial: stream.dial })(source$)),
      ]
      return () => {
        for (const { error } of watched) expect(error?.message).toMatch(/Pending from 0 ms\.$/)
        for (const { log } of watched)
          expect(log.slice(-4)).toEqual([
            '10 finalizing',
            '80 gap 0-10 failed',
            '80 failed',
            '80 error finalize-timeout',
          ])
        expect([socket.dials.open, stream.dials.open, clock.pending()]).toEqual([0, 0, 0])
      }
    })
  })

  it('wait for the final as long as results arrive, each within the deadline', () => {
    virtually(({ clock, watch, recognizing, cold }) => {
      const milestone = (startMs: number, endMs: number): string =>
        recognizerMessage('milestone-result', { text: 'x', 'start-msec': String(startMs), 'end-msec': String(endMs) })
      const late = (afterMs: number, ...messages: readonly string[]) =>
        timer(afterMs, clock).pipe(mergeMap(() => from(messages)))
      const slow = scriptedDial<SocketMessage, SocketMessage>(({ received$ }) =>
        received$.pipe(
          mergeMap((message) => {
            if (typeof message !== 'string') return EMPTY
            if (message.includes('"recognize"')) return of(recognizerMessage('recognize-response', ok))
            return merge(
              of(recognizerMessage('finalize-recognition-response', ok)),
              late(60, milestone(0, 10)),
              late(120, milestone(10, 20)),
              late(180, recognizerMessage('final-result', { ...ok, text: 'xx', confidence: '0.9' })),
            )
          }),
        ),
      )
      const { log } = watch(
        recognizing({ dial: slow, timeouts: { finalizeMs: 70 } })(cold('a 9ms |', { a: audio(30) })),
      )
      return () => {
        expect(log.slice(-4)).toEqual(['130 milestone x', '190 final xx', '190 done', '190 complete'])
        expect(clock.pending()).toBe(0)
      }
    })
  })

  it('report a stop without a response', () => {
    virtually(({ clock, watch, recognizing, cold }) => {
      const service = scriptedService<SocketMessage>(clock, [startOnly])
      const { log } = watch(recognizing({ dial: service.dial, stop$: cold('5ms s'), timeouts: { stopMs: 70 } })(NEVER))
      return () => {
        expect(log.slice(-3)).toEqual(['0 streaming', '75 failed', '75 error stop-timeout'])
        expect([service.dials.open, clock.pending()]).toEqual([0, 0])
      }
    })
  })

  it('limit how long sending the rest of the audio may take, from the last progress', () => {
    virtually(({ clock, watch, recognizing, cold }) => {
      const service = scriptedService<SocketMessage>(clock, [startOnly], {
        scheduler: clock,
        latencyMs: 60,
        highWaterMarkBytes: 400,
      })
      // 30 ms of audio exceed the mark, so one chunk is in transit at a time: sent at 120, 180, …
      const source$ = cold('90ms (abc|)', { a: audio(30), b: audio(30), c: audio(30) })
      const { log } = watch(recognizing({ dial: service.dial, timeouts: { finalizeMs: 70, startMs: 500 } })(source$))
      return () => {
        expect(service.received.map((message) => message.replace(/^\d+ /, ''))).toEqual([
          'recognize',
          'audio 30',
          'audio 30',
          'audio 30',
          'finalize-recognition',
        ])
        // Sent at 120, 180 and 240; the wait for the final starts there.
        expect(log.slice(-4)).toEqual([
          '240 finalizing',
          '310 gap 0-90 failed',
          '310 failed',
          '310 error finalize-timeout',
        ])
        expect(clock.pending()).toBe(0)
      }
    })
  })

  it('end a session whose service stopped accepting audio before its end', () => {
    virtually(({ clock, watch, recognizing, cold }) => {
      const service = scriptedService<SocketMessage>(clock, [startOnly], { pauseAfter: 2, highWaterMarkBytes: 400 })
      const source$ = cold('5ms (abc|)', { a: audio(30), b: audio(30), c: audio(30) })
      const { log } = watch(recognizing({ dial: service.dial, timeouts: { finalizeMs: 70 } })(source$))
      return () => {
        expect(log.slice(3)).toEqual([
          '0 response recognize Success',
          '0 streaming',
          '75 gap 0-90 failed',
          '75 failed',
          '75 error finalize-timeout',
        ])
        expect([service.dials.open, clock.pending()]).toEqual([0, 0])
      }
    })
  })
})
