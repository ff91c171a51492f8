import {
  concat,
  concatMap,
  defer,
  from,
  ignoreElements,
  map,
  merge,
  mergeMap,
  NEVER,
  Observable,
  of,
  range,
  tap,
  throwError,
} from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../src/errors/speech-error.js'
import type { Node, NodeContext, NodeItem } from '../../../src/service/nodes/node.js'
import { brief, nodeOf, running } from './graphs.js'
import { turn } from '../virtual-clock.js'

const event = (name: string): NodeItem => ({ type: 'event', event: { name } })

/** A node between entry and publisher, audio and events of which go to the client. */
const around = (name: string, more = '', wire = ''): string => `
version: 1
nodes:
  in: entry
  x: { node: ${name}${more} }
  out: publisher
wires:
  - { from: in, to: x.audio${wire} }
  - x.audio -> out.audio
  - x.events -> out.events
`

const through: Node = (input$) => input$
const failing: Node = (input$) =>
  input$.pipe(
    mergeMap((item) =>
      item.type === 'audio' && item.bytes.length === 80 ? throwError(() => new Error('secret text')) : of(item),
    ),
  )

const lastWordOf = ({ brokenOff$ = NEVER }: NodeContext): Observable<NodeItem> =>
  brokenOff$.pipe(map(({ code }) => event(`final ${code}`)))

/** Passes audio on, and owes a last word. */
const owing =
  (context: NodeContext): Node =>
  (input$) =>
    merge(input$, lastWordOf(context))

describe('a graph', () => {
  it('gives audio and events to the client, finalizes node after node, and completes', async () => {
    const telling = nodeOf(
      'telling',
      () => (input$) =>
        concat(input$.pipe(concatMap((item) => of(event(`heard ${brief(item)}`), item))), of(event('last'))),
    )
    const { give, audio$, said } = await running(around('telling'), [telling])
    give(20, 40)
    audio$.complete()
    expect(said).toEqual(['heard a20', 'a20', 'heard a40', 'a40', 'last', '|'])
  })

  it('lets audio that comes while a node works wait for its turn', async () => {
    const client: { again: () => void } = { again: () => undefined }
    const calls: string[] = []
    const node: Node = (input$) =>
      input$.pipe(
        tap((item) => {
          calls.push(`begins ${brief(item)}`)
          client.again()
          calls.push(`ends ${brief(item)}`)
        }),
      )
    const { give, said, audio$ } = await running(around('node'), [nodeOf('node', () => node)])
    client.again = () => {
      client.again = () => undefined
      give(40)
      audio$.complete()
    }
    give(20)
    expect(calls).toEqual(['begins a20', 'ends a20', 'begins a40', 'ends a40'])
    expect(said).toEqual(['a20', 'a40', '|'])
  })

  it('cuts long messages into pieces, and loses nothing of them', async () => {
    const { give, audio$, said } = await running(around('through'), [nodeOf('through', () => through)])
    give(600)
    audio$.complete()
    expect(said).toEqual(['a250', 'a250', 'a100', '|'])
  })

  it('cancels every node when it is unsubscribed, and frees the link', async () => {
    const gone: string[] = []
    const node = nodeOf(
      'node',
      () => (input$) =>
        new Observable((subscriber) => {
          subscriber.add(() => gone.push('node'))
          subscriber.add(input$.subscribe(subscriber))
        }),
    )
    const { subscription, give, link } = await running(around('node'), [node])
    give(20)
    subscription.unsubscribe()
    expect(gone).toEqual(['node'])
    expect(link.paused).toBe(false)
  })

  it('refuses the session where a node does, and where one breaks on being opened', async () => {
    const denied = nodeOf('denied', () => Promise.reject(new SpeechError('model-denied', 'Not this model.')))
    await expect(running(around('denied'), [denied])).rejects.toMatchObject({ code: 'model-denied' })
    const broken = nodeOf('broken', () => {
      throw new Error('secret text')
    })
    await expect(running(around('broken'), [broken])).rejects.toMatchObject({
      code: 'node-failed',
      message: 'The node x of the project could not be opened.',
    })
  })

  it('refuses audio that the project does not take by its field', async () => {
    const text = `inputs: { channels: 2, encodings: [ulaw] }${around('through')}`
    await expect(running(text, [nodeOf('through', () => through)])).rejects.toMatchObject({
      code: 'invalid-field',
      message: 'Audio.ChannelCount must be 2 for this project.',
    })
  })

  it('lets run off what a node does not want that has completed, and flushes when no publisher is left', async () => {
    const flushed: string[] = []
    const sink = nodeOf(
      'sink',
      () => (input$) => input$.pipe(ignoreElements(), tap({ complete: () => flushed.push('sink') })),
      {
        outputs: {},
      },
    )
    const early = nodeOf('early', () => () => of(event('enough')))
    const { give, said } = await running(`${around('early').replace('nodes:', 'nodes:\n  s: sink')}  - in -> s\n`, [
      early,
      sink,
    ])
    expect(said).toEqual(['enough', '|'])
    expect(flushed).toEqual(['sink'])
    give(20)
    expect(said).toEqual(['enough', '|'])
  })

  it('finalizes when no audio comes for as long as the limits allow', async () => {
    const { give, said, clock } = await running(around('through'), [nodeOf('through', () => through)], { idleMs: 500 })
    give(20)
    clock.maxFrames = 499
    clock.flush()
    expect(said).toEqual(['a20'])
    clock.maxFrames = 501
    clock.flush()
    expect(said).toEqual(['a20', '|'])
  })
})

