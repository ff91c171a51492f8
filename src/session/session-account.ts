import { msForBytes, type AudioFormat } from '../audio/format.js'
import type { LedgerEvent, SessionEvent } from '../protocol/session-event.js'
import type { AudioTape, Gap } from './audio/audio-tape.js'

/** Tells what became of the audio: every gap, and the ledger whenever it says something else than before. */
export class SessionAccount {
  readonly #tape: AudioTape
  readonly #isEstimated: () => boolean
  readonly #format: AudioFormat
  readonly #emit: (event: SessionEvent) => void
  #told = { captured: -1, finalised: 0, dropped: 0, replayed: 0 }

  constructor(tape: AudioTape, isEstimated: () => boolean, format: AudioFormat, emit: (event: SessionEvent) => void) {
    this.#tape = tape
    this.#isEstimated = isEstimated
    this.#format = format
    this.#emit = emit
  }

  gap(gap: Gap): void {
    this.#emit({ type: 'connection', state: 'gap', ...gap })
    this.tell()
  }

  /** Returns whether more audio is definitive than when it was last told. */
  tell(): boolean {
    const { captured, finalised, dropped, replayed } = this.#tape.account
    const before = this.#told
    if (finalised === before.finalised && dropped === before.dropped && replayed === before.replayed) return false
    this.#told = { captured, finalised, dropped, replayed }
    this.#emit(this.#ledger())
    return finalised > before.finalised
  }

  /** At the end, if only to say that nothing was captured; what was captured since it was last told counts as well. */
  close(): void {
    if (!this.tell() && this.#tape.account.captured > this.#told.captured) this.#emit(this.#ledger())
  }

  #ledger(): LedgerEvent {
    const { captured, finalised, pending, replayed, dropped, sent } = this.#tape.account
    const ms = (byteCount: number): number => msForBytes(this.#format, byteCount)
    return {
      type: 'ledger',
      capturedMs: ms(captured),
      finalisedMs: ms(finalised),
      pendingMs: ms(pending),
      replayedPendingMs: ms(replayed),
      droppedMs: ms(dropped),
      sentMs: ms(sent),
      estimated: this.#isEstimated(),
    }
  }
}
