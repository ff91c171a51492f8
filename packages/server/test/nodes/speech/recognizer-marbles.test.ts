import { defer, finalize, mergeMap, Subject, throwError, type OperatorFunction } from 'rxjs'
import { beforeAll, describe, expect, it } from 'vitest'
import { SpeechError } from '../../../../../src/errors/speech-error.js'
import type { Engine, Hypothesis, SegmentPart } from '../../../../engines/src/engine.js'
import { recognizer } from '../../../src/nodes/speech/recognizer.js'
import type { NodeContext, NodeItem } from '../../../src/nodes/core/node.js'
import { openFvad } from '../../../src/recognition/voice-activity/fvad.js'
import { scriptedEngine } from '../../../../service/src/testing/scripted-engine.js'
import { spoken } from '../../sessions/spoken.js'
import { asyncMarbles } from '../../../../service/test/async-marbles.js'
import { audio, event, openNode, testFixedSet } from '../fixed-set.js'
import { nodeContext } from '../node-context.js'

// The detector is loaded once per process; from then on it opens without a delay.
beforeAll(async () => {
  const detector = await openFvad(0)
  detector.free()
})

const started = (startMs: number): NodeItem =>
  event('Speech Started', { channel: 0, startMs, endMs: -1, data: { AtMsec: startMs + 380 } })
const ended = (startMs: number, endMs: number): NodeItem => event('Speech Ended', { channel: 0, startMs, endMs })
const partial = (startMs: number, Text: string): NodeItem =>
  event('SR Partial', { channel: 0, startMs, endMs: startMs + 400, data: { Text } })
const milestone = (StartMsec: number, EndMsec: number, Text: string): NodeItem => {
  const Words = [{ Text: Text.trim(), StartMsec, EndMsec, Confidence: 0.9 }]
  return event('SR Milestone', {
    channel: 0,
    startMs: StartMsec,
    endMs: EndMsec,
    data: { Text, Confidence: 0.9, Words },
  })
}
const final = (startMs: number, endMs: number, Text: string, data: object): NodeItem =>
  event('SR Final', { channel: 0, startMs, endMs, data: { Text, ...data } })
const readUntil = (HeardMsec: number): object => ({ Confidence: 0.9, HeardMsec })
const failedFinal = (Error: string): NodeItem => final(-1, -1, '', { Confidence: 0, Error })
const emptyFinal = final(0, 0, '', { Confidence: 0, HeardMsec: 0 })

const with$ = (engine: Engine): Partial<NodeContext> => ({ engine: () => Promise.resolve(engine) })
const open = (engine: Engine = scriptedEngine({ texts: ['yes', 'no'] })) => openNode(recognizer, {}, with$(engine))

/** An engine with scripted output for its segments, which counts running recognitions. */
const watched = (change: OperatorFunction<SegmentPart, Hypothesis>) => {
  const engine = scriptedEngine({ texts: [] })
  let running = 0
  const recognize = () => (part$: Parameters<typeof change>[0]) =>
    defer(() => {
      running += 1
      return part$.pipe(
        change,
        finalize(() => {
          running -= 1
        }),
      )
    })
  return { engine: { ...engine, recognize }, running: () => running }
}

