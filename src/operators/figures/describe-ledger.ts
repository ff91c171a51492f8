import type { LedgerDrop } from './drop-account.js'
import type { LedgerAccount, LedgerReport, LedgerState } from './ledger.js'

/** So many drops are described one by one. */
const mostDescribed = 20

/** A report, or a state on the way there, in lines for people. Nothing that was said stands in it. */
export const describeLedger = (ledger: LedgerState | LedgerReport): string => {
  const { total, channels, drops, unlistedDrops, estimated } = ledger
  const accounts =
    channels.length === 0
      ? [`audio ${accountText(total)}`]
      : channels.map((account) => `channel ${account.channel} ${accountText(account)}`)
  const more = drops.length - mostDescribed + unlistedDrops
  return [
    ...endOf(ledger),
    ...accounts,
    ...drops.slice(0, mostDescribed).map(dropText),
    ...(more > 0 && drops.length >= mostDescribed ? [`and ${more} more gaps`] : []),
    ...(drops.length === 0 && total.droppedMs === 0 ? ['nothing was dropped'] : []),
    ...(estimated ? ['the service gives no times: what is finalized is at least this'] : []),
  ].join('\n')
}

const endOf = (ledger: LedgerState | LedgerReport): readonly string[] => {
  if (ledger.type === 'state') return []
  const { outcome, code, balanced } = ledger
  const end = outcome === 'failed' && code !== undefined ? `failed (${code})` : outcome
  return [`session ${end}${balanced ? '' : '; its account does not come out even'}`]
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(3)} s`

const accountText = ({ capturedMs, finalizedMs, pendingMs, replayedPendingMs, droppedMs }: LedgerAccount): string =>
  [
    `captured ${seconds(capturedMs)} = finalized ${seconds(finalizedMs)}`,
    `pending ${seconds(pendingMs)}`,
    ...(replayedPendingMs > 0 ? [`sent again and pending ${seconds(replayedPendingMs)}`] : []),
    `dropped ${seconds(droppedMs)}`,
  ].join(' + ')

const dropText = ({ fromMs, toMs, cause, channel }: LedgerDrop): string =>
  `dropped ${seconds(toMs - fromMs)}, from ${seconds(fromMs)} to ${seconds(toMs)}${
    channel === undefined ? '' : ` of channel ${channel}`
  } (${cause})`
