import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ledgerOfNow, ledgerShares } from '../src/views/ledger-shares.js'

const ms = fc.double({ min: 0, max: 7_200_000, noNaN: true })
const tenths = (text: string): number => Math.round(Number(text.replace(' s', '')) * 10)

describe('the ledger bar', () => {
  it('always adds up, in shares and in the digits that it shows', () => {
    fc.assert(
      fc.property(ms, ms, ms, ms, (finalizedMs, pendingMs, replayedPendingMs, droppedMs) => {
        const capturedMs = finalizedMs + pendingMs + replayedPendingMs + droppedMs
        fc.pre(capturedMs > 0)
        const { total, shares } = ledgerShares({
          capturedMs,
          finalizedMs,
          pendingMs,
          replayedPendingMs,
          droppedMs,
          sentMs: 0,
        })
        expect(shares.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 9)
        expect(shares.reduce((sum, { text }) => sum + tenths(text), 0)).toBe(tenths(total))
      }),
    )
  })

  it('counts what was captured since the last report as pending', () => {
    const account = {
      capturedMs: 900,
      finalizedMs: 500,
      pendingMs: 300,
      replayedPendingMs: 0,
      droppedMs: 100,
      sentMs: 0,
    }
    expect(ledgerOfNow(account, 1000)).toEqual({ ...account, capturedMs: 1000, pendingMs: 400 })
    expect(ledgerOfNow(account, 0)).toEqual(account)
  })

  it('rounds the largest remainders up', () => {
    const account = {
      capturedMs: 1000,
      finalizedMs: 340,
      pendingMs: 330,
      replayedPendingMs: 330,
      droppedMs: 0,
      sentMs: 0,
    }
    const { total, shares } = ledgerShares(account)
    expect([total, ...shares.map(({ name, text }) => `${name} ${text}`)]).toEqual([
      '1.0 s',
      'finalized 0.4 s',
      'pending 0.3 s',
      'sent again 0.3 s',
      'dropped 0.0 s',
    ])
  })

  it('is empty without audio', () => {
    const none = { capturedMs: 0, finalizedMs: 0, pendingMs: 0, replayedPendingMs: 0, droppedMs: 0, sentMs: 0 }
    expect(ledgerShares(none).shares.map(({ share }) => share)).toEqual([0, 0, 0, 0])
  })
})