describe('a wire of a graph', () => {
  const slow = () => {
    const account: { take: (count: number) => void } = { take: () => undefined }
    const node = nodeOf(
      'slow',
      (context) => {
        account.take = (count) => context.consumed(count)
        return through
      },
      { tellsConsumption: true },
    )
    return { node, account }
  }

  it('pauses the link when it is full, holds at the entry what still comes, and resumes at half', async () => {
    const { node, account } = slow()
    const { give, said, link, audio$ } = await running(around('slow', '', ', holds: 500 ms'), [node])
    give(250, 250)
    expect(link.paused).toBe(false)
    give(20)
    expect(link.paused).toBe(true)
    give(30, 40)
    audio$.complete()
    expect(said).toEqual(['a250', 'a250', 'a20'])
    account.take(269 * 8)
    expect(link.paused).toBe(true)
    account.take(8)
    expect(said).toEqual(['a250', 'a250', 'a20', 'a30', 'a40', '|'])
    expect(link.paused).toBe(false)
  })

  it('loses nothing where the link gives what it held, and ends, as soon as it is resumed', async () => {
    const { node, account } = slow()
    const { give, said, audio$, client } = await running(around('slow', '', ', holds: 500 ms'), [node])
    give(250, 250, 20)
    client.resumed = () => {
      client.resumed = () => undefined
      give(30, 40)
      audio$.complete()
    }
    account.take(Infinity)
    expect(said).toEqual(['a250', 'a250', 'a20', 'a30', 'a40', '|'])
  })

  it('tells what it drops when that begins and when it ends, and puts silence in its place', async () => {
    const { node, account } = slow()
    const run = await running(around('slow', '', ', holds: 500 ms, whenFull: dropNewest'), [node])
    run.give(250, 250, 100)
    expect(run.link.paused).toBe(false)
    expect(run.said).toEqual(['a250', 'a250', 'Wire Dropped'])
    account.take(500 * 8)
    expect(run.said.slice(3)).toEqual(['a100'])
    expect(run.items.at(-1)).toMatchObject({ bytes: new Uint8Array(800).fill(0xff) })
    run.give(20)
    expect(run.said.slice(4)).toEqual(['Wire Dropped', 'a20'])
    const events = run.items.flatMap((item) => (item.type === 'event' ? [item.event] : []))
    expect(events).toMatchObject([
      { startMs: 600, data: { From: 'in.audio', To: 'x.audio', Phase: 'begun', DroppedMsec: 100 } },
      { startMs: 600, data: { From: 'in.audio', To: 'x.audio', Phase: 'ended', DroppedMsec: 100 } },
    ])
  })

  it('counts what it drops by kind of node and policy, all of it once, also where the session ends meanwhile', async () => {
    const { node, account } = slow()
    const run = await running(around('slow', '', ', holds: 500 ms, whenFull: dropNewest'), [node])
    const amounts = (): readonly unknown[] =>
      run.counted.map((loss) => {
        expect(loss).toMatchObject({ node: 'slow', policy: 'dropNewest', what: 'audio-ms' })
        return 'amount' in loss && loss.amount
      })
    run.give(250, 250, 100, 30)
    expect(amounts()).toEqual([100])
    account.take(500 * 8)
    run.give(20)
    expect(amounts()).toEqual([100, 30])
    run.give(250, 250, 100, 40)
    expect(amounts()).toEqual([100, 30, 150])
    run.subscription.unsubscribe()
    expect(amounts()).toEqual([100, 30, 150, 140])
  })

  it('ends the session by its name when it is full and is to fail', async () => {
    const { node } = slow()
    const { give, said } = await running(around('slow', '', ', holds: 500 ms, whenFull: fail'), [node])
    give(250, 250, 20)
    expect(said).toEqual(['a250', 'a250', '# The wire in.audio -> x.audio of the project is full.'])
  })

  it('calls a node that floods it by name', async () => {
    const { node } = slow()
    const loud = nodeOf(
      'loud',
      () => (input$) =>
        input$.pipe(
          mergeMap(() => range(0, 100).pipe(map((): NodeItem => ({ type: 'audio', bytes: new Uint8Array(2000) })))),
        ),
    )
    const text = around('loud')
      .replace('x.audio -> out.audio', 'x.audio -> y')
      .replace('nodes:', 'nodes:\n  y: slow')
      .replace('out.events', 'out.events\n  - y.audio -> out.audio')
    const { give, said } = await running(text, [node, loud])
    give(20)
    expect(said).toContain('Node Failed')
    expect(said.at(-1)).toBe('# The node x of the project failed (flooded).')
  })
})

