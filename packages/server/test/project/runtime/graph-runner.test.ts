import { concat, concatMap, defer, from, ignoreElements, NEVER, Observable, of, take, tap } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../../../src/errors/speech-error.js'
import type { Node } from '../../../src/nodes/core/node.js'
import { around, brief, event, nodeOf, opened, running, through } from '../graphs.js'
import { flushPromises } from '../../../../service/test/virtual-clock.js'

describe('a graph', () => {
  it('delivers audio and events to the client, finalizes node after node, and completes', async () => {
    const reporting = nodeOf(
      'reporting',
      () => (input$) =>
        concat(input$.pipe(concatMap((item) => of(event(`received ${brief(item)}`), item))), of(event('last'))),
    )
    const { give, audio$, output } = await running(around('reporting'), [reporting])
    give(20, 40)
    audio$.complete()
    expect(output).toEqual(['received a20', 'a20', 'received a40', 'a40', 'last', '|'])
  })

  it('queues audio that arrives during a node call until the call has returned', async () => {
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
    const { give, output, audio$ } = await running(around('node'), [nodeOf('node', () => node)])
    client.again = () => {
      client.again = () => undefined
      give(40)
      audio$.complete()
    }
    give(20)
    expect(calls).toEqual(['begins a20', 'ends a20', 'begins a40', 'ends a40'])
    expect(output).toEqual(['a20', 'a40', '|'])
  })

  it('splits long messages into pieces without loss', async () => {
    const { give, audio$, output } = await running(around('through'), [nodeOf('through', () => through)])
    give(600)
    audio$.complete()
    expect(output).toEqual(['a250', 'a250', 'a100', '|'])
  })

  it('unsubscribes from every node when it is unsubscribed, and resumes the link', async () => {
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

  it('starts no further node once its output is unsubscribed', async () => {
    const started: string[] = []
    const nodes = [
      nodeOf('early', () => () => {
        started.push('early')
        throw new Error('broken')
      }),
      nodeOf('late', () => (input$) => {
        started.push('late')
        return input$
      }),
    ]
    const text = around('early', ', onFault: bypass').replace('wires:', '  y: late\nwires:\n  - in -> y')
    const graph = await opened(text, nodes)
    const items: string[] = []
    graph(NEVER)
      .pipe(take(1))
      .subscribe((item) => items.push(brief(item)))
    expect([items, started]).toEqual([['Node Failed'], ['early']])
  })

  it('is aborted by a signal that came before its subscription', async () => {
    const graph = await opened(around('through'), [nodeOf('through', () => through)])
    const errors: unknown[] = []
    graph(NEVER, { abort$: of(new SpeechError('cut-sample', 'Cut.')) }).subscribe({
      error: (error: unknown) => errors.push(error),
    })
    expect(errors).toMatchObject([{ code: 'cut-sample' }])
  })

  it('refuses the session when a node refuses it or throws while it opens', async () => {
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

  it('refuses audio that the project does not accept with the name of the field', async () => {
    const text = `inputs: { channels: 2, encodings: [ulaw] }${around('through')}`
    await expect(running(text, [nodeOf('through', () => through)])).rejects.toMatchObject({
      code: 'invalid-field',
      message: 'Audio.ChannelCount must be 2 for this project.',
    })
  })

  it('discards the input of a completed node, and finalizes the others when no publisher is left', async () => {
    const flushed: string[] = []
    const sink = nodeOf(
      'sink',
      () => (input$) => input$.pipe(ignoreElements(), tap({ complete: () => flushed.push('sink') })),
      {
        outputs: {},
      },
    )
    const early = nodeOf('early', () => () => of(event('enough')))
    const { give, output } = await running(`${around('early').replace('nodes:', 'nodes:\n  s: sink')}  - in -> s\n`, [
      early,
      sink,
    ])
    expect(output).toEqual(['enough', '|'])
    expect(flushed).toEqual(['sink'])
    give(20)
    expect(output).toEqual(['enough', '|'])
  })

  it('finalizes when no audio arrives for the time of the idle limit', async () => {
    const { give, output, clock } = await running(around('through'), [nodeOf('through', () => through)], {
      idleMs: 500,
    })
    give(20)
    clock.maxFrames = 499
    clock.flush()
    expect(output).toEqual(['a20'])
    clock.maxFrames = 501
    clock.flush()
    expect(output).toEqual(['a20', '|'])
  })
})

describe('the events of a node', () => {
  it('can be emitted from timers', async () => {
    const later: Node = () => defer(() => from(Promise.resolve(event('later'))))
    const { output } = await running(around('later'), [nodeOf('later', () => later)])
    await flushPromises()
    expect(output).toEqual(['later', '|'])
  })
})
