import { happeningsOf } from './happenings.js'
import { map, Observable, of, Subject, timer } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../src/errors/speech-error.js'
import type { Link, SocketMessage } from '../../src/transport/link.js'
import { audio, labelOf, ok, recognizerMessage, virtually } from './virtual-session.js'

const lost = new SpeechError('connection-lost', 'Cut.')

/** A link whose service answers the start immediately, and that can be broken from anywhere. */
const openLink = () => {
  const incoming$ = new Subject<SocketMessage>()
  let isStarted = false
  const link: Link<SocketMessage, SocketMessage> = {
    incoming$: new Observable((subscriber) => {
      subscriber.add(incoming$.subscribe(subscriber))
      if (isStarted) subscriber.next(recognizerMessage('recognize-response', ok))
    }),
    send: () => (isStarted = true),
    bufferedBytes: 0,
    isCongested: false,
    drain$: of(undefined),
    pause: () => undefined,
    resume: () => undefined,
    finish: () => undefined,
    close: () => undefined,
  }
  return { link, incoming$ }
}

describe('a session that loses its connection and its successor at once', () => {
  it('continues over a third connection, also if both break during a handler', () => {
    virtually(({ clock, recognizing }) => {
      const links: ReturnType<typeof openLink>[] = []
      const log: string[] = []
      const dial = () =>
        new Observable<Link<SocketMessage, SocketMessage>>((subscriber) => {
          const link = openLink()
          links.push(link)
          subscriber.next(link.link)
        })
      const resumption = { firstDelayMs: 100, maxConnectionMs: 1_000 }
      const source$ = timer(10, 20, clock).pipe(map(() => audio(20)))
      const subscription = recognizing({ dial, resumption })(source$).subscribe({
        next: (event) => {
          if (happeningsOf(event).length > 0) log.push(`${clock.now()} ${labelOf(event)}`)
          if (event.type === 'milestone') for (const { incoming$ } of links.slice(0, 2)) incoming$.error(lost)
        },
        error: (error: unknown) => log.push(String(error)),
      })
      // The successor has been ready since 950 ms.
      clock.schedule(() => links[0]?.incoming$.next(recognizerMessage('milestone-result', { text: 'one' })), 960)
      clock.schedule(() => subscription.unsubscribe(), 1_500)
      return () =>
        expect([links.length, log.slice(4)]).toEqual([
          3,
          ['960 resumed', '960 reconnecting', '1010 streaming', '1010 resumed'],
        ])
    })
  })
})
