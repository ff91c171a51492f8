import { NEVER } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../src/errors/speech-error.js'
import type { SessionEvent } from '../../src/protocol/session-event.js'
import type { DataflowMessage, SocketMessage } from '../../src/transport/link.js'
import {
  audio,
  close,
  event,
  ok,
  plainDataflow,
  plainRecognizer,
  response,
  recognizerMessage,
  scriptedService,
  virtually,
  type Answer,
} from './virtual-session.js'

const accepted = recognizerMessage('recognize-response', ok)
const final = recognizerMessage('final-result', { ...ok, text: 'hello', confidence: '0.9' })

/** The log of a session whose `recognize` is answered this way, from the first answer on. */
const logOf = (answer: Answer<SocketMessage>, finalize?: Answer<SocketMessage>): readonly string[] => {
  let log: readonly string[] = []
  virtually(({ clock, watch, recognizing, cold }) => {
    const rest = plainRecognizer(0)
    const service = scriptedService<SocketMessage>(clock, [
      { ...rest, recognize: answer, ...(finalize && { 'finalize-recognition': finalize }) },
    ])
    const watched = watch(recognizing({ dial: service.dial })(cold('5ms a 4ms |', { a: audio(20) })))
    log = watched.log
    return () => expect([clock.pending(), service.dials.open]).toEqual([0, 0])
  })
  return log.slice(3)
}
const tail = [
  '10 finalizing',
  '10 response finalize-recognition Success',
  '10 milestone hello',
  '10 final hello',
  '10 done',
  '10 complete',
]

