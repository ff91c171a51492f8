import { EMPTY, mergeMap, NEVER, of, throwError, type Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { probe } from '../../../src/client/failover/probe.js'
import { SessionToken } from '../../../src/client/token.js'
import { isSpeechError, SpeechError } from '../../../src/errors/speech-error.js'
import { scriptedDial } from '../../../src/testing/scripted-dial.js'
import type { SocketMessage } from '../../../src/transport/link.js'
import { ok, recognizerMessage, virtually, type Tools } from '../virtual-session.js'
import { refused } from './several-services.js'

const codeOf = (error: unknown): string => (isSpeechError(error) ? error.code : 'untyped')

const nameIn = (json: string): string => (JSON.parse(json) as Record<string, string>)['message-name'] ?? ''

/** Probes a service that answers the start in this way, and returns what it received and how the probe ended. */
const probed = ({ clock, recognizing }: Tools, answer$: Observable<string>) => {
  const received: string[] = []
  const dial = () =>
    scriptedDial<SocketMessage, SocketMessage>(({ received$ }) =>
      received$.pipe(
        mergeMap((message) => {
          const name = typeof message === 'string' ? nameIn(message) : 'audio'
          received.push(name)
          return name === 'recognize' ? answer$ : NEVER
        }),
      ),
    )()
  const plan = recognizing({ dial, resumption: {} }).plan.sessionOf({})
  const startMs = clock.now()
  const seen = { received, end: '' }
  probe(plan, new SessionToken(plan.settings)).subscribe({
    complete: () => (seen.end = `${clock.now() - startMs} complete`),
    error: (error: unknown) => (seen.end = `${clock.now() - startMs} ${codeOf(error)}`),
  })
  return seen
}

describe('a probe', () => {
  it('starts a session without audio, and stops it', () => {
    virtually((tools) => {
      const seen = probed(tools, of(recognizerMessage('recognize-response', ok)))
      return () => {
        expect(seen).toMatchObject({ received: ['recognize', 'stop-recognition'], end: '0 complete' })
        expect(tools.clock.pending()).toBe(0)
      }
    })
  })

  it.each([
    [
      'the service refuses the start',
      of(recognizerMessage('recognize-response', { 'operation-result': 'overloaded: Full.' })),
      '0 overloaded',
    ],
    ['the connection breaks', throwError(() => new SpeechError('going-away', 'Closing.')), '0 going-away'],
    ['nothing answers in time', NEVER, '40000 start-timeout'],
  ])('fails if %s', (_name, answer$, end) => {
    virtually((tools) => {
      const seen = probed(tools, answer$)
      return () => {
        expect(seen).toMatchObject({ received: ['recognize'], end })
        expect(tools.clock.pending()).toBe(0)
      }
    })
  })

  it('fails if the service closes the connection without an answer, or cannot be reached', () => {
    virtually((tools) => {
      const ends: string[] = []
      const dials = [
        scriptedDial<SocketMessage, SocketMessage>(({ link }) => {
          link.close()
          return EMPTY
        }),
        () => throwError(() => refused),
      ]
      for (const dial of dials) {
        const plan = tools.recognizing({ dial, resumption: {} }).plan.sessionOf({})
        probe(plan, new SessionToken(plan.settings)).subscribe({ error: (error: unknown) => ends.push(codeOf(error)) })
      }
      return () => expect(ends).toEqual(['connection-lost', 'connection-failed'])
    })
  })
})
