import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Mailbox } from '../../src/kernel/mailbox.js'

describe('Mailbox', () => {
  it('handles an item at once when it is idle', () => {
    const handled: number[] = []
    const mailbox = new Mailbox<number>((item) => handled.push(item))
    mailbox.post(1)
    expect(handled).toEqual([1])
  })

  it('handles items in the order they were posted and never inside one another', () => {
    // Each item posts the numbers of its children while it is handled.
    const tree = fc.array(fc.array(fc.nat(30), { maxLength: 3 }), { maxLength: 30 })
    fc.assert(
      fc.property(tree, (children) => {
        const posted: number[] = []
        const handled: number[] = []
        let depth = 0
        const post = (item: number): void => {
          posted.push(item)
          mailbox.post(item)
        }
        const mailbox = new Mailbox<number>((item) => {
          depth += 1
          expect([depth, mailbox.isBusy]).toEqual([1, true])
          if (posted.length < 100) children[item]?.forEach(post)
          handled.push(item)
          depth -= 1
        })
        post(0)
        expect(handled).toEqual(posted)
        expect(mailbox.isBusy).toBe(false)
      }),
    )
  })

  it('calls onEmpty after each run of items and not between them', () => {
    const log: string[] = []
    const mailbox: Mailbox<number> = new Mailbox<number>(
      (item) => {
        log.push(`item ${item}`)
        if (item === 1) mailbox.post(2)
      },
      () => log.push(`empty, ${mailbox.isBusy ? 'busy' : 'idle'}`),
    )
    mailbox.post(1)
    mailbox.post(3)
    expect(log).toEqual(['item 1', 'item 2', 'empty, idle', 'item 3', 'empty, idle'])
  })

  it('discards queued items when it is cleared', () => {
    const handled: number[] = []
    const mailbox: Mailbox<number> = new Mailbox<number>((item) => {
      handled.push(item)
      if (item !== 1) return
      mailbox.post(2)
      mailbox.clear()
      mailbox.post(3)
    })
    mailbox.post(1)
    expect(handled).toEqual([1, 3])
  })

  it('stays usable after a handler that throws, and loses no item', () => {
    const handled: number[] = []
    const mailbox: Mailbox<number> = new Mailbox<number>((item) => {
      if (item === 1) {
        mailbox.post(2)
        throw new Error('failed')
      }
      handled.push(item)
    })
    expect(() => mailbox.post(1)).toThrow('failed')
    mailbox.post(3)
    expect(handled).toEqual([2, 3])
  })
})
