import { concat, defer, EMPTY, NEVER, of, Subject, throwError, timer, map } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../src/errors/speech-error.js'
import { keepFresh } from '../../src/auth/keep-fresh.js'
import type { Token } from '../../src/protocol/token.js'
import type { TokenSource } from '../../src/client/token.js'
import type { DataflowMessage, SocketMessage } from '../../src/transport/link.js'
import {
  close,
  plainDataflow,
  plainRecognizer,
  response,
  scriptedService,
  virtually,
  type Answer,
} from './virtual-session.js'

const tokenOf = (accessToken: string): Token => ({ accessToken, tokenType: 'Bearer', expiresAtMs: Infinity })
const refusal = new SpeechError('unauthenticated', 'Not this token.')
const tokensSent = (messages: readonly DataflowMessage[]): string[] =>
  messages.flatMap(({ contentType, content }) =>
    contentType === 2 ? [(JSON.parse(content) as { readonly Token: string }).Token] : [],
  )

describe('the token', () => {
  it.each<readonly [string, TokenSource]>([
    ['a text', 'T'],
    ['a token', tokenOf('T')],
    ['an Observable of texts', of('T', 'U')],
    ['an Observable of tokens', of(tokenOf('T'))],
    ['a list', ['T']],
  ])('is read from %s', (_what, token) => {
    virtually(({ clock, watch, flowing }) => {
      const messages: DataflowMessage[] = []
      const service = scriptedService(clock, [plainDataflow(0)], { onMessage: (message) => messages.push(message) })
      const { log } = watch(flowing({ dial: service.dial, token })([]))
      return () => {
        expect(tokensSent(messages)).toEqual(['T'])
        expect(log.at(-1)).toBe('0 complete')
      }
    })
  })

  it.each<readonly [string, TokenSource, string]>([
    ['errors', throwError(() => new SpeechError('invalid-client', 'Wrong.')), 'invalid-client'],
    ['errors with something else', throwError(() => new Error('x')), 'token-endpoint-failed'],
    ['is empty', EMPTY, 'unauthenticated'],
    ['emits an empty text', of(''), 'unauthenticated'],
    ['emits nothing', of(undefined as unknown as string), 'unauthenticated'],
    ['emits a number', of(5 as unknown as string), 'unauthenticated'],
  ])('is reported as missing by name when its source %s', (_what, token, code) => {
    virtually(({ clock, watch, recognizing }) => {
      const service = scriptedService(clock, [plainRecognizer(0)])
      const { log } = watch(recognizing({ dial: service.dial, token })(NEVER))
      return () => {
        expect(log).toEqual(['0 authorizing', '0 failed', `0 error ${code}`])
        expect([service.dials.made, clock.pending()]).toEqual([0, 0])
      }
    })
  })

  it('is requested once per session, and not kept', () => {
    virtually(({ clock, watch, recognizing, cold, expectSubscriptions }) => {
      const token$ = cold('5ms t 5ms u', { t: 'T', u: 'U' })
      const service = scriptedService(clock, [plainRecognizer(0)])
      watch(recognizing({ dial: service.dial, token: token$ })([]))
      expectSubscriptions(token$.subscriptions).toBe('^ 4ms !')
      return () => expect(service.dials.made).toBe(1)
    })
  })

  it('never appears in an event or an error', () => {
    virtually(({ clock, recognizing, flowing, cold }) => {
      const texts: string[] = []
      const note = (value: unknown): void =>
        void texts.push(JSON.stringify(value, Object.getOwnPropertyNames(Object(value))))
      const socket = scriptedService<SocketMessage>(clock, [{ recognize: [0, refusal] }])
      const stream = scriptedService<DataflowMessage>(clock, [{ Start: [0, refusal] }])
      const token$ = of('secret-token')
      for (const session$ of [
        recognizing({ token: token$, dial: socket.dial })(NEVER),
        flowing({ token: token$, dial: stream.dial })(NEVER),
        recognizing({ token: token$, timeouts: { tokenMs: 5 }, dial: () => cold('#') })(NEVER),
        recognizing({ token: token$, presentToken: () => ({ url: 'ws://x' }), dial: () => cold('#', {}, 'x') })(NEVER),
      ]) {
        session$.subscribe({ next: note, error: note })
      }
      return () => {
        expect(texts.length).toBeGreaterThan(8)
        expect(texts.join()).not.toContain('secret-token')
      }
    })
  })
})

const refused: Answer<DataflowMessage> = [
  0,
  response('{"operation-result":"unauthenticated: Not this token."}'),
  refusal,
]

