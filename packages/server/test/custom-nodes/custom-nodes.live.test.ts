import { join } from 'node:path'
import { either } from 'fp-ts'
import { asyncScheduler, firstValueFrom, lastValueFrom, NEVER, of, Subject, toArray, type Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { CustomNodeOptions } from '../../src/custom-nodes/custom-node-source.js'
import { loadCustomNodes } from '../../src/custom-nodes/load-custom-nodes.js'
import type { Node, NodeContext, NodeItem } from '../../src/nodes/core/node.js'
import { nodeContext } from '../nodes/node-context.js'

const from = join(__dirname, 'fixtures')
const samples = join(__dirname, '../../../../samples/nodes')

const event = (name: string, data?: unknown): NodeItem => ({
  type: 'event',
  event: data === undefined ? { name } : { name, data },
})

const load = async (name: string, host: CustomNodeOptions = {}, file = 'bad-nodes.mjs') => {
  // The default of a second can be over before the thread of a busy machine has answered.
  const definitions = await loadCustomNodes([{ from, file, budgetMs: 20_000, ...host }], [])
  const definition = definitions.find((definition) => definition.name === name)
  if (definition === undefined) throw new Error(`no ${name}`)
  return definition
}

const open = async (
  name: string,
  {
    options = {},
    host = {},
    file = 'bad-nodes.mjs',
    ...change
  }: Partial<NodeContext> & {
    options?: unknown
    host?: CustomNodeOptions
    file?: string
  } = {},
): Promise<{ readonly node: Node; readonly context: NodeContext }> => {
  const configured = (await load(name, host, file)).configure(options)
  if (either.isLeft(configured)) throw new Error(JSON.stringify(configured.left))
  const context = nodeContext({ scheduler: asyncScheduler, inputs: {}, outputs: {}, ...change })
  return { node: await configured.right.open(context), context }
}

const fault = async (name: string, host: CustomNodeOptions = {}): Promise<unknown> => {
  const { node, context } = await open(name, { host })
  return lastValueFrom(node(of(event('good'), event('bad')), context)).then(
    () => 'no fault',
    (error: unknown) => error,
  )
}

const run = async (input$: Observable<NodeItem>, ...given: Parameters<typeof open>) => {
  const { node, context } = await open(...given)
  return lastValueFrom(node(input$, context).pipe(toArray()))
}

describe('a node in a worker', () => {
  it('gets its input in order and the context of its session, and flushes when its input completes', async () => {
    const logged: unknown[] = []
    const sessionFormat = { encoding: 'ulaw', sampleRateHz: 8000, channels: 2 } as const
    const items = await run(of(event('a'), event('b')), 'reporter', {
      options: { loud: true },
      settings: () => ({ Mood: 'good' }),
      callProperties: () => ({ Agent: 7 }),
      // As after a fault.
      offsetMs: 1500,
      sessionFormat,
      log: (message, fields) => logged.push([message, fields]),
    })
    const place = { node: 'node', offsetMs: 1500, sessionFormat }
    const data = { settings: { Mood: 'good' }, properties: { Agent: 7 }, ...place }
    expect(items).toEqual([event('a'), event('reporter', data), event('b'), event('reporter', data)])
    expect(logged).toEqual([
      ['seen', { name: 'a', loud: true }],
      ['seen', { name: 'b', loud: true }],
    ])
  })

  it('sees the settings of an Update', async () => {
    const updated$ = new Subject<undefined>()
    const input$ = new Subject<NodeItem>()
    let settings = { Mood: 'good' }
    const { node, context } = await open('reporter', { updated$, settings: () => settings })
    const seen: NodeItem[] = []
    const done = lastValueFrom(node(input$, context).pipe(toArray())).then((items) => seen.push(...items))
    settings = { Mood: 'bad' }
    updated$.next(undefined)
    input$.next(event('a'))
    input$.complete()
    await done
    expect(seen[1]).toMatchObject({ event: { data: { settings: { Mood: 'bad' } } } })
  })

  it('acknowledges what it has processed', async () => {
    let acked = 0
    await run(of(event('a'), event('b'), event('c')), 'reporter', { ack: (count) => (acked += count) })
    expect(acked).toBe(3)
  })

  it.each([
    ['throws', 'threw', {}],
    ['blocks', 'blocked', { budgetMs: 200 }],
    ['floods', 'flooded', {}],
    ['exits', 'threw', {}],
    ['hoards', 'threw', { memoryMb: 32 }],
  ] as const)('that %s fails with the cause %s, and its thread ends', async (name, kind, host) => {
    expect(await fault(name, host)).toMatchObject({ name: 'NodeFault', kind })
  })

  it('that emits more than is delivered does not block the service', async () => {
    const { node, context } = await open('drips')
    const received = await firstValueFrom(node(NEVER, context))
    expect(received).toEqual(event('drip'))
  })

  it('hides the reason from clients when it refuses the session or does not open in time', async () => {
    const refused = await open('refuses').catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'engine-failed' })
    expect(String(refused)).not.toContain('secret')
    await expect(open('deaf', { host: { openWithinMs: 300 } })).rejects.toMatchObject({ kind: 'hung' })
  })

  it('can complete before its input', async () => {
    expect(await run(NEVER, 'early')).toEqual([])
  })

  it('is rejected beyond the maximum number of workers', async () => {
    const definition = await load('silent', { maxWorkers: 1 })
    const configured = definition.configure({})
    if (either.isLeft(configured)) throw new Error('refused')
    const context = nodeContext({ scheduler: asyncScheduler })
    const first = (await configured.right.open(context))(NEVER, context).subscribe()
    await expect(configured.right.open(context)).rejects.toMatchObject({ code: 'overloaded' })
    first.unsubscribe()
  })
})

