import { Subject, toArray, lastValueFrom } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { describe, expect, it } from 'vitest'
import type { AudioFormat } from '../../../../../src/audio/format.js'
import { builtInNodes } from '../../../../service/src/start/built-ins.js'
import { audioNode } from '../../../src/nodes/core/node-steps.js'
import type { Node, NodeItem } from '../../../src/nodes/core/node.js'
import { nodeContext } from '../node-context.js'
import { brief, opened, pcm } from '../node-run.js'

const marbles = (test: Parameters<TestScheduler['run']>[0]): void => {
  new TestScheduler((actual, expected) => {
    expect(actual).toEqual(expected)
  }).run(test)
}

const a = pcm([1, 2, 3, 4])
const b = pcm([5, 6])

/**
 * A node with one stage that outputs each chunk, then how many samples it has received; at the end, that it is over.
 */
const counting = (held: { count: number } = { count: 0 }): Node =>
  audioNode(() => {
    let samples = 0
    held.count += 1
    return {
      take: (item) => {
        samples += item.bytes.length / 2
        return [item, { type: 'event', event: { name: 'Had', data: samples } }]
      },
      finish: () => [{ type: 'event', event: { name: 'Over', data: samples } }],
      free: () => {
        held.count -= 1
      },
    }
  })

const had = (data: number, name = 'Had'): NodeItem => ({ type: 'event', event: { name, data } })
const values = { a, b, p: had(4), q: had(6), r: had(6, 'Over'), z: had(0, 'Over'), e: had(1) }

describe('audioNode', () => {
  it('emits the items of each chunk, then flushes and completes with its input', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('  -a---b---|', values)
      const subscriptions = ' ^--------!'
      const expected = '      -(ap)(bq)(r|)'
      expectObservable(counting()(source$, nodeContext())).toBe(expected, values)
      expectSubscriptions(source$.subscriptions).toBe(subscriptions)
    })
  })

  it('flushes an empty input, waits for one that never ends, and passes events on', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const [empty$, never$, events$] = [cold<NodeItem>('|'), cold<NodeItem>('-'), cold('e-|', values)]
      expectObservable(counting()(empty$, nodeContext())).toBe('(z|)', values)
      expectObservable(counting()(never$, nodeContext())).toBe('-')
      expectObservable(counting()(events$, nodeContext())).toBe('--(z|)', values)
      expectSubscriptions(empty$.subscriptions).toBe('(^!)')
      expectSubscriptions(never$.subscriptions).toBe('^')
    })
  })

  it('passes an error on without a flush, and releases its resources', () => {
    const held = { count: 0 }
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('  -a---#', values)
      const subscriptions = ' ^----!'
      expectObservable(counting(held)(source$, nodeContext())).toBe('-(ap)#', values)
      expectSubscriptions(source$.subscriptions).toBe(subscriptions)
    })
    expect(held.count).toBe(0)
  })

  it('unsubscribes its input and frees its steps on unsubscription', () => {
    const held = { count: 0 }
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('  -a---b--|', values)
      const unsubscribe = '   ---!'
      const subscriptions = ' ^--!'
      expectObservable(counting(held)(source$, nodeContext()), unsubscribe).toBe('-(ap)', values)
      expectSubscriptions(source$.subscriptions).toBe(subscriptions)
    })
    expect(held.count).toBe(0)
  })

  it('starts again for each subscription', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('  -a---(b|)', values)
      const subscriptions = ['^----!', '----------^----!']
      const node$ = counting()(source$, nodeContext())
      expectObservable(node$, '^').toBe('-(ap)(bqr|)', values)
      expectObservable(node$, '----------^').toBe('-----------(ap)(bqr|)', values)
      expectSubscriptions(source$.subscriptions).toBe(subscriptions)
    })
  })

  it('keeps the order when a consumer responds during an output', () => {
    const input$ = new Subject<NodeItem>()
    const received: string[] = []
    counting()(input$, nodeContext()).subscribe((item) => {
      received.push(brief(item))
      if (received.length === 1) {
        input$.next(b)
        input$.complete()
      }
    })
    input$.next(a)
    const span = 'undefined undefined-undefined'
    expect(received).toEqual(['1 2 3 4', `Had ${span} 4`, '5 6', `Had ${span} 6`, `Over ${span} 6`])
  })

  it('waits for steps that open later, and passes the error of those that fail to open', async () => {
    const late = audioNode(() => Promise.resolve({ take: (item) => [item, item] }))
    const fails = audioNode(() => Promise.reject(new Error('not today')))
    const source$ = new Subject<NodeItem>()
    const both = [late, fails].map((node) => lastValueFrom(node(source$, nodeContext()).pipe(toArray())))
    source$.next(a)
    source$.complete()
    await expect(both[0]).resolves.toEqual([a, a])
    await expect(both[1]).rejects.toThrow('not today')
  })
})

const stereo: AudioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 2 }
const mono: AudioFormat = { ...stereo, channels: 1 }
const optionsOf: Readonly<Record<string, unknown>> = { gain: { gainDb: 6 }, transcode: { to: 'ulaw' } }
const needsStereo = ['channel-split', 'downmix']
const nodesOfSteps = ['channel-split', 'channel-mix', 'downmix', 'gain', 'level-meter', 'transcode']

describe.each(builtInNodes.filter(({ name }) => nodesOfSteps.includes(name)))('the node $name', (definition) => {
  const format = needsStereo.includes(definition.name) ? stereo : mono
  const context = nodeContext({ inputs: { audio: format, left: format, right: format } })
  const open = () => opened(definition, optionsOf[definition.name], context)

  it('emits nothing for an input that is empty or never ends, and passes its error on', async () => {
    const node = await open()
    marbles(({ cold, expectObservable }) => {
      expectObservable(node(cold<NodeItem>('|'), context)).toBe('|')
      expectObservable(node(cold<NodeItem>('-'), context)).toBe('-')
      expectObservable(node(cold<NodeItem>('--#'), context)).toBe('--#')
    })
  })

  it('emits the same for every subscription and unsubscribes its input', async () => {
    const node = await open()
    const source$ = new Subject<NodeItem>()
    const received: string[][] = [[], []]
    for (const list of received) {
      const subscription = node(source$, context).subscribe((item) => {
        list.push(brief(item))
      })
      source$.next(a)
      source$.next(b)
      subscription.unsubscribe()
    }
    expect(source$.observed).toBe(false)
    expect(received[1]).toEqual(received[0])
  })
})

describe('the built-in nodes', () => {
  it('have unique names and ports, and reject unknown options', () => {
    expect(new Set(builtInNodes.map(({ name }) => name)).size).toBe(builtInNodes.length)
    for (const definition of builtInNodes) {
      expect(definition.configure({ no: 'such' }), definition.name).toMatchObject({ _tag: 'Left' })
    }
  })
})
