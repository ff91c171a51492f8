import { map } from 'rxjs'
import { describe, it } from 'vitest'
import { voiceActivity } from '../../../src/nodes/speech/voice-activity.js'
import type { NodeItem } from '../../../src/nodes/core/node.js'
import { spoken } from '../../sessions/spoken.js'
import { asyncMarbles } from '../../../../service/test/async-marbles.js'
import { audio, event, openNode, testFixedSet } from '../fixed-set.js'
import { nodeContext } from '../node-context.js'

const started = (startMs: number): NodeItem =>
  event('Speech Started', { channel: 0, startMs, endMs: -1, data: { AtMsec: startMs + 380 } })
const ended = (startMs: number, endMs: number): NodeItem => event('Speech Ended', { channel: 0, startMs, endMs })

describe('voice-activity in virtual time', async () => {
  // Speech starts in it and does not end; it pauses when it is played a second time.
  const item = audio(await spoken(1600))

  testFixedSet({
    open: () => openNode(voiceActivity, {}),
    item,
    first: [item, started(520)],
    second: [item, ended(520, 2020), started(2120)],
    end: [[ended(520, 1600)], [ended(2120, 3200)], []],
    opensLater: true,
  })

  it('passes audio without speech on, and reports nothing about it', async () => {
    const node = await openNode(voiceActivity, {})
    await asyncMarbles(({ cold, expectObservable, expectSubscriptions, scheduler }) => {
      const values = { q: audio(new Uint8Array(16_000)), e: event('other') }
      const source$ = cold('         q-e-q---|', values)
      const subscriptions = '        ^-------!'
      const expected = '             q---q---|'
      const seen = expectObservable(node(source$, nodeContext({ scheduler })))
      const subscribed = expectSubscriptions(source$.subscriptions)
      return () => {
        seen.toBe(expected, values)
        subscribed.toBe(subscriptions)
      }
    })
  })

  it('reports no long silence, because it does not know the pending results of the recognizer', async () => {
    const node = await openNode(voiceActivity, {})
    await asyncMarbles(({ cold, expectObservable, scheduler }) => {
      const silence = Buffer.alloc(31_000 * 16)
      const output$ = node(cold<NodeItem>('q--', { q: audio(silence) }), nodeContext({ scheduler }))
      const isSame$ = output$.pipe(map((output) => output.type === 'audio' && silence.equals(output.bytes)))
      const seen = expectObservable(isSame$, '^-!')
      return () => {
        seen.toBe('t', { t: true })
      }
    })
  })

  it('ends the speech when no audio arrives, and completes when none arrives for long', async () => {
    const node = await openNode(voiceActivity, {})
    await asyncMarbles(({ cold, expectObservable, expectSubscriptions, scheduler }) => {
      const values = { x: item, s: started(520), e: ended(520, 1600) }
      const source$ = cold('x', values)
      // 1600 ms of audio arrived early; a second after its real-time end there is no more speech.
      const expected = '    (xs) 2596ms e 27399ms |'
      const subscriptions = '^ 29999ms !'
      const seen = expectObservable(node(source$, nodeContext({ scheduler })))
      const subscribed = expectSubscriptions(source$.subscriptions)
      return () => {
        seen.toBe(expected, values)
        subscribed.toBe(subscriptions)
      }
    }, 60_000)
  })

  it('does neither while the audio is held back because another node is behind', async () => {
    const node = await openNode(voiceActivity, {})
    await asyncMarbles(({ cold, expectObservable, scheduler }) => {
      const values = { x: item, s: started(520) }
      const output$ = node(cold('x', values), nodeContext({ scheduler, isPaused: () => true }))
      const seen = expectObservable(output$, '^ 50s !')
      return () => {
        seen.toBe('(xs)', values)
      }
    }, 60_000)
  })
})