describe('a token that is refused before the session streams', () => {
  it('is requested once more, and the other token is tried on a new connection', () => {
    virtually(({ clock, watch, flowing, cold }) => {
      const messages: DataflowMessage[] = []
      const service = scriptedService(clock, [{ Start: refused }, plainDataflow(0)], {
        onMessage: (message) => messages.push(message),
      })
      let asked = 0
      const token$ = defer(() => of(`T${++asked}`))
      const source$ = cold('a 9ms |', { a: new Uint8Array(320) })
      const { log } = watch(flowing({ dial: service.dial, token: token$ })(source$))
      return () => {
        expect(tokensSent(messages)).toEqual(['T1', 'T2'])
        expect(log).toEqual([
          '0 authorizing',
          '0 connecting',
          '0 starting',
          '0 response Start unauthenticated: Not this token.',
          '0 authorizing',
          '0 connecting',
          '0 starting',
          '0 response Start success',
          '0 streaming',
          '10 finalizing',
          '10 final hello on 0',
          '10 done',
          '10 complete',
        ])
        expect(source$.subscriptions).toHaveLength(1)
        expect([service.dials.made, service.dials.open, clock.pending()]).toEqual([2, 0, 0])
      }
    })
  })

  it('is not remembered with the messages of its connection', () => {
    virtually(({ clock, watch, flowing }) => {
      const unnamed: Answer<DataflowMessage> = [0, response('{"operation-result":"success"}')]
      const service = scriptedService<DataflowMessage>(clock, [
        { Start: [0, refusal] },
        { ...plainDataflow(0), Finalize: [5, ...unnamed.slice(1), close] as Answer<DataflowMessage> },
      ])
      let asked = 0
      const token$ = defer(() => of(`T${++asked}`))
      const { log } = watch(flowing({ dial: service.dial, token: token$, finalizeBy: 'request' })([]))
      return () => expect(log.slice(-3)).toEqual(['5 response Finalize success', '5 done', '5 complete'])
    })
  })

  it('errors with the refusal when the other token is refused as well', () => {
    virtually(({ clock, watch, flowing }) => {
      const service = scriptedService(clock, [{ Start: refused }])
      let asked = 0
      const token$ = defer(() => of(`T${++asked}`))
      const watched = watch(flowing({ dial: service.dial, token: token$ })(NEVER))
      return () => {
        expect([watched.log.at(-1), asked]).toEqual(['0 error unauthenticated', 2])
        expect([service.dials.made, service.dials.open, clock.pending()]).toEqual([2, 0, 0])
      }
    })
  })

  it.each<readonly [string, TokenSource, number]>([
    ['is fixed', 'T', 1],
    ['emits the same token', of('T'), 2],
    ['emits none', concat(of('T'), NEVER), 2],
  ])('errors with the refusal, without another connection, when its source %s', (_what, token, authorizings) => {
    virtually(({ clock, watch, flowing }) => {
      const service = scriptedService(clock, [{ Start: refused }])
      const { log } = watch(flowing({ dial: service.dial, token })(NEVER))
      return () => {
        expect(log.filter((entry) => entry === '0 authorizing')).toHaveLength(authorizings)
        expect(log.at(-1)).toBe('0 error unauthenticated')
        expect([service.dials.made, service.dials.open, clock.pending()]).toEqual([1, 0, 0])
      }
    })
  })

  it.each(['connecting', 'starting'] as const)(
    'makes keepFresh request another token by rejected$, also when the connection is refused while %s',
    (state) => {
      virtually(({ clock, watch, recognizing }) => {
        let requested = 0
        const request$ = defer(() => timer(5, clock).pipe(map(() => tokenOf(`T${++requested}`))))
        const rejected$ = new Subject<Pick<Token, 'accessToken'>>()
        const rejected: string[] = []
        rejected$.subscribe(({ accessToken }) => rejected.push(accessToken))
        const token$ = request$.pipe(keepFresh({ rejected$, scheduler: clock }))
        const service = scriptedService<SocketMessage>(clock, [
          ...(state === 'starting' ? [{ recognize: [0, refusal] as const }] : []),
          plainRecognizer(0),
        ] as [ReturnType<typeof plainRecognizer>])
        const presented: string[] = []
        const session = recognizing({
          token: token$,
          rejected$,
          dial: ({ headers }) => {
            presented.push(headers?.['Authorization'] ?? '')
            return state === 'connecting' && presented.length === 1 ? throwError(() => refusal) : service.dial()
          },
        })
        const first = watch(session([]))
        clock.schedule(() => void watch(session([])), 50)
        return () => {
          expect(presented).toEqual(['Bearer T1', 'Bearer T2', 'Bearer T2'])
          expect([requested, rejected]).toEqual([2, ['T1']])
          expect(first.log.slice(-2)).toEqual(['10 done', '10 complete'])
          expect([service.dials.open, clock.pending()]).toEqual([0, 0])
        }
      })
    },
  )

  it('is an error immediately when it is refused while the session streams', () => {
    virtually(({ clock, watch, recognizing }) => {
      let asked = 0
      const token$ = defer(() => of(`T${++asked}`))
      const service = scriptedService<SocketMessage>(clock, [{ ...plainRecognizer(0), audio: [0, refusal] }])
      const { log } = watch(recognizing({ dial: service.dial, token: token$ })([new Uint8Array(2)]))
      return () => expect([log.at(-1), asked]).toEqual(['0 error unauthenticated', 1])
    })
  })
})