describe('the recognizer node in virtual time', async () => {
  // Speech starts in it and does not end; it pauses when it is played a second time.
  const item = audio(await spoken(1600))

  testFixedSet({
    open: () => open(),
    item,
    first: [started(520), partial(520, 'yes')],
    second: [ended(520, 2020), milestone(520, 2020, 'yes'), started(2120), partial(2120, 'no')],
    end: [
      [ended(520, 1600), milestone(520, 1600, 'yes'), final(520, 1600, 'yes', readUntil(1600))],
      [ended(2120, 3200), milestone(2120, 3200, ' no'), final(520, 3200, 'yes no', readUntil(3200))],
      [emptyFinal],
    ],
    failed: [failedFinal('internal: The service failed; try again, and tell its operator.')],
    opensLater: true,
  })

  it('sends its final by itself when no audio arrives for long', async () => {
    const node = await open()
    await asyncMarbles(({ cold, expectObservable, expectSubscriptions, scheduler }) => {
      const source$ = cold<NodeItem>('-')
      const seen = expectObservable(node(source$, nodeContext({ scheduler })))
      const subscribed = expectSubscriptions(source$.subscriptions)
      return () => {
        seen.toBe('30s (f|)', { f: emptyFinal })
        subscribed.toBe('^ 29999ms !')
      }
    }, 60_000)
  })

  it('reports a long silence of its channel, in the time of the session', async () => {
    const node = await openNode(recognizer, { channel: 1 }, with$(scriptedEngine({ texts: ['yes'] })))
    await asyncMarbles(({ cold, expectObservable, scheduler }) => {
      const values = { x: audio(new Uint8Array(29_900 * 16)), y: audio(new Uint8Array(100 * 16)) }
      const source$ = cold<NodeItem>('x-y--', values)
      const seen = expectObservable(node(source$, nodeContext({ scheduler, offsetMs: 5_000 })), '^---!')
      return () => {
        seen.toBe('--s', { s: event('SR Silence', { channel: 1, startMs: 5_000, endMs: 34_640 }) })
      }
    })
  })

  it('ends the work of the engine within a segment when it is unsubscribed', async () => {
    const script = scriptedEngine({ texts: ['yes'] })
    const { engine, running } = watched((part$) => part$.pipe(script.recognize()))
    const node = await open(engine)
    const ran: number[] = []
    await asyncMarbles(({ cold, expectObservable, expectSubscriptions, scheduler }) => {
      const source$ = cold<NodeItem>('x------', { x: item })
      const seen = expectObservable(node(source$, nodeContext({ scheduler })), '^---!')
      const subscribed = expectSubscriptions(source$.subscriptions)
      for (const atMs of [3, 5]) scheduler.schedule(() => ran.push(running()), atMs)
      return () => {
        seen.toBe('(sp)', { s: started(520), p: partial(520, 'yes') })
        subscribed.toBe('^---!')
      }
    })
    expect(ran).toEqual([1, 0])
  })

  it('sends the final with the reason when the engine fails, then its error', async () => {
    const error = new SpeechError('engine-failed', 'It broke.')
    const { engine, running } = watched(mergeMap(() => throwError(() => error)))
    const node = await open(engine)
    await asyncMarbles(({ cold, expectObservable, expectSubscriptions, scheduler }) => {
      const source$ = cold<NodeItem>('--x---|', { x: item })
      const seen = expectObservable(node(source$, nodeContext({ scheduler })))
      const subscribed = expectSubscriptions(source$.subscriptions)
      return () => {
        seen.toBe('--(sf#)', { s: started(520), f: failedFinal('engine-failed: It broke.') }, error)
        subscribed.toBe('^-!')
      }
    })
    expect(running()).toBe(0)
  })

  it('sends the final with the reason when the session is aborted, and completes', async () => {
    const node = await open()
    const aborted$ = new Subject<SpeechError>()
    await asyncMarbles(({ cold, expectObservable, expectSubscriptions, scheduler }) => {
      const source$ = cold<NodeItem>('x------', { x: item })
      const seen = expectObservable(node(source$, nodeContext({ scheduler, aborted$ })))
      const subscribed = expectSubscriptions(source$.subscriptions)
      scheduler.schedule(() => {
        aborted$.next(new SpeechError('cut-sample', 'Cut.'))
      }, 5)
      return () => {
        const values = { s: started(520), p: partial(520, 'yes'), f: failedFinal('cut-sample: Cut.') }
        seen.toBe('(sp)-(f|)', values)
        subscribed.toBe('^----!')
      }
    })
  })
})
