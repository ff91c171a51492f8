import { map, mergeMap, range } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { NodeItem } from '../../../src/nodes/core/node.js'
import { around, nodeOf, running, through } from '../graphs.js'

describe('a wire of a graph', () => {
  const slow = () => {
    const account: { take: (count: number) => void } = { take: () => undefined }
    const node = nodeOf(
      'slow',
      (context) => {
        account.take = (count) => context.ack(count)
        return through
      },
      { manualAck: true },
    )
    return { node, account }
  }

  it('pauses the link when it is full, keeps at the entry what still arrives, and resumes when it is half empty', async () => {
    const { node, account } = slow()
    const { give, output, link, audio$ } = await running(around('slow', '', ', capacity: 500 ms'), [node])
    give(250, 250)
    expect(link.paused).toBe(false)
    give(20)
    expect(link.paused).toBe(true)
    give(30, 40)
    audio$.complete()
    expect(output).toEqual(['a250', 'a250', 'a20'])
    account.take(269 * 8)
    expect(link.paused).toBe(true)
    account.take(8)
    expect(output).toEqual(['a250', 'a250', 'a20', 'a30', 'a40', '|'])
    expect(link.paused).toBe(false)
  })

  it('loses nothing when the link delivers what it held, and ends, while it is resumed', async () => {
    const { node, account } = slow()
    const { give, output, audio$, client } = await running(around('slow', '', ', capacity: 500 ms'), [node])
    give(250, 250, 20)
    client.resumed = () => {
      client.resumed = () => undefined
      give(30, 40)
      audio$.complete()
    }
    account.take(Infinity)
    expect(output).toEqual(['a250', 'a250', 'a20', 'a30', 'a40', '|'])
  })

  it('reports drops when they begin and when they end, and replaces them with silence', async () => {
    const { node, account } = slow()
    const run = await running(around('slow', '', ', capacity: 500 ms, whenFull: dropNewest'), [node])
    run.give(250, 250, 100)
    expect(run.link.paused).toBe(false)
    expect(run.output).toEqual(['a250', 'a250', 'Wire Dropped'])
    account.take(500 * 8)
    expect(run.output.slice(3)).toEqual(['a100'])
    expect(run.items.at(-1)).toMatchObject({ bytes: new Uint8Array(800).fill(0xff) })
    run.give(20)
    expect(run.output.slice(4)).toEqual(['Wire Dropped', 'a20'])
    const events = run.items.flatMap((item) => (item.type === 'event' ? [item.event] : []))
    expect(events).toMatchObject([
      { startMs: 600, data: { From: 'in.audio', To: 'x.audio', Phase: 'begun', DroppedMsec: 100 } },
      { startMs: 600, data: { From: 'in.audio', To: 'x.audio', Phase: 'ended', DroppedMsec: 100 } },
    ])
  })

  it('counts drops by kind of node and policy, each once, also when the session ends meanwhile', async () => {
    const { node, account } = slow()
    const run = await running(around('slow', '', ', capacity: 500 ms, whenFull: dropNewest'), [node])
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

  it('ends the session with an error that names it when its policy is to fail', async () => {
    const { node } = slow()
    const { give, output } = await running(around('slow', '', ', capacity: 500 ms, whenFull: fail'), [node])
    give(250, 250, 20)
    expect(output).toEqual(['a250', 'a250', '# The wire in.audio -> x.audio of the project is full.'])
  })

  it('fails the node that floods it', async () => {
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
    const { give, output } = await running(text, [node, loud])
    give(20)
    expect(output).toContain('Node Failed')
    expect(output.at(-1)).toBe('# The node x of the project failed (flooded).')
  })
})
