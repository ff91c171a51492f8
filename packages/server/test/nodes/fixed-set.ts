import { either } from 'fp-ts'
import { Subject } from 'rxjs'
import { expect, it } from 'vitest'
import type { EventEnvelope } from '../../../../src/protocol/dataflow-events.js'
import type { AnyNodeDefinition, Node, NodeContext, NodeItem } from '../../src/nodes/core/node.js'
import { marbles, type MarbleHelpers } from '../../../../test/operators/marbles.js'
import { asyncMarbles } from '../../../service/test/async-marbles.js'
import { flushPromises } from '../../../service/test/virtual-clock.js'
import { nodeContext } from './node-context.js'

export const event = (name: string, more: Omit<EventEnvelope, 'name'> = {}): NodeItem => ({
  type: 'event',
  event: { name, ...more },
})

export const audio = (bytes: Uint8Array): NodeItem => ({ type: 'audio', bytes })

/** The node, configured and opened; throws the error with which a project or a session would be refused. */
export const openNode = async (
  definition: AnyNodeDefinition,
  options: unknown,
  context: Partial<NodeContext> = {},
): Promise<Node> => {
  const configured = definition.configure(options)
  if (either.isLeft(configured)) throw new Error(JSON.stringify(configured.left))
  return configured.right.open(nodeContext(context))
}

/** All immediate outputs of a node for these items and their end. */
export const answersTo = (node: Node, items: readonly NodeItem[], context = nodeContext()): readonly NodeItem[] => {
  const answers: NodeItem[] = []
  const input$ = new Subject<NodeItem>()
  node(input$, context).subscribe((item) => answers.push(item))
  for (const item of items) input$.next(item)
  input$.complete()
  return answers
}

export const eventsOf = (items: readonly NodeItem[], name: string): readonly EventEnvelope[] =>
  items.flatMap((item) => (item.type === 'event' && item.event.name === name ? [item.event] : []))

export interface FixedSet {
  readonly open: () => Promise<Node>
  readonly item: NodeItem
  /** The output for the first such item, for the second, and for the end after one, after two, and after none. */
  readonly first: readonly NodeItem[]
  readonly second: readonly NodeItem[]
  readonly end?: readonly [readonly NodeItem[], readonly NodeItem[], readonly NodeItem[]]
  /** The output for an error of the input after one item, before that error is passed on. */
  readonly failed?: readonly NodeItem[]
  /** The session context apart from its clock. */
  readonly session?: Partial<NodeContext>
  /** For a node that waits for a promise before it answers, for example to load a module. */
  readonly opensLater?: boolean
}

type Drawing = (helpers: MarbleHelpers) => () => void

const drawAtOnce = (draw: Drawing): void => {
  marbles((helpers) => {
    draw(helpers)()
  })
}

/** The behavior required of every synchronous node (the fixed set of marble tests). Eight frames from item to item. */
export const testFixedSet = (fixed: FixedSet): void => {
  const { open, item, first, second, end = [[], [], []], failed = [], session, opensLater = false } = fixed
  const draw = opensLater ? asyncMarbles : drawAtOnce
  const letters = new Map<string, NodeItem>()
  const group = (items: readonly NodeItem[], last = ''): string => {
    const marks = items.map((item) => {
      const letter = String.fromCharCode('a'.charCodeAt(0) + letters.size)
      letters.set(letter, item)
      return letter
    })
    const all = marks.join('') + last
    return (all.length > 1 ? `(${all})` : all).padEnd(8, '-')
  }
  const x = group(first)
  const y = group(second)
  const afterOne = group(end[0], '|')
  const afterTwo = group(end[1], '|')
  const afterNone = group(end[2], '|')
  const afterError = group(failed, '#')
  const values = { ...Object.fromEntries(letters), x: item }
  const run = async (source: string, subscription: string, expected: string, unsubscribe?: string): Promise<void> => {
    const node = await open()
    await draw(({ cold, expectObservable, expectSubscriptions, scheduler }) => {
      const source$ = cold<NodeItem>(source, values)
      const node$ = node(source$, nodeContext({ ...session, scheduler }))
      const seen = expectObservable(node$, unsubscribe)
      const subscriptions = expectSubscriptions(source$.subscriptions)
      return () => {
        seen.toBe(expected, values)
        subscriptions.toBe(subscription)
      }
    })
  }

  it('emits and completes', () => run('x-------x-------|', '^---------------!', `${x}${y}${afterTwo}`))
  it('completes when the input is empty', () => run('|', '(^!)', afterNone))
  it('emits nothing while the input emits nothing', () => run('-', '^', '-'))
  it('passes an error of the input on', () => run('x-------#', '^-------!', `${x}${afterError}`))
  it('unsubscribes the input on unsubscription', () => run('x-------x-------|', '^---!', x, '^---!'))
  it('starts again for each subscription', async () => {
    const node = await open()
    await draw(({ cold, expectObservable, expectSubscriptions, scheduler }) => {
      const source$ = cold<NodeItem>('x-------|', values)
      const node$ = node(source$, nodeContext({ ...session, scheduler }))
      const seen = expectObservable(node$)
      const seenLater = expectObservable(node$, '--------------------^')
      const subscriptions = expectSubscriptions(source$.subscriptions)
      return () => {
        seen.toBe(`${x}${afterOne}`, values)
        seenLater.toBe(`--------------------${x}${afterOne}`, values)
        subscriptions.toBe(['^-------!', '--------------------^-------!'])
      }
    })
  })
  // A node without output never calls its consumer.
  if (first.length === 0) return
  it('keeps the order when a consumer sends the next item during an output', async () => {
    const node = await open()
    const input$ = new Subject<NodeItem>()
    const seen: NodeItem[] = []
    let again = true
    const subscription = node(input$, nodeContext(session)).subscribe((answer) => {
      seen.push(answer)
      if (!again) return
      again = false
      input$.next(item)
    })
    if (opensLater) await flushPromises()
    input$.next(item)
    if (opensLater) await flushPromises()
    expect(seen).toEqual([...first, ...second])
    subscription.unsubscribe()
  })
}
