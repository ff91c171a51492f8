import { concat, ignoreElements, merge, NEVER, of, Subject, takeUntil, tap, type Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { NodeItem } from '../../../src/nodes/core/node.js'
import { brief, event, nodeOf, running } from '../graphs.js'

const text = `
version: 1
nodes:
  in: entry
  x: { node: leaver }
  y: { node: reporting }
  out: publisher
wires:
  - in -> x.audio
  - in -> y.audio
  - x.events -> out.events
  - y.events -> out.events
`

/** Records its input, and emits an event when it is finalized. */
const reporting = (received: string[] = []) =>
  nodeOf(
    'reporting',
    () => (input$) =>
      concat(
        input$.pipe(
          tap((item) => received.push(brief(item))),
          ignoreElements(),
        ),
        of(event('flushed')),
      ),
  )

/** Completes with `released$`. `calls` lists its input and `drain`; `dealt$` acknowledges audio. */
const leaver = (released$: Observable<unknown>, calls: string[] = [], dealt$: Observable<number> = NEVER) =>
  nodeOf(
    'leaver',
    ({ drain$ = NEVER, ack }) =>
      (input$) =>
        concat(
          merge(
            input$.pipe(tap((item: NodeItem) => calls.push(brief(item)))),
            drain$.pipe(tap(() => calls.push('drain'))),
            dealt$.pipe(tap((frames) => ack(frames))),
          ).pipe(ignoreElements(), takeUntil(released$)),
          of(event('left')),
        ),
    { handlesDrain: true, manualAck: true },
  )

describe('a graph that drains', () => {
  it('waits for the node that drains, and finalizes the others after it', async () => {
    const released$ = new Subject<undefined>()
    const received: string[] = []
    const calls: string[] = []
    const { give, output, drain, audio$ } = await running(text, [reporting(received), leaver(released$, calls)])
    give(20)
    drain()
    drain()
    give(40)
    expect([output, calls]).toEqual([[], ['a20', 'drain', 'a40']])
    released$.next(undefined)
    expect(output).toEqual(['left', 'flushed', '|'])
    expect(received).toEqual(['a20', 'a40'])
    expect(audio$.observed).toBe(false)
  })

  it('is finalized at once when no node handles draining', async () => {
    const plain = text.replaceAll('leaver', 'reporting')
    const { give, output, drain } = await running(plain, [reporting()])
    give(20)
    drain()
    expect(output).toEqual(['flushed', 'flushed', '|'])
  })

  it('asks no node to drain before the audio that arrived until then', async () => {
    const calls: string[] = []
    const dealt$ = new Subject<number>()
    const { give, drain, subscription } = await running(text, [reporting(), leaver(NEVER, calls, dealt$)])
    give(1_500)
    drain()
    expect(calls).not.toContain('drain')
    dealt$.next(8_000)
    expect(calls).toEqual([...new Array<string>(6).fill('a250'), 'drain'])
    subscription.unsubscribe()
  })
})
