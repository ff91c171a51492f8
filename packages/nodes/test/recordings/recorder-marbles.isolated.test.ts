import { beforeEach, describe, expect, it, vi } from 'vitest'
import { recorder } from '../../src/recordings/recorder.js'
import type { NodeItem } from '../../../server/src/nodes/core/node.js'
import { asyncMarbles } from '../../../service/test/async-marbles.js'
import { audio, event, openNode, testFixedSet } from '../../../server/test/nodes/fixed-set.js'
import { nodeContext } from '../../../server/test/nodes/node-context.js'

/** A fake disk with promises that accepts every name: the content of its files, and which of them are open. */
const disk = vi.hoisted(() => ({ files: [] as Uint8Array[], open: 0, fails: false }))

vi.mock(import('node:fs/promises'), async (importOriginal) => {
  const open = (): Promise<unknown> => {
    const at = disk.files.push(new Uint8Array(0)) - 1
    disk.open += 1
    let end = 0
    return Promise.resolve({
      write: (bytes: Uint8Array, from = 0, count = bytes.byteLength - from, position = end) => {
        if (disk.fails) return Promise.reject(Object.assign(new Error('no'), { code: 'EIO' }))
        const before = disk.files[at] ?? new Uint8Array(0)
        const after = new Uint8Array(Math.max(before.byteLength, position + count))
        after.set(before)
        after.set(bytes.subarray(from, from + count), position)
        disk.files[at] = after
        end = Math.max(end, position + count)
        return Promise.resolve({ bytesWritten: count })
      },
      stat: () => Promise.resolve({ size: disk.files[at]?.byteLength ?? 0 }),
      close: () => {
        disk.open -= 1
        return Promise.resolve()
      },
    })
  }
  const original = await importOriginal()
  const none = () => Promise.resolve(undefined)
  return { ...original, mkdir: none, rm: none, open: open as unknown as typeof original.open }
})

beforeEach(() => {
  Object.assign(disk, { files: [], open: 0, fails: false })
})

const item = audio(new Uint8Array(1600).fill(7))
const recorded = (DurationMsec: number, more: object = {}): NodeItem => {
  const data = { File: 'session-1-node-all.wav', DurationMsec, ...more }
  return event('Recorded', { channel: -2, startMs: 0, endMs: DurationMsec, data })
}
const open = (options: object = {}) => openNode(recorder, options, { recordingsFolder: '/recordings' })
/** The audio size in the header of each file, and whether it is correct. */
const sizes = (): readonly (readonly [number, boolean])[] =>
  disk.files.map((bytes) => {
    const declared = Buffer.from(bytes).readUInt32LE(40)
    return [declared, declared === bytes.byteLength - 44]
  })

describe('recorder in virtual time', () => {
  testFixedSet({
    open: () => open(),
    item,
    first: [],
    second: [],
    end: [[recorded(100)], [recorded(200)], []],
    opensLater: true,
  })

  it('leaves complete files and none open: after the end, an error, and unsubscription', async () => {
    const node = await open()
    await asyncMarbles(({ cold, expectObservable, scheduler }) => {
      const drawn = (marbles: string, unsubscribe?: string) =>
        expectObservable(node(cold<NodeItem>(marbles, { x: item }), nodeContext({ scheduler })), unsubscribe)
      const [ends, fails, cancelled] = [drawn('x---x---|'), drawn('x---#'), drawn('x-------', '^--!')]
      return () => {
        ends.toBe('--------(r|)', { r: recorded(200) })
        fails.toBe('----#')
        cancelled.toBe('')
      }
    })
    expect(sizes()).toEqual([
      [3200, true],
      [1600, true],
      [1600, true],
    ])
    expect(disk.open).toBe(0)
  })

  it('completes at its maximum duration, though the input continues, and unsubscribes from it', async () => {
    const node = await open({ maxDurationMs: 150 })
    await asyncMarbles(({ cold, expectObservable, expectSubscriptions, scheduler }) => {
      const source$ = cold<NodeItem>('x---x---x---', { x: item })
      const seen = expectObservable(node(source$, nodeContext({ scheduler })))
      const subscribed = expectSubscriptions(source$.subscriptions)
      return () => {
        seen.toBe('----(r|)', { r: recorded(150, { Truncated: true }) })
        subscribed.toBe('^---!')
      }
    })
    expect(sizes()).toEqual([[2400, true]])
  })

  it('fails when the disk does, unsubscribes from its input, and leaves no file open', async () => {
    const node = await open()
    await asyncMarbles(({ cold, expectObservable, expectSubscriptions, scheduler }) => {
      const source$ = cold<NodeItem>('----x---', { x: audio(new Uint8Array(65_536)) })
      const seen = expectObservable(node(source$, nodeContext({ scheduler })))
      const subscribed = expectSubscriptions(source$.subscriptions)
      scheduler.schedule(() => (disk.fails = true), 2)
      return () => {
        const error = expect.objectContaining({ code: 'internal', message: 'The recording cannot be written (EIO).' })
        seen.toBe('----#', undefined, error)
        subscribed.toBe('^---!')
      }
    })
    expect(disk.open).toBe(0)
  })
})
