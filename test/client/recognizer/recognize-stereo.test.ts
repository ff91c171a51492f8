import { Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { AudioFormat } from '../../../src/audio/format.js'
import { SpeechError } from '../../../src/errors/speech-error.js'
import { sessionStates } from '../../../src/protocol/states.js'
import { combineStates } from '../../../src/client/recognizer/recognize-stereo.js'
import type { SocketMessage } from '../../../src/transport/link.js'
import { plainRecognizer, recognizerMessage, scriptedService, virtually } from '../virtual-session.js'

const stereo: AudioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 2 }
const audio = (durationMs: number): Uint8Array => new Uint8Array(durationMs * 32)

describe('stereo over the recognition socket', () => {
  it('runs as two recognitions with one subscription, announced as one, with results by channel', () => {
    virtually(({ clock, watch, recognizing, cold, expectSubscriptions }) => {
      const service = scriptedService(clock, [plainRecognizer(10)])
      const source$ = cold('15ms a 9ms |', { a: audio(20) })
      const { log } = watch(recognizing({ dial: service.dial, format: stereo })(source$))
      expectSubscriptions(source$.subscriptions).toBe('^ 24ms !')
      return () => {
        expect(log).toEqual([
          '0 authorizing',
          '0 connecting',
          '0 starting',
          '10 response recognize Success',
          '10 response recognize Success',
          '10 streaming',
          '25 finalizing',
          '35 response finalize-recognition Success',
          '35 milestone hello on 0',
          '35 final hello on 0',
          '35 response finalize-recognition Success',
          '35 milestone hello on 1',
          '35 final hello on 1',
          '35 done',
          '35 complete',
        ])
        expect(service.received.filter((message) => message.includes('audio'))).toEqual(['15 audio 20', '15 audio 20'])
        expect([service.dials.made, service.dials.open, clock.pending()]).toEqual([2, 0, 0])
      }
    })
  })

  it('fails both when one fails, and reports what each still held', () => {
    virtually(({ clock, watch, recognizing, cold, expectSubscriptions }) => {
      const refused = recognizerMessage('recognize-response', { 'operation-result': 'overloaded: Full.' })
      const service = scriptedService<SocketMessage>(clock, [plainRecognizer(10), { recognize: [30, refused] }], {
        pauseAfter: 2,
        highWaterMarkBytes: 300,
      })
      const source$ = cold('5ms a 9ms a 9ms a', { a: audio(20) })
      const { log } = watch(recognizing({ dial: service.dial, format: stereo })(source$))
      expectSubscriptions(source$.subscriptions).toBe('^ 29ms !')
      return () => {
        expect(log.slice(4)).toEqual([
          '30 response recognize overloaded: Full.',
          '30 gap 0-60 failed on 1',
          '30 failed',
          '30 gap 0-60 failed on 0',
          '30 error overloaded',
        ])
        expect([service.dials.open, clock.pending()]).toEqual([0, 0])
      }
    })
  })

  it('continues with one channel when the service has ended the other', () => {
    virtually(({ clock, watch, recognizing, cold }) => {
      const final = recognizerMessage('final-result', { 'operation-result': 'Success', text: 'early', confidence: '1' })
      const service = scriptedService<SocketMessage>(clock, [
        { ...plainRecognizer(0), audio: [0, final] },
        plainRecognizer(0),
      ])
      const source$ = cold('5ms a 9ms a 9ms |', { a: audio(20) })
      const { log } = watch(recognizing({ dial: service.dial, format: stereo })(source$))
      return () => {
        expect(log.filter((entry) => entry.includes('final '))).toEqual(['5 final early on 0', '25 final hello on 1'])
        expect(log.slice(-2)).toEqual(['25 done', '25 complete'])
      }
    })
  })

  it('is streaming only when a channel whose connection was lost meanwhile is back', () => {
    virtually(({ clock, watch, recognizing, cold }) => {
      const broken = new SpeechError('connection-lost', 'The connection broke.')
      const service = scriptedService<SocketMessage>(clock, [
        { ...plainRecognizer(0), audio: [0, broken] },
        plainRecognizer(20),
        plainRecognizer(40),
      ])
      const source$ = cold('5ms a 99ms |', { a: audio(20) })
      const resumption = { firstDelayMs: 1, maxDelayMs: 1 }
      const { log } = watch(recognizing({ dial: service.dial, format: stereo, resumption })(source$))
      return () => {
        const states = log.map((entry) => entry.replace(/^\d+ /, '')).filter((entry) => !entry.includes(' '))
        expect(states.slice(3)).toEqual(['reconnecting', 'streaming', 'resumed', 'finalizing', 'done', 'complete'])
      }
    })
  })

  it('stops both, unsubscribes both, and passes on the error of the source once', () => {
    virtually(({ clock, watch, recognizing, cold, hot, expectSubscriptions }) => {
      const service = scriptedService(clock, [plainRecognizer(10)])
      const source$ = hot<Uint8Array>('-')
      const options = { dial: service.dial, format: stereo }
      const stopped = watch(recognizing({ ...options, stop$: cold('15ms s') })(source$))
      watch(recognizing(options)(source$), 20)
      const failed = watch(recognizing(options)(cold<Uint8Array>('40ms #')))
      expectSubscriptions(source$.subscriptions).toBe(['^ 14ms !', '^ 19ms !'])
      return () => {
        expect(stopped.log.slice(-2)).toEqual(['25 stopped', '25 complete'])
        expect(failed.log.slice(-2)).toEqual(['40 failed', '40 error source-failed'])
        expect([service.dials.made, service.dials.open, clock.pending()]).toEqual([6, 0, 0])
      }
    })
  })

  it('reports a frame that is cut at the end on its channel, pushed and pulled alike', async () => {
    const bytes = Uint8Array.of(1, 2, 3, 4, 5, 6, 7)
    for (const pulled of [false, true]) {
      const sent: Uint8Array[] = []
      const logs: string[] = []
      const over$ = new Subject<string>()
      virtually(({ clock, recognizing }) => {
        const service = scriptedService<SocketMessage>(clock, [plainRecognizer(0)], {
          onMessage: (message) => typeof message !== 'string' && sent.push(message),
        })
        const source$ = new Subject<Uint8Array>()
        recognizing({ dial: service.dial, format: stereo })(pulled ? [bytes] : source$).subscribe({
          next: (event) => event.type === 'gap' && logs.push(`${event.cause} on ${event.channel}`),
          complete: () => over$.complete(),
        })
        source$.next(bytes)
        source$.complete()
        return () => undefined
      })
      if (!over$.isStopped) await new Promise<void>((resolve) => over$.subscribe({ complete: resolve }))
      expect(sent.map((value) => [...value])).toEqual([
        [1, 2],
        [3, 4],
        [5, 6],
      ])
      expect(logs).toEqual(['cut-sample on 1'])
    }
  })
})

