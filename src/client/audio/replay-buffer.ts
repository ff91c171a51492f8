import { bytesForMs, bytesPerFrame, joinBytes, msForBytes, type AudioFormat } from '../../audio/format.js'
import { findSound, type SoundRule } from '../../audio/silence.js'
import type { GapCause } from '../../protocol/session-event.js'
import { BlockBuffer } from './block-buffer.js'
import { ChunkBoundaries } from './chunk-boundaries.js'
import { SourceTimeline, type Stretch } from './source-timeline.js'

/** A dropped range of the source's audio, in milliseconds from its first byte. */
export interface Gap {
  readonly fromMs: number
  readonly toMs: number
  readonly cause: GapCause
}

/** The format of the audio and the limits of the buffer. */
export interface AudioBounds {
  readonly format: AudioFormat
  /** The maximum duration of audio that waits to be sent, in milliseconds; Infinity for a source that is pulled. */
  readonly maxWaitingMs: number
  /** The maximum size of a message, in bytes of the source. */
  readonly maxChunkBytes: number
  /** The maximum of sent audio without a definitive result that is kept, in bytes; 0 if audio is never sent again. */
  readonly maxReplayBytes: number
  /** The same for a source that is pulled. */
  readonly maxPulledReplayBytes: number
  /** The duration of silence before a sound that is kept while no recognition runs, in milliseconds. */
  readonly preRollMs: number
}

/** The captured audio by its state, in bytes; `captured = finalized + pending + replayed + dropped`. */
export interface AudioTotals {
  readonly captured: number
  readonly finalized: number
  readonly pending: number
  readonly replayed: number
  readonly dropped: number
  /** The position up to which the source was sent. */
  readonly sent: number
}

/**
 * The audio of one session. It is kept until it has a definitive result, and sent again from there on another
 * connection. The buffer returns whole frames in pieces of limited size, because a message must not cut a sample, and
 * cuts them in the same places when they are sent again.
 *
 * Positions count the bytes that were kept. Audio beyond the limit, always the newest, is not kept and has no position;
 * each such range of the source is reported as one exact gap.
 *
 *     0 ……… definitive ……… sent ……… end        (between the first two: sent, without a result yet)
 */
export class ReplayBuffer {
  readonly timeline = new SourceTimeline()
  readonly #format: AudioFormat
  readonly #frameBytes: number
  readonly #maxWaitingBytes: number
  readonly #maxReplayBytes: number
  readonly #maxPieceBytes: number
  readonly #ring = new BlockBuffer()
  readonly #runs = new ChunkBoundaries()
  readonly #preRollBytes: number
  #definitive = 0
  #sent = 0
  /** The position up to which audio had been sent when the last connection broke. */
  #replayEnd = 0
  /** All bytes of the source, kept or dropped, with those of a cut frame at its end. */
  #captured = 0
  #dropped = 0
  /** Bytes that were kept and dropped later: these bytes before `definitive` are not definitive. */
  #lost = 0
  /** Audio beyond the limit that is not reported yet, because more may follow. */
  #overrun: Stretch | undefined
  /** Dropped silence that is not reported yet, because more may follow. */
  #silence: Stretch | undefined
  /** While no recognition runs: the position up to which the audio is silent. */
  #silentTo = 0
  /** The beginning of a frame whose end has not arrived. */
  #cut: Uint8Array = empty

  constructor(bounds: Omit<AudioBounds, 'maxPulledReplayBytes'>) {
    const { format, maxWaitingMs, maxChunkBytes, maxReplayBytes, preRollMs } = bounds
    this.#format = format
    this.#frameBytes = bytesPerFrame(format)
    this.#maxWaitingBytes = bytesForMs(format, maxWaitingMs)
    this.#preRollBytes = bytesForMs(format, Math.min(preRollMs, maxWaitingMs))
    this.#maxReplayBytes = maxReplayBytes - (maxReplayBytes % this.#frameBytes)
    this.#maxPieceBytes = maxChunkBytes - (maxChunkBytes % this.#frameBytes)
  }

  /** Whether nothing waits to be sent. */
  get isSent(): boolean {
    return this.#sent === this.#ring.end
  }

  /** The position up to which audio was sent. */
  get sent(): number {
    return this.#sent
  }

  get definitive(): number {
    return this.#definitive
  }

