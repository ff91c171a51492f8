import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { socketFaults, vendorTables } from '../../../bench/faults/vendor-clients.js'

it('the table of clients has a row for each fault of sockets, and a cell for each client', () => {
  const clients = ['a', 'b'].map((name) => ({
    name,
    dialects: ['deepgram'] as const,
    play: () => Promise.resolve(),
  }))
  const runs = [
    { fault: 'drop', client: 'a', lostMs: 2_000, words: 5, reported: 'close 1006' },
    { fault: 'drop', client: 'b', lostMs: 0, words: 8, reported: 'complete' },
  ] as const
  const [head, , drop, ...others] = (vendorTables(clients, runs).split('\n\n')[0] ?? '').trimEnd().split('\n')
  expect(head).toBe('| Fault | a | b |')
  expect(drop).toBe('| `drop` | **2000 ms, 3 texts**; close 1006 | **nothing**; complete |')
  expect(others).toHaveLength(socketFaults.length - 1)
  expect(socketFaults).toHaveLength(12)
})

it('bench/faults/CLIENTS.md has a row for each fault of sockets in both tables', () => {
  const page = readFileSync('bench/faults/CLIENTS.md', 'utf8')
  expect([...page.matchAll(/^\| `([a-z0-9-]+)`/gm)].map(([, name]) => name)).toEqual([...socketFaults, ...socketFaults])
})
