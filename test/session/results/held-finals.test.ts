import { describe, expect, it } from 'vitest'
import type { FinalEvent } from '../../../src/protocol/session-event.js'
import { HeldFinals } from '../../../src/session/results/held-finals.js'
import { virtually } from '../virtual-session.js'

const final = (channel: number, error?: string): FinalEvent => ({
  type: 'final',
  channel,
  text: `text ${channel}`,
  ...(error === undefined ? {} : { error }),
})

/** Of no channel. */
const answer = { type: 'response', request: 'Update', success: true, operationResult: 'success' } as const

describe('held finals', () => {
  it('are told a second after every channel has its own, where the connection may go on', () => {
    virtually(({ clock }) => {
      const told: string[] = []
      const startMs = clock.now()
      const finals = new HeldFinals(clock, { tell: ({ text }) => told.push(`${clock.now() - startMs} ${text}`) }, 2)
      finals.hold(final(0), true)
      clock.schedule(() => finals.hold(final(1), true), 400)
      return () => expect([told, finals.askedCount]).toEqual([['1400 text 0', '1400 text 1'], 0])
    })
  })

  it('are told or taken once, and then have no timer', () => {
    virtually(({ clock }) => {
      const told: FinalEvent[] = []
      const finals = new HeldFinals(clock, { tell: (one) => told.push(one) }, 2)
      finals.hold(final(0), true)
      finals.hold(final(1, 'engine-failed: Broken.'), true)
      expect(finals.askedCount).toBe(1)
      expect(finals.take()).toHaveLength(2)
      expect([finals.take(), clock.pending()]).toEqual([[], 0])
      finals.hold(final(0), true)
      finals.release()
      expect([told.length, clock.pending()]).toEqual([1, 0])
      finals.hold(final(0), true)
      finals.discard()
      finals.release()
      expect([told.length, clock.pending()]).toEqual([1, 0])
      return () => undefined
    })
  })

  it('wait for the end of the connection where it must end', () => {
    virtually(({ clock }) => {
      const finals = new HeldFinals(clock, { tell: () => undefined }, 2)
      finals.hold(final(0), false)
      expect(clock.pending()).toBe(0)
      return () => expect(finals.askedCount).toBe(1)
    })
  })

  it('are told when their channel goes on, but for one with an error, which is kept, and not for an answer', () => {
    virtually(({ clock }) => {
      const told: string[] = []
      const finals = new HeldFinals(clock, { tell: ({ text }) => told.push(text) }, 3)
      const goOn = (channel: number): void => finals.goOn({ type: 'milestone', channel, text: 'more' })
      goOn(0)
      finals.hold(final(0), true)
      finals.hold(final(1, 'engine-failed: Broken.'), true)
      finals.hold(final(2), true)
      finals.goOn(answer)
      expect([told, clock.pending()]).toEqual([[], 1])
      for (const channel of [0, 1, 2]) goOn(channel)
      expect([told, finals.askedCount, clock.pending()]).toEqual([['text 0', 'text 2'], 0, 0])
      goOn(1)
      finals.release()
      return () => expect(told).toEqual(['text 0', 'text 2', 'text 1'])
    })
  })

  it('count as asked for when they come after that', () => {
    virtually(({ clock }) => {
      const finals = new HeldFinals(clock, { tell: () => undefined }, 2)
      finals.hold(final(0), true)
      finals.ask()
      finals.hold(final(1), true)
      expect(finals.askedCount).toBe(1)
      finals.hold(final(0), true)
      expect(finals.askedCount).toBe(2)
      finals.discard()
      return () => expect(clock.pending()).toBe(0)
    })
  })

  it('wait 10 s for those of other channels, which the service may still read', () => {
    virtually(({ clock }) => {
      const told: string[] = []
      const startMs = clock.now()
      const finals = new HeldFinals(clock, { tell: ({ text }) => told.push(`${clock.now() - startMs} ${text}`) }, 2)
      finals.hold(final(0), true)
      return () => expect(told).toEqual(['10000 text 0'])
    })
  })

  it('are not told for what follows on another channel', () => {
    virtually(({ clock }) => {
      const told: string[] = []
      const finals = new HeldFinals(clock, { tell: ({ text }) => told.push(text) }, 2)
      finals.hold(final(0), true)
      finals.goOn({ type: 'partial', channel: 1, text: 'hello' })
      expect([told, finals.askedCount, clock.pending()]).toEqual([[], 1, 1])
      finals.goOn({ type: 'partial', channel: 0, text: 'hello' })
      expect([told, finals.askedCount, clock.pending()]).toEqual([['text 0'], 0, 0])
      return () => undefined
    })
  })
})
