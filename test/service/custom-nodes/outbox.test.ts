import { expect, it } from 'vitest'
import { Outbox } from '../../../src/service/custom-nodes/outbox.js'
import type { NodeItem } from '../../../src/service/nodes/core/node.js'

const item = (name: string): NodeItem => ({ type: 'event', event: { name } })
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const outbox = () => {
  const said: number[] = []
  const told: string[] = []
  const box = new Outbox({
    send: (items) => said.push(items.length),
    flooded: () => told.push('flooded'),
    empty: () => told.push('empty'),
  })
  return { box, said, told }
}

it('sends what is pushed together in one message, and the rest after that was delivered', async () => {
  const { box, said } = outbox()
  for (let at = 0; at < 300; at += 1) box.push(item('x'))
  await turn()
  expect(said).toEqual([256])
  box.push(item('y'))
  await turn()
  expect(said).toEqual([256])
  box.delivered()
  expect(said).toEqual([256, 45])
})

it('is empty only after the last message was delivered, and accepts nothing more then', async () => {
  const { box, said, told } = outbox()
  box.push(item('x'))
  box.close()
  expect([said, told]).toEqual([[1], []])
  box.delivered()
  expect(told).toEqual(['empty'])
  box.push(item('y'))
  await turn()
  expect(said).toEqual([1])
})

it('reports a flood of items or of bytes once, and drops it', async () => {
  const { box, said, told } = outbox()
  for (let at = 0; at < 20_000; at += 1) box.push(item('x'))
  await turn()
  expect([told, said]).toEqual([['flooded'], []])
  const other = outbox()
  for (let at = 0; at < 17; at += 1) other.box.push({ type: 'audio', bytes: new Uint8Array(1024 * 1024) })
  expect(other.told).toEqual(['flooded'])
})