describe('the combined state', () => {
  it('is that of the later channel, failed immediately, and an end when both have ended', () => {
    const announced = sessionStates.filter((state) => state !== 'reconnecting')
    for (const left of announced) {
      for (const right of announced) {
        expect(combineStates(left, right)).toBe(combineStates(right, left))
        if (left === right) expect(combineStates(left, right)).toBe(left)
        if (left === 'failed') expect(combineStates(left, right)).toBe('failed')
      }
    }
    expect(combineStates('connecting', 'streaming')).toBe('connecting')
    expect(combineStates('done', 'streaming')).toBe('streaming')
    expect(combineStates('stopped', 'finalizing')).toBe('finalizing')
    expect(combineStates('done', 'stopped')).toBe('stopped')
  })
})

describe('an error that is thrown for both channels', () => {
  it('is the same object for each of them', () => {
    virtually(({ clock, watch, recognizing, cold }) => {
      const lost = new SpeechError('going-away', 'Bye.')
      const service = scriptedService<SocketMessage>(clock, [{ ...plainRecognizer(0), audio: [0, lost] }])
      const watched = watch(recognizing({ dial: service.dial, format: stereo })(cold('5ms a', { a: audio(20) })))
      return () => {
        expect(watched.log.slice(-2)).toEqual(['5 failed', '5 error going-away'])
        expect(watched.log.filter((entry) => entry.includes('error'))).toHaveLength(1)
      }
    })
  })
})
