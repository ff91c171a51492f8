import { msForBytes, type AudioFormat } from '../audio/format.js'
import type { LedgerEvent, SessionEvent } from '../protocol/session-event.js'
import type { ReplayBuffer, Gap } from './audio/replay-buffer.js'

/** Whose account it is. */
export interface LedgerOwner {
  /** Whether what is settled is an estimate. */
  readonly estimated: boolean
  emit(event: SessionEvent): void
}

/** Tells what became of the audio: every gap, and the ledger whenever it says something else than before. */
export class LedgerReporter {
  readonly #tape: ReplayBuffer
  readonly #format: AudioFormat
  readonly #owner: LedgerOwner
  #told = { captured: -1, finalized: 0, dropped: 0, replayed: 0 }

  constructor(tape: ReplayBuffer, format: AudioFormat, owner: LedgerOwner) {
    this.#tape = tape
    this.#format = format
    this.#owner = owner
  }

  gap(gap: Gap): void {
    this.#owner.emit({ type: 'connection', state: 'gap', ...gap })
    this.tell()
  }

  /** Returns whether more audio is definitive than when it was last told. */
  tell(): boolean {
    const { captured, finalized, dropped, replayed } = this.#tape.account
    const before = this.#told
    if (finalized === before.finalized && dropped === before.dropped && replayed === before.replayed) return false
    this.#told = { captured, finalized, dropped, replayed }
    this.#owner.emit(this.#ledger())
    return finalized > before.finalized
  }

  /** At the end, if only to say that nothing was captured; what was captured since it was last told counts as well. */
  close(): void {
    if (!this.tell() && this.#tape.account.captured > this.#told.captured) this.#owner.emit(this.#ledger())
  }

  #ledger(): LedgerEvent {
    const { captured, finalized, pending, replayed, dropped, sent } = this.#tape.account
    const ms = (byteCount: number): number => msForBytes(this.#format, byteCount)
    return {
      type: 'ledger',
      capturedMs: ms(captured),
      finalizedMs: ms(finalized),
      pendingMs: ms(pending),
      replayedPendingMs: ms(replayed),
      droppedMs: ms(dropped),
      sentMs: ms(sent),
      estimated: this.#owner.estimated,
    }
  }
}