describe('loadCustomNodes', () => {
  it.each([
    [{ file: 'nowhere.mjs' }, '"nowhere.mjs" cannot be loaded'],
    [{ file: 'broken.mjs' }, '"broken.mjs" cannot be loaded'],
    [{ file: 'no-nodes.mjs' }, '"no-nodes.mjs" exports no node'],
    [{ package: 'rxspeech-has-no-such-package' }, 'is not installed; run npm install rxspeech-has-no-such-package'],
    [{ file: 'bad-nodes.mjs', budgetMs: 1 }, 'budgetMs must be a whole number from 10'],
    [{ file: 'bad-nodes.mjs', run: 'elsewhere' as 'inline' }, 'run must be worker or inline'],
  ])('rejects %j by name', async (source, phrase) => {
    await expect(loadCustomNodes([{ from, ...source }], [])).rejects.toMatchObject({
      code: 'invalid-options',
      message: expect.stringContaining(phrase) as unknown,
    })
  })

  it('rejects a node whose name is taken', async () => {
    await expect(loadCustomNodes([{ from, file: 'bad-nodes.mjs' }], ['reporter'])).rejects.toThrow(
      'has a node reporter, whose name is taken',
    )
  })

  it('checks options by name', async () => {
    const definition = await load('reporter')
    expect(definition.configure({ loud: 1 })).toEqual(
      either.left([{ path: ['loud'], message: 'must be true or false' }]),
    )
  })
})

describe.each(['worker', 'inline'] as const)('the sample nodes, run %s', (way) => {
  const host = { run: way }
  const milestone = (phrase: string) => event('SR Milestone', { Text: phrase, Words: [{ Text: phrase.split(' ')[0] }] })

  it('redact digits, written and spoken, except a single one', async () => {
    const items = await run(of(milestone('five one 42 is my number one'), event('Other')), 'redact-digits', {
      file: join(samples, 'redact-digits.mjs'),
      host,
    })
    expect(items).toMatchObject([
      { event: { data: { Text: '# # # is my number one', Words: [{ Text: 'five' }] } } },
      { event: { name: 'Other' } },
    ])
  })

  it('score the mood of milestones', async () => {
    const items = await run(of(milestone('that works, great!'), milestone('a problem')), 'sentiment', {
      file: join(samples, 'sentiment.mjs'),
      host,
    })
    const scores = items.flatMap((item) =>
      item.type === 'event' && item.event.name === 'Sentiment' ? [item.event.data] : [],
    )
    expect(scores).toEqual([
      { Score: 3, Total: 3 },
      { Score: -1, Total: 2 },
    ])
  })
})