describe('a service that misbehaves', () => {
  it.each([
    ['binary', new Uint8Array(3), 'unknown 3'],
    ['no JSON', 'not json', 'unknown not json'],
    ['JSON that is not an object', '[1]', 'unknown [1]'],
    ['a message without a name', '{}', 'unknown {}'],
    ['a message of an unknown name', recognizerMessage('surprise'), `unknown ${recognizerMessage('surprise')}`],
    ['a field of the wrong type', '{"message-name":"partial-result","text":5}', undefined],
    ['__proto__', '{"__proto__":{"message-name":"final-result"}}', undefined],
  ] as const)('reports %s as a value and continues', (_what, junk, label) => {
    const log = logOf([0, junk, accepted])
    expect(log[0]).toMatch(/^0 unknown /)
    if (label !== undefined) expect(log[0]).toBe(`0 ${label}`)
    expect(log.slice(1)).toEqual(['0 response recognize Success', '0 streaming', ...tail])
  })

  it.each([
    ['text', '', 'unknown '],
    ['binary', new Uint8Array(0), 'unknown 0'],
  ] as const)(
    'ends with protocol-violation after an empty message of %s, and reads no further one',
    (_what, empty, label) => {
      const log = logOf([0, accepted, empty, empty, empty])
      expect(log).toEqual([
        '0 response recognize Success',
        '0 streaming',
        `0 ${label}`,
        '0 failed',
        '0 error protocol-violation',
      ])
    },
  )

  it('does not start twice when the start-response arrives twice', () => {
    expect(logOf([0, accepted, accepted])).toEqual([
      '0 response recognize Success',
      '0 streaming',
      '0 response recognize Success',
      ...tail,
    ])
  })

  it('emits results that arrive before the start-response, in their order', () => {
    const log = logOf([
      0,
      recognizerMessage('milestone-result', { text: 'b' }),
      recognizerMessage('partial-result', { text: 'a' }),
      accepted,
    ])
    expect(log.slice(0, 4)).toEqual(['0 milestone b', '0 partial a', '0 response recognize Success', '0 streaming'])
    expect(log.slice(4)).toEqual(tail)
  })

  it('emits an event of a recognizer as it emits those of the nodes of a project', () => {
    const fields = '"name":"Partials Thinned","channel":"0","start-msec":"40","data":{"Phase":"begun"}'
    const events: unknown[] = []
    virtually(({ clock, recognizing, cold }) => {
      const rest = plainRecognizer(0)
      const answers = [accepted, `{"message-name":"event",${fields}}`, recognizerMessage('event', { name: 'Bare' })]
      const service = scriptedService<SocketMessage>(clock, [{ ...rest, recognize: [0, ...answers] }])
      recognizing({ dial: service.dial })(cold('5ms a 4ms |', { a: audio(20) })).subscribe((one) => events.push(one))
      return () => expect(clock.pending()).toBe(0)
    })
    const times = { channel: -1, startMs: -1, endMs: -1, tags: [] }
    expect(events.filter((one) => (one as SessionEvent).type === 'event')).toEqual([
      { type: 'event', name: 'Partials Thinned', ...times, channel: 0, startMs: 40, data: { Phase: 'begun' } },
      { type: 'event', name: 'Bare', ...times, data: null },
    ])
  })

  it('ends with the first final when it arrives twice, and emits nothing after it', () => {
    const finalizing = recognizerMessage('finalize-recognition-response', ok)
    const log = logOf(
      [0, accepted],
      [0, finalizing, final, recognizerMessage('milestone-result', { text: 'late' }), final],
    )
    const answered = '10 response finalize-recognition Success'
    expect(log.slice(2)).toEqual(['10 finalizing', answered, '10 final hello', '10 done', '10 complete'])
  })

  it('continues after a final before the source has ended, and reports silence', () => {
    const log = logOf([0, accepted, final])
    const begun = ['0 response recognize Success', '0 streaming', '0 final hello']
    expect(log).toEqual([...begun, '10 gap 0-20 silence', '10 done', '10 complete'])
  })

  it('treats responses to requests that were not sent as values only', () => {
    const log = logOf([
      0,
      recognizerMessage('finalize-recognition-response', ok),
      recognizerMessage('stop-recognition-response', { 'operation-result': 'no-recognition: nothing runs' }),
      accepted,
      recognizerMessage('finalize-recognition-response', { 'operation-result': 'no' }),
      recognizerMessage('stop-recognition-response', ok),
    ])
    expect(log.slice(-tail.length)).toEqual(tail)
    expect(log.filter((entry) => entry.startsWith('0 response'))).toHaveLength(5)
  })

  it.each([
    ['model-denied: Not this one.', 'model-denied', 'Not this one.'],
    ['No such model', 'refused', 'No such model'],
    ['', 'refused', 'no reason'],
  ])('errors by name when the start is refused with "%s"', (text, code, words) => {
    virtually(({ clock, watch, recognizing, cold }) => {
      const refused = recognizerMessage('recognize-response', { 'operation-result': text })
      const service = scriptedService<SocketMessage>(clock, [{ recognize: [10, refused] }])
      const watched = watch(recognizing({ dial: service.dial })(cold('a', { a: audio(20) })))
      return () => {
        expect(watched.log.slice(3)).toEqual([
          `10 response recognize ${text}`,
          '10 gap 0-20 failed',
          '10 failed',
          `10 error ${code}`,
        ])
        expect(watched.error?.message).toContain(words)
        expect([clock.pending(), service.dials.open]).toEqual([0, 0])
      }
    })
  })

  it.each(['{"message-name":"recognize-response"}', '{"message-name":"recognize-response","operation-result":5}'])(
    'errors immediately when the response to the start is %s',
    (malformed) => {
      const log = logOf([4, malformed])
      expect(log).toEqual([`4 unknown ${malformed}`, '4 failed', '4 error protocol-violation'])
    },
  )

  it('emits a second response to the start as a value when it cannot be read', () => {
    const malformed = '{"message-name":"recognize-response"}'
    expect(logOf([0, accepted, malformed]).slice(2)).toEqual([`0 unknown ${malformed}`, ...tail])
  })

  it('emits a final with an error, then errors with it', () => {
    const failed = recognizerMessage('final-result', { 'operation-result': 'engine-failed: Broken.', text: 'hel' })
    expect(logOf([0, accepted], [0, failed]).slice(2)).toEqual([
      '10 finalizing',
      '10 final hel',
      '10 gap 0-20 failed',
      '10 failed',
      '10 error engine-failed',
    ])
  })

  it('errors when the finalize is rejected', () => {
    const refused = recognizerMessage('finalize-recognition-response', { 'operation-result': 'internal: Broken.' })
    expect(logOf([0, accepted], [0, refused]).at(-1)).toBe('10 error internal')
  })

  it('errors when the connection closes normally without a final, or without a response to the start', () => {
    expect(logOf([0, accepted], [0, recognizerMessage('partial-result', { text: 'hel' }), close]).slice(3)).toEqual([
      '10 partial hel',
      '10 gap 0-20 failed',
      '10 failed',
      '10 error connection-lost',
    ])
    expect(logOf([4, close])).toEqual(['4 failed', '4 error protocol-violation'])
  })

  it.each([
    ['starting', [3] as const, '3'],
    ['streaming', [0, accepted] as const, '7'],
  ])('emits what preceded the break of a link while %s, then its error', (_state, answer, at) => {
    virtually(({ clock, watch, recognizing }) => {
      const lost = new SpeechError('going-away', 'Bye.')
      const service = scriptedService<SocketMessage>(clock, [
        {
          recognize: answer.length === 1 ? [3, recognizerMessage('partial-result', { text: 'a' }), lost] : answer,
          audio: [7, recognizerMessage('partial-result', { text: 'a' }), lost],
        },
      ])
      const watched = watch(recognizing({ dial: service.dial })([audio(20)]))
      watched.subscription.add(NEVER.subscribe())
      return () => {
        expect(watched.log.filter((entry) => !entry.includes('gap')).slice(-3)).toEqual(
          [`partial a`, `failed`, `error going-away`].map((value) => `${at} ${value}`),
        )
        expect(watched.log.includes('7 gap 0-20 failed')).toBe(at === '7')
        expect(watched.error?.retryable).toBe(true)
        expect([clock.pending(), service.dials.open]).toEqual([0, 0])
      }
    })
  })

  it('treats a final that crossed the stop as the end, and emits no result after the stop', () => {
    virtually(({ clock, watch, recognizing, cold }) => {
      const service = scriptedService<SocketMessage>(clock, [
        {
          recognize: [0, accepted],
          'stop-recognition': [
            5,
            recognizerMessage('partial-result', { text: 'late' }),
            'junk',
            final,
            recognizerMessage('stop-recognition-response', { 'operation-result': 'no-recognition: over' }),
          ],
        },
      ])
      const { log } = watch(recognizing({ dial: service.dial, stop$: cold('10ms s') })(NEVER))
      return () => expect(log.slice(4)).toEqual(['0 streaming', '15 unknown junk', '15 stopped', '15 complete'])
    })
  })

  it('errors when the stop is rejected', () => {
    virtually(({ clock, watch, recognizing, cold }) => {
      const refused = recognizerMessage('stop-recognition-response', { 'operation-result': 'internal: no' })
      const service = scriptedService<SocketMessage>(clock, [
        { recognize: [0, accepted], 'stop-recognition': [5, refused] },
      ])
      const { log } = watch(recognizing({ dial: service.dial, stop$: cold('10ms s') })(NEVER))
      return () => expect(log.slice(-2)).toEqual(['15 failed', '15 error internal'])
    })
  })
})