describe('a node that fails', () => {
  it('ends the session by its name, and tells nothing of the inside', async () => {
    const { give, said, items } = await running(around('failing'), [nodeOf('failing', () => failing)])
    give(20, 10)
    expect(said).toEqual(['a20', 'Node Failed', '# The node x of the project failed (threw).'])
    expect(items[1]).toMatchObject({
      event: { data: { Node: 'x', Cause: 'threw', Action: 'failed', Attempt: 1 } },
    })
  })

  it('is heard to its last word before the session ends', async () => {
    const node: Node = (input$) =>
      concat(
        input$,
        of(event('last words')),
        throwError(() => new Error('x')),
      )
    const { give, said, audio$ } = await running(around('node'), [nodeOf('node', () => node)])
    give(20)
    audio$.complete()
    expect(said).toEqual(['a20', 'last words', 'Node Failed', '# The node x of the project failed (threw).'])
  })

  it('is left out by its policy: audio passes, in the length that it had, and the operator is told', async () => {
    const { give, said, items, audio$, faults, counted } = await running(around('failing', ', onFault: bypass'), [
      nodeOf('failing', () => failing),
    ])
    give(20, 10, 30)
    audio$.complete()
    // 10 ms of silence for what the fault has cost.
    expect(said).toEqual(['a20', 'Node Failed', 'a10', 'a30', '|'])
    expect(items[2]).toMatchObject({ bytes: new Uint8Array(80).fill(0xff) })
    expect(faults).toMatchObject([{ code: 'node-failed', cause: { message: 'secret text' } }])
    expect(counted).toEqual([{ node: 'failing', cause: 'threw', action: 'bypassed' }])
  })

  it('is opened anew by its policy; what comes meanwhile waits, and times go on', async () => {
    const offsets: (number | undefined)[] = []
    const node = nodeOf('failing', (context) => {
      offsets.push(context.offsetMs)
      return failing
    })
    const { give, said, audio$ } = await running(around('failing', ', onFault: restart(1)'), [node])
    give(20, 10)
    expect(said).toEqual(['a20', 'Node Failed'])
    give(30)
    expect(said).toEqual(['a20', 'Node Failed'])
    await turn()
    expect(said).toEqual(['a20', 'Node Failed', 'a10', 'a30'])
    expect(offsets).toEqual([undefined, 30])
    give(10)
    expect(said.slice(4)).toEqual(['Node Failed', '# The node x of the project failed (threw).'])
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
    ['errors at once', () => throwError(() => new Error('x')), 'threw'],
    ['floods at once', () => range(0, 1_000_000).pipe(map(() => event('e'))), 'flooded'],
  ] as const)('is found out when it %s', async (_what, node, cause) => {
    const { said, items } = await running(around('bad', ', onFault: bypass'), [nodeOf('bad', () => node)])
    const failed = items.flatMap((item) =>
      item.type === 'event' && item.event.name === 'Node Failed' ? [item.event.data] : [],
    )
    expect(failed).toMatchObject([{ Cause: cause, Action: 'bypassed' }])
    expect(said.length).toBeLessThan(10_002)
  })

  it('is cut when it floods within one call', async () => {
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
    const { give, said, audio$ } = await running(around('flood', ', onFault: bypass'), [nodeOf('flood', () => flood)])
    give(20)
    expect(made).toBeLessThanOrEqual(10_001)
    give(30)
    audio$.complete()
    expect(said.slice(-2)).toEqual(['a30', '|'])
  })

  it('is found out when it does not say its last in time', async () => {
    const hung: Node = (input$) => concat(input$, NEVER)
    const { give, said, audio$, clock } = await running(around('hung'), [nodeOf('hung', () => hung)])
    give(20)
    audio$.complete()
    expect(said).toEqual(['a20'])
    clock.maxFrames = 999
    clock.flush()
    expect(said).toEqual(['a20'])
    clock.maxFrames = 1000
    clock.flush()
    expect(said).toEqual(['a20', 'Node Failed', '# The node x of the project failed (hung).'])
  })

  it('lets a node have a last word when the session is broken off, then errors', async () => {
    const { give, said, open } = await running(around('owing'), [nodeOf('owing', owing)])
    give(20)
    open.breakOff(new SpeechError('cut-sample', 'Cut.'))
    give(20)
    expect(said).toEqual(['a20', 'final cut-sample', '# Cut.'])
  })

  it('lets it have that when the project cannot go on because of itself or of another node', async () => {
    const hung =
      (context: NodeContext): Node =>
      (input$) =>
        merge(concat(input$, NEVER), lastWordOf(context))
    const one = await running(around('hung'), [nodeOf('hung', hung)])
    one.audio$.complete()
    one.clock.flush()
    expect(one.said).toEqual(['final node-failed', 'Node Failed', '# The node x of the project failed (hung).'])

    const two = await running(around('owing').replace('wires:', '  y: failing\nwires:\n  - in -> y.audio'), [
      nodeOf('owing', owing),
      nodeOf('failing', () => failing),
    ])
    two.give(20, 10)
    expect(two.said).toEqual([
      'a20',
      'final node-failed',
      'a10',
      'Node Failed',
      '# The node y of the project failed (threw).',
    ])
  })

  it('is found out when it holds up its thread, and no other node for it', async () => {
    const work: { run: () => void } = { run: () => undefined }
    const heavy: Node = (input$) => input$.pipe(tap(() => work.run()))
    const text = around('heavy', ', onFault: bypass')
      .replace('in, to: x.audio', 'b.audio, to: x.audio')
      .replace('nodes:', 'nodes:\n  b: before')
      .replace('wires:', 'wires:\n  - in -> b')
    const { give, said, items, clock } = await running(text, [
      nodeOf('heavy', () => heavy),
      nodeOf('before', () => through),
    ])
    work.run = () => (clock.frame += 101)
    give(20)
    expect(said).toEqual(['Node Failed', 'a20'])
    expect(items[0]).toMatchObject({ event: { data: { Node: 'x', Cause: 'blocked', Action: 'bypassed' } } })
  })
})

describe('events of a node', () => {
  it('come from timers too', async () => {
    const later: Node = () => defer(() => from(Promise.resolve(event('later'))))
    const { said } = await running(around('later'), [nodeOf('later', () => later)])
    await turn()
    expect(said).toEqual(['later', '|'])
  })
})
