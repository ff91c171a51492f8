import type { LedgerAccount } from 'rxspeech'

/** A part of the captured audio. */
export interface LedgerShare {
  readonly name: 'finalized' | 'pending' | 'sent again' | 'dropped'
  /** From 0 to 1; all shares add up to 1, unless nothing was captured. */
  readonly share: number
  /** Seconds with one digit, rounded so that the shown parts add up to the shown total. */
  readonly text: string
}

/** The account of this moment: what was captured since it was reported is pending. */
export const ledgerOfNow = (account: LedgerAccount, capturedMs: number): LedgerAccount => {
  const addedMs = Math.max(0, capturedMs - account.capturedMs)
  return { ...account, capturedMs: account.capturedMs + addedMs, pendingMs: account.pendingMs + addedMs }
}

/** The parts of the captured audio, and the total, as they are shown. */
export const ledgerShares = (
  account: LedgerAccount,
): { readonly total: string; readonly shares: readonly LedgerShare[] } => {
  const parts = [
    ['finalized', account.finalizedMs],
    ['pending', account.pendingMs],
    ['sent again', account.replayedPendingMs],
    ['dropped', account.droppedMs],
  ] as const
  const sumMs = parts.reduce((sum, [, ms]) => sum + ms, 0)
  const totalTenths = Math.round(sumMs / 100)
  const tenths = parts.map(([, ms]) => Math.floor(ms / 100))
  // The largest remainders are rounded up, so that the digits add up.
  const byRemainder = parts
    .map(([, ms], index) => ({ index, remainder: ms % 100 }))
    .sort((a, b) => b.remainder - a.remainder)
  const missing = totalTenths - tenths.reduce((sum, part) => sum + part, 0)
  const raised = new Set(byRemainder.slice(0, missing).map(({ index }) => index))
  return {
    total: seconds(totalTenths),
    shares: parts.map(([name, ms], index) => ({
      name,
      share: sumMs === 0 ? 0 : ms / sumMs,
      text: seconds((tenths[index] ?? 0) + (raised.has(index) ? 1 : 0)),
    })),
  }
}

const seconds = (tenths: number): string => `${Math.floor(tenths / 10)}.${tenths % 10} s`
