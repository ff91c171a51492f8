import { concat, EMPTY, from, map, merge, mergeMap, NEVER, of, Subject, Subscriber, take, timer } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../src/errors/speech-error.js'
import type { SessionEvent } from '../../src/protocol/session-event.js'
import type { UpdateRequest } from '../../src/protocol/dataflow-messages.js'
import { scriptedDial } from '../../src/testing/scripted-dial.js'
import type { DataflowMessage, SocketMessage } from '../../src/transport/link.js'
import { chunkMs, chunkOf, loudness, wordOf } from './fake-recognition.js'
import {
  close,
  event,
  labelOf,
  ok,
  response,
  recognizerMessage,
  scriptedService,
  virtually,
  type Answers,
} from './virtual-session.js'

const lost = new SpeechError('connection-lost', 'Cut.')
const resumption = { firstDelayMs: 100, maxDelayMs: 2_000, budgetMs: 60_000 }
const started = response('{"MessageName":"StartResponse","operation-result":"success"}')
const labelsOf = (events: readonly SessionEvent[]): string[] =>
  events.filter(({ type }) => type !== 'ledger').map(labelOf)

describe('a resumed session', () => {
  it('emits a final once if the stream breaks after it instead of ending', () => {
    virtually(({ clock, flowing, watch }) => {
      const final = event('{"Name":"SR Final","Channel":0,"Data":{"Text":"hello"}}')
      const answers: Answers<DataflowMessage> = { Start: [1, started], end: [1, final, lost] }
      const { dial, dials } = scriptedService(clock, [answers])
      const { log } = watch(flowing({ dial, resumption })(of(chunkOf(0, 1))))
      return () => {
        expect(log.slice(-3)).toEqual(['2 final hello on 0', '2 done', '2 complete'])
        expect(dials.made).toBe(1)
      }
    })
  })

  it('takes an empty final for the answer to the half-close, however much sound follows the end that it reports', () => {
    virtually(({ clock, flowing, watch }) => {
      const final = (text: string, endMs: number): DataflowMessage =>
        event(JSON.stringify({ Name: 'SR Final', Channel: 0, StartMsec: 0, EndMsec: endMs, Data: { Text: text } }))
      const spoken: Answers<DataflowMessage> = { Start: [1, started], end: [1, final('hello', chunkMs), close] }
      const noise: Answers<DataflowMessage> = { Start: [1, started], end: [1, final('', 0), close] }
      const { dial, dials } = scriptedService(clock, [spoken, noise])
      const sound = Array.from({ length: 50 }, (_none, index) => chunkOf(index, 1))
      const { log } = watch(flowing({ dial, resumption })(sound))
      return () => {
        expect(log.slice(-3).map((line) => line.split(' ').slice(1).join(' '))).toEqual([
          'final  on 0',
          'done',
          'complete',
        ])
        expect(dials.made).toBe(2)
      }
    })
  })

  it('fails when recognitions after the end of the audio read nothing for as long as attempts may take, however long each lasts', () => {
    virtually(({ clock, flowing, watch }) => {
      const final = (heardMs: number): DataflowMessage =>
        event(`{"Name":"SR Final","Channel":0,"Data":{"Text":"","HeardMsec":${heardMs}}}`)
      const deaf: Answers<DataflowMessage> = { Start: [1, started], end: [12_000, final(0), close] }
      const sound: Answers<DataflowMessage> = { Start: [1, started], end: [1, final(chunkMs), close] }
      const { dial } = scriptedService(clock, [deaf, deaf, deaf, deaf, deaf, deaf, deaf, deaf, sound])
      const { log } = watch(flowing({ dial, resumption })(of(chunkOf(0, 1))))
      return () => {
        const ends = log.slice(-3).map((line) => line.split(' ').slice(1).join(' '))
        expect(ends).toEqual([`gap 0-${chunkMs} failed`, 'failed', 'error connection-lost'])
      }
    })
  })

  it('enters streaming and emits the start-response if the first start was cut off', () => {
    virtually(({ clock, flowing, watch }) => {
      const cut: Answers<DataflowMessage> = { Start: [1, lost] }
      const whole: Answers<DataflowMessage> = { Start: [1, started] }
      const { dial } = scriptedService(clock, [cut, whole])
      const { log } = watch(flowing({ dial, resumption })(NEVER), 200)
      return () => expect(log.slice(-3)).toEqual(['1 reconnecting', '52 response Start success', '52 streaming'])
    })
  })

  it('repeats a request that was sent while the other connection was being opened', () => {
    virtually(({ clock, flowing, watch }) => {
      const received: string[] = []
      const onMessage = (message: DataflowMessage): unknown =>
        message.contentType === 2 && received.push(message.content)
      const slow: Answers<DataflowMessage> = {
        Start: [50, started],
        Update: [1, response('{"operation-result":"success"}')],
      }
      const { dial } = scriptedService(clock, [{ Start: [1, started], audio: [1, lost] }, slow], { onMessage })
      const update$ = new Subject<UpdateRequest>()
      watch(flowing({ dial, resumption, update$ })(concat(of(chunkOf(0, 1)), NEVER)), 400)
      // The second start was sent at 52 ms and is answered at 102 ms.
      clock.schedule(() => update$.next({ settings: { Mode: 'late' } }), 80)
      return () => {
        expect(received.map((message) => message.includes('late'))).toEqual([false, false, true])
        expect(received[2]).toContain('Update')
      }
    })
  })

  it('emits no final with an error after which another recognition continued, and settles what that one has covered', () => {
    virtually(({ clock, flowing, watch }) => {
      const failed = event('{"Name":"SR Final","Channel":0,"Data":{"Text":"a0","Error":"engine-failed: Broken."}}')
      const whole = event('{"Name":"SR Final","Channel":0,"EndMsec":20,"Data":{"Text":"a1"}}')
      const { dial } = scriptedService<DataflowMessage>(clock, [
        { Start: [1, started], audio: [1, failed, close] },
        { Start: [1, started], end: [1, whole, close] },
      ])
      // Nothing is kept for a replay, so there is nothing to recognize until the second chunk.
      const audio$ = concat(of(chunkOf(0, 1)), timer(500, clock).pipe(map(() => chunkOf(1, 1))))
      const options = { resumption: { ...resumption, maxReplayBytes: 0 }, finalizeBy: 'half-close' } as const
      const { log, ledger } = watch(flowing({ dial, ...options })(audio$))
      return () => {
        expect(log.filter((line) => / (milestone|final) /.test(line)).map((line) => line.replace(/^\d+ /, ''))).toEqual(
          ['milestone a0 on 0', 'final a0 a1 on 0'],
        )
        expect(log.at(-1)).toMatch('complete')
        expect(ledger.at(-1)).toMatchObject({ finalizedMs: chunkMs, droppedMs: chunkMs })
      }
    })
  })

  it('counts all audio as covered if the service, in whole milliseconds, is less than one before the end', () => {
    virtually(({ clock, flowing, watch }) => {
      const data = { Text: 'hello', HeardMsec: 100 }
      const final = event(JSON.stringify({ Name: 'SR Final', Channel: 0, StartMsec: 0, EndMsec: 100, Data: data }))
      const { dial, dials } = scriptedService<DataflowMessage>(clock, [{ Start: [1, started], end: [1, final, close] }])
      // 100.375 ms, loud until the end.
      const loud = new Uint8Array(new Int16Array(803).fill(loudness).buffer)
      const { log, ledger } = watch(flowing({ dial, resumption, finalizeBy: 'half-close' })(of(loud)))
      return () => {
        expect(log.slice(-2).map((line) => line.split(' ')[1])).toEqual(['done', 'complete'])
        expect(dials.made).toBe(1)
        expect(ledger.at(-1)).toMatchObject({ capturedMs: 100.375, finalizedMs: 100.375, droppedMs: 0 })
      }
    })
  })

  it('gives up within its budget on a service that never finishes audio that has ended', () => {
    virtually(({ clock, recognizing, watch }) => {
      // Each connection lasts longer than the longest delay, which restores the budget while audio still arrives.
      const answers: Answers<SocketMessage> = {
        recognize: [1, recognizerMessage('recognize-response', ok)],
        'finalize-recognition': [5_000, lost],
      }
      const { dial, dials } = scriptedService(clock, [answers])
      const seen = watch(
        recognizing({ dial, resumption, timeouts: { finalizeMs: 10_000 } })(of(chunkOf(0, 1))),
        600_000,
      )
      return () => {
        expect(seen.error?.code).toBe('connection-lost')
        expect(seen.log.at(-1)?.split(' ')[0]).toSatisfy((atMs) => Number(atMs) < 72_000)
        expect(dials.made).toBeGreaterThan(5)
        expect(seen.ledger.at(-1)?.droppedMs).toBe(chunkMs)
      }
    })
  })

  it.each(['reconnecting', 'resumed', 'milestone', 'gap', 'ledger'])(
    'leaves no timer when a handler unsubscribes at %s',
    (at) => {
      for (let nth = 1; nth < 6; nth++) {
        virtually(({ clock, recognizing }) => {
          const answers: Answers<SocketMessage> = {
            recognize: [1, recognizerMessage('recognize-response', ok)],
            audio: [
              1,
              recognizerMessage('final-result', { 'operation-result': 'engine-failed: Broken.', text: 'a word more' }),
              lost,
            ],
          }
          const { dial } = scriptedService<SocketMessage>(clock, [answers])
          const audio$ = timer(0, 20, clock).pipe(
            take(50),
            map(() => chunkOf(1, 1)),
          )
          let seen = 0
          const subscriber = new Subscriber<SessionEvent>({
            error: (error: unknown) => expect.unreachable(String(error)),
            complete: () => expect.unreachable('It was left.'),
            next: (event) => {
              const isIt = event.type === at || (event.type === 'connection' && event.state === at)
              if (isIt && ++seen === nth) {
                subscriber.unsubscribe()
                // After the handler has returned, when the session continues.
                clock.schedule(() => expect(clock.pending()).toBe(0), 0)
              }
            },
          })
          recognizing({ dial, resumption: { ...resumption, maxReplayBytes: 0 } })(audio$).subscribe(subscriber)
          return () => expect(seen).toBeGreaterThan(0)
        })
      }
    },
  )

  it('recognizes a repeated event of a node after two losses', () => {
    virtually(({ clock, flowing }) => {
      const speech = event('{"Name":"Speech Started","Channel":0,"StartMsec":80,"EndMsec":80}')
      let received = 0
      let connection = 0
      const dial = scriptedDial<DataflowMessage, DataflowMessage>(
        ({ received$, link }) => {
          connection += 1
          received = 0
          const mine = connection
          return merge(
            NEVER,
            received$.pipe(
              mergeMap((message) => {
                if (message.contentType === 2) return of(started)
                received += 1
                if (mine === 1 && received === 5) link.close(lost)
                if (mine === 2 && received === 2) {
                  link.pause()
                  clock.schedule(() => link.close(lost), 10)
                }
                return received === 4 ? of(speech) : EMPTY
              }),
            ),
          )
        },
        { highWaterMarkBytes: 1, lowWaterMarkBytes: 0 },
      )
      const events: SessionEvent[] = []
      const audio$ = concat(from([0, 1, 2, 3, 4].map((index) => chunkOf(index, 1))), NEVER)
      const subscription = flowing({ dial, resumption })(audio$).subscribe((value) => events.push(value))
      clock.schedule(() => subscription.unsubscribe(), 3_000)
      return () => {
        expect(connection).toBe(3)
        expect(labelsOf(events).filter((label) => label === 'event Speech Started')).toHaveLength(1)
      }
    })
  })

  it('loses no word of a file that was sent at once to a service without times', () => {
    virtually(({ clock, recognizing }) => {
      const count = 500
      let connection = 0
      const dial = scriptedDial<SocketMessage, SocketMessage>(({ received$, link }) => {
        const nth = (connection += 1)
        const words: string[] = []
        const ending = { asked: false }
        // Five times as fast as it was recorded.
        const milestones$ = timer(40, 40, clock).pipe(
          mergeMap((round) => {
            if (nth < 3 && round === 100) {
              link.close(lost)
              return EMPTY
            }
            const mine = words.splice(0, 10)
            if (mine.length > 0)
              return of(recognizerMessage('milestone-result', { text: `${round === 0 ? '' : ' '}${mine.join(' ')}` }))
            if (!ending.asked) return EMPTY
            ending.asked = false
            return of(
              recognizerMessage('finalize-recognition-response', ok),
              recognizerMessage('final-result', { ...ok, text: '' }),
            )
          }),
        )
        const answers$ = received$.pipe(
          mergeMap((message) => {
            if (typeof message === 'string') {
              if (message.includes('finalize')) ending.asked = true
              return message.includes('finalize') ? EMPTY : of(recognizerMessage('recognize-response', ok))
            }
            words.push(wordOf(0, new DataView(message.buffer, message.byteOffset).getInt16(0, true) - loudness))
            return nth < 3 && words.length === 400
              ? timer(600, clock).pipe(mergeMap(() => (link.close(lost), EMPTY)))
              : EMPTY
          }),
        )
        return merge(milestones$, answers$)
      })
      const labels: string[] = []
      const chunks = Array.from({ length: count }, (_, index) => chunkOf(index, 1))
      const audio$ = concat(
        from(chunks.slice(0, -1)),
        timer(4_000, clock).pipe(mergeMap(() => of(chunkOf(count - 1, 1)))),
      )
      const subscription = recognizing({ dial, resumption })(audio$).subscribe((event) => {
        if (event.type === 'milestone') labels.push(...event.text.trim().split(' '))
      })
      clock.schedule(() => subscription.unsubscribe(), 60_000)
      return () => {
        expect(connection).toBe(3)
        expect(labels).toEqual(Array.from({ length: count }, (_, index) => wordOf(0, index)))
        expect(chunkMs * count).toBe(10_000)
      }
    })
  })
})