describe('a dataflow service', () => {
  const start: Answer<DataflowMessage> = [0, response('{"operation-result":"success"}')]

  it('survives every message outside the protocol as a value', () => {
    virtually(({ clock, watch, flowing }) => {
      const junk: DataflowMessage[] = [
        response('not json'),
        response('{}'),
        event('[]'),
        event('{"Name":5}'),
        { contentType: 2, content: '{"MessageName":"Start"}', binaryContent: new Uint8Array(0) },
        { contentType: 99, content: '', binaryContent: new Uint8Array(4) },
        { contentType: 0, content: 'text', binaryContent: new Uint8Array(0) },
        { contentType: 0, content: '', binaryContent: new Uint8Array(0) },
      ]
      const service = scriptedService<DataflowMessage>(clock, [
        { ...plainDataflow(0), Start: [0, response('{"operation-result":"SUCCESS"}'), ...junk] },
      ])
      const { log } = watch(flowing({ dial: service.dial })([]))
      return () => {
        expect(log.filter((entry) => entry.includes('unknown'))).toHaveLength(junk.length)
        expect(log.slice(-2)).toEqual(['0 done', '0 complete'])
      }
    })
  })

  it.each(['not json', '{}', '{"MessageName":"StartResponse","operation-result":null}'])(
    'errors immediately when the response to the start is %s',
    (malformed) => {
      virtually(({ clock, watch, flowing }) => {
        const service = scriptedService<DataflowMessage>(clock, [{ Start: [7, response(malformed)] }])
        const { log } = watch(flowing({ dial: service.dial })([audio(20)]))
        return () => {
          expect(log.slice(-3)).toEqual([`7 unknown ${malformed}`, '7 failed', '7 error protocol-violation'])
          expect([clock.pending(), service.dials.open]).toEqual([0, 0])
        }
      })
    },
  )

  it('emits events of nodes and audio, and is done when the service ends the stream early, reporting audio without a result', () => {
    virtually(({ clock, watch, flowing, cold }) => {
      const service = scriptedService<DataflowMessage>(
        clock,
        [
          {
            Start: start,
            audio: [
              10,
              event('{"Name":"Mood","Channel":-2}'),
              { contentType: 0, content: '', binaryContent: new Uint8Array(6) },
              close,
            ],
          },
        ],
        { pauseAfter: 2, highWaterMarkBytes: 300 },
      )
      const session = flowing({ dial: service.dial, continuous: false })
      const { log } = watch(session(cold('a 2ms a 2ms a', { a: audio(20) })))
      return () => {
        expect(log.slice(5)).toEqual(['10 event Mood', '10 audio 6', '10 gap 0-60 ended', '10 done', '10 complete'])
        expect([clock.pending(), service.dials.open]).toEqual([0, 0])
      }
    })
  })

  it.each([
    ['has lost its service if there is no final', [], '5 gap 20-60 failed'],
    ['is done at the final, which confirms no more than its milestones', ['SR Final'], '5 gap 20-60 ended'],
  ])('%s, if the service ends the stream early and one recognition is requested', (_what, names, expected) => {
    virtually(({ clock, watch, flowing, cold }) => {
      const events = names.map((name) => event(`{"Name":"${name}","Channel":0,"Data":{"Text":"hi"}}`))
      const milestone = event('{"Name":"SR Milestone","Channel":0,"StartMsec":0,"EndMsec":20,"Data":{"Text":"hi"}}')
      const service = scriptedService<DataflowMessage>(clock, [
        { Start: start, audio: [5, milestone, ...events, close] },
      ])
      const { log } = watch(flowing({ dial: service.dial, continuous: false })(cold('a', { a: audio(60) })))
      return () => expect(log.find((line) => / (gap|done) ?/.test(line))).toBe(expected)
    })
  })

  it('errors with the error of the status, after everything that preceded it', () => {
    virtually(({ clock, watch, flowing }) => {
      const service = scriptedService<DataflowMessage>(clock, [
        {
          Start: start,
          end: [
            5,
            event('{"Name":"SR Milestone","Channel":1,"Data":{"Text":"hi"}}'),
            new SpeechError('overloaded', 'Full.'),
          ],
        },
      ])
      const { log } = watch(flowing({ dial: service.dial })([audio(20)]))
      return () =>
        expect(log.slice(-4)).toEqual(['5 milestone hi on 1', '5 gap 0-20 failed', '5 failed', '5 error overloaded'])
    })
  })
})
