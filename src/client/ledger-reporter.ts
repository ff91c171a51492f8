import { msForBytes, type AudioFormat } from '../audio/format.js'
import type { LedgerEvent } from '../protocol/session-event.js'
import type { ReplayBuffer } from './audio/replay-buffer.js'

/** Reports the state of the audio whenever it differs from the last report. */
export class LedgerReporter {
  readonly #buffer: ReplayBuffer
  readonly #format: AudioFormat
  readonly #results: { readonly isEstimated: boolean }
  #reported = { captured: -1, finalized: 0, dropped: 0, replayed: 0 }

  constructor(buffer: ReplayBuffer, format: AudioFormat, results: { readonly isEstimated: boolean }) {
    this.#buffer = buffer
    this.#format = format
    this.#results = results
  }

  /** `hasProgress`: more audio is definitive than in the last report. */
  report(): { readonly events: readonly LedgerEvent[]; readonly hasProgress: boolean } {
    const { captured, finalized, dropped, replayed } = this.#buffer.totals
    const before = this.#reported
    if (finalized === before.finalized && dropped === before.dropped && replayed === before.replayed) return unchanged
    this.#reported = { captured, finalized, dropped, replayed }
    return { events: [this.#ledger()], hasProgress: finalized > before.finalized }
  }

  /** The last report, which is emitted even if nothing was captured. */
  close(): readonly LedgerEvent[] {
    const before = this.#reported.captured
    const { events } = this.report()
    return events.length === 0 && this.#buffer.totals.captured > before ? [this.#ledger()] : events
  }

  #ledger(): LedgerEvent {
    const { captured, finalized, pending, replayed, dropped, sent } = this.#buffer.totals
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

const unchanged = { events: [], hasProgress: false }
