import { from, map, merge, mergeMap, NEVER, of, timer } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../src/errors/speech-error.js'
import { scriptedDial } from '../../../src/testing/scripted-dial.js'
import type { SocketMessage } from '../../../src/transport/link.js'
import { audio, labelOf, ok, recognizerMessage, virtually } from '../virtual-session.js'

const started = recognizerMessage('recognize-response', ok)
const partial = recognizerMessage('partial-result', { text: 'hello' })

interface Exchange {
  readonly audioAtMs: readonly number[]
  readonly messageAtMs?: readonly number[]
  /** Time at which the first connection is lost. */
  readonly lostAtMs?: number
}

/** The `silent` events of a session with their time and duration, for a limit of 100 ms. */
const silences = ({ audioAtMs, messageAtMs = [], lostAtMs }: Exchange): readonly string[] => {
  const reported: string[] = []
  virtually(({ clock, recognizing }) => {
    let dials = 0
    const dial = scriptedDial<SocketMessage, SocketMessage>(({ received$, link }) => {
      dials += 1
      if (dials === 1 && lostAtMs !== undefined) {
        clock.schedule(() => link.close(new SpeechError('connection-lost', 'Cut.')), lostAtMs)
      }
      return merge(
        NEVER,
        received$.pipe(mergeMap((message) => (typeof message === 'string' ? of(started) : NEVER))),
        from(messageAtMs).pipe(mergeMap((atMs) => timer(atMs, clock).pipe(map(() => partial)))),
      )
    })
    const audio$ = merge(NEVER, from(audioAtMs).pipe(mergeMap((atMs) => timer(atMs, clock).pipe(map(() => audio(10))))))
    const resumption = { firstDelayMs: 100 }
    const subscription = recognizing({ dial, timeouts: { silenceMs: 100 }, resumption })(audio$).subscribe((event) => {
      if (event.type === 'silent') reported.push(`${clock.now()} silent ${event.forMs}`)
      else if (event.type === 'resumed') reported.push(`${clock.now()} ${labelOf(event)}`)
    })
    clock.schedule(() => subscription.unsubscribe(), 1_000)
    return () => expect(clock.pending()).toBe(0)
  })
  return reported
}
const every20Ms = (fromMs: number, toMs: number): number[] =>
  Array.from({ length: (toMs - fromMs) / 20 }, (_, index) => fromMs + index * 20)

describe('the silence of a service', () => {
  it('is reported once, when it has lasted for its limit since audio began to flow', () => {
    expect(silences({ audioAtMs: every20Ms(50, 900) })).toEqual(['150 silent 100'])
  })

  it('starts again with each message, and is then reported again', () => {
    expect(silences({ audioAtMs: every20Ms(50, 900), messageAtMs: [135, 230, 395] })).toEqual([
      '330 silent 100',
      '495 silent 100',
    ])
  })

  it('is none while no audio flows', () => {
    expect(silences({ audioAtMs: [50] })).toEqual([])
    expect(silences({ audioAtMs: [50, 70], messageAtMs: [120] })).toEqual([])
  })

  it('starts with the audio that follows a pause', () => {
    expect(silences({ audioAtMs: [50, 70, ...every20Ms(500, 900)], messageAtMs: [120] })).toEqual(['600 silent 100'])
  })

  it('is reported again after a message that arrived while no audio flowed', () => {
    const audioAtMs = [...every20Ms(50, 310), ...every20Ms(600, 900)]
    expect(silences({ audioAtMs, messageAtMs: [550] })).toEqual(['150 silent 100', '700 silent 100'])
  })

  it('is reported for each connection, and starts with its audio', () => {
    expect(silences({ audioAtMs: [...every20Ms(50, 160), ...every20Ms(400, 900)], lostAtMs: 200 })).toEqual([
      '150 silent 100',
      '250 resumed',
      '500 silent 100',
    ])
  })
})
