import { concat, map, merge, mergeMap, NEVER, Observable, of, range, tap, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../../../src/errors/speech-error.js'
import type { Node, NodeContext, NodeItem } from '../../../src/nodes/core/node.js'
import { around, event, nodeOf, running, through } from '../graphs.js'
import { flushPromises } from '../../../../service/test/virtual-clock.js'

const failing: Node = (input$) =>
  input$.pipe(
    mergeMap((item) =>
      item.type === 'audio' && item.bytes.length === 80 ? throwError(() => new Error('secret text')) : of(item),
    ),
  )

const pendingEventOf = ({ aborted$ = NEVER }: NodeContext): Observable<NodeItem> =>
  aborted$.pipe(map(({ code }) => event(`final ${code}`)))

/** Passes audio on, and has a pending event for the client when the session is aborted. */
const withPendingEvent =
  (context: NodeContext): Node =>
  (input$) =>
    merge(input$, pendingEventOf(context))

describe('a node that fails', () => {
  it('ends the session with an error that names it and hides the reason', async () => {
    const { give, output, items } = await running(around('failing'), [nodeOf('failing', () => failing)])
    give(20, 10)
    expect(output).toEqual(['a20', 'Node Failed', '# The node x of the project failed (threw).'])
    expect(items[1]).toMatchObject({
      event: { data: { Node: 'x', Cause: 'threw', Action: 'failed', Attempt: 1 } },
    })
  })

  it('has everything delivered that it emitted before the session ends', async () => {
    const node: Node = (input$) =>
      concat(
        input$,
        of(event('last event')),
        throwError(() => new Error('x')),
      )
    const { give, output, audio$ } = await running(around('node'), [nodeOf('node', () => node)])
    give(20)
    audio$.complete()
    expect(output).toEqual(['a20', 'last event', 'Node Failed', '# The node x of the project failed (threw).'])
  })

  it('is bypassed by its policy: audio passes in its full length, and the operator gets the reason', async () => {
    const { give, output, items, audio$, faults, counted } = await running(around('failing', ', onFault: bypass'), [
      nodeOf('failing', () => failing),
    ])
    give(20, 10, 30)
    audio$.complete()
    // 10 ms of silence replace the audio that the fault has cost.
    expect(output).toEqual(['a20', 'Node Failed', 'a10', 'a30', '|'])
    expect(items[2]).toMatchObject({ bytes: new Uint8Array(80).fill(0xff) })
    expect(faults).toMatchObject([{ code: 'node-failed', cause: { message: 'secret text' } }])
    expect(counted).toEqual([{ node: 'failing', cause: 'threw', action: 'bypassed' }])
  })

  it('is opened again by its policy; its input waits meanwhile, and times continue', async () => {
    const offsets: (number | undefined)[] = []
    const node = nodeOf('failing', (context) => {
      offsets.push(context.offsetMs)
      return failing
    })
    const { give, output, audio$ } = await running(around('failing', ', onFault: restart(1)'), [node])
    give(20, 10)
    expect(output).toEqual(['a20', 'Node Failed'])
    give(30)
    expect(output).toEqual(['a20', 'Node Failed'])
    await flushPromises()
    expect(output).toEqual(['a20', 'Node Failed', 'a10', 'a30'])
    expect(offsets).toEqual([undefined, 30])
    give(10)
    expect(output.slice(4)).toEqual(['Node Failed', '# The node x of the project failed (threw).'])
    audio$.complete()
  })

  it.each([
    [
      'throws when it is called',
      (): Observable<NodeItem> => {
        throw new Error('x')
      },
      'threw',
    ],
    [
      'throws on subscription',
      () =>
        new Observable<NodeItem>(() => {
          throw new Error('x')
        }),
      'threw',
    ],
    ['errors immediately', () => throwError(() => new Error('x')), 'threw'],
    ['emits a flood immediately', () => range(0, 1_000_000).pipe(map(() => event('e'))), 'flooded'],
  ] as const)('is detected when it %s', async (_what, node, cause) => {
    const { output, items } = await running(around('bad', ', onFault: bypass'), [nodeOf('bad', () => node)])
    const failed = items.flatMap((item) =>
      item.type === 'event' && item.event.name === 'Node Failed' ? [item.event.data] : [],
    )
    expect(failed).toMatchObject([{ Cause: cause, Action: 'bypassed' }])
    expect(output.length).toBeLessThan(10_002)
  })

  it('is unsubscribed when it floods within one call', async () => {
    let made = 0
    const flood: Node = (input$) =>
      input$.pipe(
        mergeMap(() =>
          range(0, 1_000_000).pipe(
            tap(() => (made += 1)),
            map(() => event('e')),
          ),
        ),
      )
    const { give, output, audio$ } = await running(around('flood', ', onFault: bypass'), [nodeOf('flood', () => flood)])
    give(20)
    expect(made).toBeLessThanOrEqual(10_001)
    give(30)
    audio$.complete()
    expect(output.slice(-2)).toEqual(['a30', '|'])
  })

  it('is detected when it does not complete in time', async () => {
    const hung: Node = (input$) => concat(input$, NEVER)
    const { give, output, audio$, clock } = await running(around('hung'), [nodeOf('hung', () => hung)])
    give(20)
    audio$.complete()
    expect(output).toEqual(['a20'])
    clock.maxFrames = 999
    clock.flush()
    expect(output).toEqual(['a20'])
    clock.maxFrames = 1000
    clock.flush()
    expect(output).toEqual(['a20', 'Node Failed', '# The node x of the project failed (hung).'])
  })

  it('delivers what nodes emit when the session is aborted, then errors', async () => {
    const { give, output, abort } = await running(around('pending'), [nodeOf('pending', withPendingEvent)])
    give(20)
    abort(new SpeechError('cut-sample', 'Cut.'))
    give(20)
    expect(output).toEqual(['a20', 'final cut-sample', '# Cut.'])
  })

  it('delivers what nodes emit when a node ends the session, that node included', async () => {
    const hung =
      (context: NodeContext): Node =>
      (input$) =>
        merge(concat(input$, NEVER), pendingEventOf(context))
    const connection = await running(around('hung'), [nodeOf('hung', hung)])
    connection.audio$.complete()
    connection.clock.flush()
    expect(connection.output).toEqual([
      'final node-failed',
      'Node Failed',
      '# The node x of the project failed (hung).',
    ])

    const two = await running(around('pending').replace('wires:', '  y: failing\nwires:\n  - in -> y.audio'), [
      nodeOf('pending', withPendingEvent),
      nodeOf('failing', () => failing),
    ])
    two.give(20, 10)
    expect(two.output).toEqual([
      'a20',
      'final node-failed',
      'a10',
      'Node Failed',
      '# The node y of the project failed (threw).',
    ])
  })

  it('is detected when it blocks its thread, and not another node', async () => {
    const work: { run: () => void } = { run: () => undefined }
    const heavy: Node = (input$) => input$.pipe(tap(() => work.run()))
    const text = around('heavy', ', onFault: bypass')
      .replace('in, to: x.audio', 'b.audio, to: x.audio')
      .replace('nodes:', 'nodes:\n  b: before')
      .replace('wires:', 'wires:\n  - in -> b')
    const { give, output, items, clock } = await running(text, [
      nodeOf('heavy', () => heavy),
      nodeOf('before', () => through),
    ])
    work.run = () => (clock.frame += 101)
    give(20)
    expect(output).toEqual(['Node Failed', 'a20'])
    expect(items[0]).toMatchObject({ event: { data: { Node: 'x', Cause: 'blocked', Action: 'bypassed' } } })
  })
})
