import { msForBytes, type AudioFormat } from '../audio/format.js'
import type { LedgerEvent } from '../protocol/session-event.js'
import type { AudioTotals, ReplayBuffer } from './audio/replay-buffer.js'

/** Reports the state of the audio whenever it differs from the last report. */
export class LedgerReporter {
  readonly #buffer: ReplayBuffer
  readonly #format: AudioFormat
  readonly #results: { readonly isEstimated: boolean }
  #reported: Omit<AudioTotals, 'pending' | 'sent'> = nothing

  constructor(buffer: ReplayBuffer, format: AudioFormat, results: { readonly isEstimated: boolean }) {
    this.#buffer = buffer
    this.#format = format
    this.#results = results
  }

  /** `hasProgress`: more audio is definitive than in the last report. */
  report(): { readonly events: readonly LedgerEvent[]; readonly hasProgress: boolean } {
    const { totals } = this.#buffer
    const { finalized, dropped, replayed } = totals
    const before = this.#reported
    if (finalized === before.finalized && dropped === before.dropped && replayed === before.replayed) return unchanged
    this.#reported = totals
    return { events: [this.#ledger(totals)], hasProgress: finalized > before.finalized }
  }

  /** The last report, which is emitted even if nothing was captured. */
  close(): readonly LedgerEvent[] {
    const before = this.#reported.captured
    const { events } = this.report()
    const { totals } = this.#buffer
    return events.length === 0 && totals.captured > before ? [this.#ledger(totals)] : events
  }

  #ledger({ captured, finalized, pending, replayed, dropped, sent }: AudioTotals): LedgerEvent {
    const ms = (byteCount: number): number => msForBytes(this.#format, byteCount)
    return {
      type: 'ledger',
      capturedMs: ms(captured),
      finalizedMs: ms(finalized),
      pendingMs: ms(pending),
      replayedPendingMs: ms(replayed),
      droppedMs: ms(dropped),
      sentMs: ms(sent),
      estimated: this.#results.isEstimated,
    }
  }
}

const nothing = { captured: -1, finalized: 0, dropped: 0, replayed: 0 }
const unchanged = { events: [], hasProgress: false }