  /** Where another connection would begin: with the first sample that is not definitive, of those that are kept. */
  get replayFrom(): number {
    return Math.max(this.#definitive, Math.min(this.#ring.start, this.#sent))
  }

  /** The start of the audio without a definitive result, in milliseconds of the source. */
  get pendingFromMs(): number | undefined {
    if (this.#definitive === this.#ring.end) return undefined
    return msForBytes(this.#format, this.timeline.startOf(this.#definitive))
  }

  /** Whether the kept audio without a definitive result contains a sound. */
  get hasSound(): boolean {
    return this.#findSound(this.#definitive) !== undefined
  }

  /** Whether the kept audio of a channel contains a sound from a position on. */
  hasSoundFrom(position: number, rule: SoundRule, channel: number): boolean {
    return this.#findSound(position, rule, channel) !== undefined
  }

  /** The duration of audio without a definitive result, sent or not, in milliseconds. */
  get pendingMs(): number {
    return msForBytes(this.#format, this.#ring.end - this.#definitive)
  }

  get totals(): AudioTotals {
    const replayed = Math.max(0, Math.min(this.#replayEnd, this.#sent) - this.#definitive)
    return {
      captured: this.#captured,
      finalized: this.#definitive - this.#lost,
      pending: this.#ring.end - this.#definitive - replayed + this.#cut.length,
      replayed,
      dropped: this.#dropped,
      sent: this.timeline.endOf(this.#sent),
    }
  }

  /** Whether `bytes` can be sent directly: nothing waits before them, and they are whole frames of one message. */
  passes(bytes: Uint8Array): boolean {
    const { length } = bytes
    return (
      this.#sent === this.#ring.end &&
      this.#cut.length === 0 &&
      this.#overrun === undefined &&
      length > 0 &&
      length <= this.#maxPieceBytes &&
      length % this.#frameBytes === 0
    )
  }

  /** Keeps bytes that are sent without waiting. */
  pass(bytes: Uint8Array): void {
    this.#captured += bytes.length
    if (this.#maxReplayBytes === 0) this.#ring.skip(bytes.length)
    else this.#keep(bytes)
    this.#sent = this.#ring.end
    this.#boundReplay()
  }

  /** Adds audio without a limit. `trim` must follow after all audio that can be sent has been shifted. */
  push(chunk: Uint8Array): void {
    this.#captured += chunk.length
    const bytes = this.#cut.length === 0 ? chunk : joinBytes(this.#cut, chunk)
    const whole = bytes.length - (bytes.length % this.#frameBytes)
    this.#cut = whole === bytes.length ? empty : new Uint8Array(bytes.subarray(whole))
    for (let start = 0; start < whole; start += this.#maxPieceBytes) {
      this.#keep(bytes.subarray(start, Math.min(whole, start + this.#maxPieceBytes)))
    }
  }

  /**
   * Drops the newest audio beyond the limit. Returns the gap that has ended, if audio was kept again after one. Audio
   * that is sent again does not count, because it has a separate limit.
   */
  trim(): Gap | undefined {
    const firstWaiting = Math.max(this.#sent, this.#replayEnd)
    const excess = Math.max(0, this.#ring.end - firstWaiting - this.#maxWaitingBytes)
    const to = this.#captured - this.#cut.length
    const from = to - excess
    if (excess > 0) {
      this.#ring.dropAfter(this.#ring.end - excess)
      this.#silentTo = Math.min(this.#silentTo, this.#ring.end)
      this.#runs.dropAfter(this.#ring.end)
      this.timeline.skip(this.#ring.end, excess)
      this.#dropped += excess
    }
    const before = this.#overrun
    if (before?.to === from) {
      if (excess > 0) this.#overrun = { from: before.from, to }
      return undefined
    }
    this.#overrun = excess > 0 ? { from, to } : undefined
    return before && this.#gap(before, 'buffer-full')
  }

  /** The next piece to send, or undefined when nothing waits. */
  shift(): Uint8Array | undefined {
    if (this.isSent) return undefined
    const to = this.#runs.endOf(this.#sent)
    const piece = this.#ring.slice(this.#sent, to)
    this.#sent = to
    this.#boundReplay()
    return piece
  }

  /** All audio before a position has its results. Returns whether more audio is definitive than before. */
  settle(position: number): boolean {
    const definitive = Math.min(position - (position % this.#frameBytes), this.#sent)
    if (!(definitive > this.#definitive)) return false
    this.#definitive = definitive
    this.#dropBefore(definitive)
    return true
  }

  /** The recognition has ended. Returns gaps: sent audio without a result that is not kept. `listen` must follow. */
  endRecognition(): readonly Gap[] {
    const gaps = this.#giveUpUnkept()
    this.#silentTo = this.#definitive
    return gaps
  }

  /**
   * While no recognition runs: looks for a sound in the audio since the last call, and drops the silence before it
   * except for the pre-roll. Returns whether there is a sound.
   */
  listen(): boolean {
    const sound = this.#findSound(this.#silentTo)
    this.#silentTo = sound ?? this.#ring.end
    this.#giveUpSilence(this.#silentTo - this.#preRollBytes)
    return sound !== undefined
  }

  /**
   * Goes back to the first sample that is not definitive, for another connection. Returns how much will be sent again,
   * in milliseconds, and the audio that was not kept for it.
   */
  rewind(): { readonly replayedMs: number; readonly gaps: readonly Gap[] } {
    const gaps = [...this.#takeSilence(), ...this.#giveUpUnkept()]
    const from = this.#definitive
    this.#replayEnd = Math.max(this.#replayEnd, this.#sent)
    const replayedMs = msForBytes(this.#format, this.#sent - from)
    this.#sent = from
    return { replayedMs, gaps }
  }

  /** The source has ended. Returns the gaps that are still open, and that of a cut sample. */
  end(): readonly Gap[] {
    return this.#close('cut-sample')
  }

  /** Drops all audio that is not definitive. Returns its gaps. */
  drop(cause: GapCause): readonly Gap[] {
    if (cause === 'silence') this.#giveUpSilence(this.#ring.end)
    const gaps = [...this.#takeSilence(), ...this.#lose(this.#definitive, this.#ring.end, cause)]
    this.#definitive = this.#ring.end
    this.#sent = this.#ring.end
    this.#dropBefore(this.#ring.end)
    return [...gaps, ...this.#close(cause)]
  }

  #keep(bytes: Uint8Array): void {
    this.#runs.append(this.#ring.end, bytes.length)
    this.#ring.append(bytes)
  }

  #boundReplay(): void {
    const first = this.#sent - this.#maxReplayBytes
    if (this.#ring.start < first) this.#dropBefore(first)
  }

  #dropBefore(position: number): void {
    this.#ring.dropBefore(position)
    this.#runs.dropBefore(position)
  }

  #findSound(from: number, rule?: SoundRule, channel?: number): number | undefined {
    return this.#ring.find(from, (bytes) => findSound(bytes, this.#format, rule, channel))
  }

  /** Audio before the first kept byte that has no definitive result cannot be sent again. */
  #giveUpUnkept(): readonly Gap[] {
    const from = this.replayFrom
    const gaps = this.#lose(this.#definitive, from, 'replay-full')
    this.#definitive = from
    return gaps
  }

  #giveUpSilence(to: number): void {
    const from = this.#definitive
    if (to <= from) return
    this.#lost += to - from
    this.#dropped += to - from
    this.#silence = { from: this.#silence?.from ?? from, to }
    this.#definitive = to
    this.#sent = Math.max(this.#sent, to)
    this.#dropBefore(to)
  }

  #takeSilence(): readonly Gap[] {
    const silence = this.#silence
    this.#silence = undefined
    return silence === undefined ? [] : this.#gapsOf(silence.from, silence.to, 'silence')
  }

  #gapsOf(from: number, to: number, cause: GapCause): readonly Gap[] {
    return this.timeline.stretches(from, to).map((stretch) => this.#gap(stretch, cause))
  }

  #lose(from: number, to: number, cause: GapCause): readonly Gap[] {
    if (from >= to) return []
    this.#lost += to - from
    this.#dropped += to - from
    return this.#gapsOf(from, to, cause)
  }

  #close(causeOfCut: GapCause): readonly Gap[] {
    const overrun = this.#overrun
    const cut = { from: this.#captured - this.#cut.length, to: this.#captured }
    this.#overrun = undefined
    this.#dropped += this.#cut.length
    this.#cut = empty
    return [
      ...(overrun === undefined ? [] : [this.#gap(overrun, 'buffer-full')]),
      ...(cut.from === cut.to ? [] : [this.#gap(cut, causeOfCut)]),
    ]
  }

  #gap({ from, to }: Stretch, cause: GapCause): Gap {
    return { fromMs: msForBytes(this.#format, from), toMs: msForBytes(this.#format, to), cause }
  }
}

const empty = new Uint8Array(0)
