import { expect, it } from 'vitest'
import { Outbox } from '../../src/custom-nodes/outbox.js'
import type { NodeItem } from '../../src/nodes/core/node.js'

const item = (name: string): NodeItem => ({ type: 'event', event: { name } })
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const outbox = () => {
  const sent: number[] = []
  const reports: string[] = []
  const box = new Outbox({
    send: (items) => sent.push(items.length),
    flooded: () => reports.push('flooded'),
    empty: () => reports.push('empty'),
  })
  return { box, sent, reports }
}

it('sends what is pushed together in one message, and the rest after that was delivered', async () => {
  const { box, sent } = outbox()
  for (let at = 0; at < 300; at += 1) box.push(item('x'))
  await turn()
  expect(sent).toEqual([256])
  box.push(item('y'))
  await turn()
  expect(sent).toEqual([256])
  box.delivered()
  expect(sent).toEqual([256, 45])
})

it('is empty only after the last message was delivered, and then accepts nothing more', async () => {
  const { box, sent, reports } = outbox()
  box.push(item('x'))
  box.close()
  expect([sent, reports]).toEqual([[1], []])
  box.delivered()
  expect(reports).toEqual(['empty'])
  box.push(item('y'))
  await turn()
  expect(sent).toEqual([1])
})

it('reports a flood of items or of bytes once, and drops it', async () => {
  const { box, sent, reports } = outbox()
  for (let at = 0; at < 20_000; at += 1) box.push(item('x'))
  await turn()
  expect([reports, sent]).toEqual([['flooded'], []])
  const other = outbox()
  for (let at = 0; at < 17; at += 1) other.box.push({ type: 'audio', bytes: new Uint8Array(1024 * 1024) })
  expect(other.reports).toEqual(['flooded'])
})
