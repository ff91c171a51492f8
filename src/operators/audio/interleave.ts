import { catchError, concat, defer, endWith, filter, map, merge, throwError, type Observable } from 'rxjs'
import { interleaveChannels } from '../../audio/channels.js'
import { bytesPerSample, validateFormat, type AudioFormat, type Encoding } from '../../audio/format.js'
import { silentByte } from '../../audio/silence.js'
import { anything, checkOptions, functionValue, number, oneOf, optionsOf } from '../../protocol/validation.js'
import { notify } from '../../kernel/notify.js'
import { cutSample } from './whole-frames.js'

/** A correction that kept the channels aligned, exact to the sample. Times are those of the stereo stream. */
export interface SkewReport {
  /** `filled`: silence was inserted at this time. `dropped`: audio of this time arrived after its silence. */
  readonly type: 'filled' | 'dropped'
  /** 0 is left, 1 is right. */
  readonly channel: 0 | 1
  /** The start of the affected audio. */
  readonly fromMs: number
  /** The end of the affected audio. */
  readonly toMs: number
}

/** How two sources are aligned. */
export interface InterleaveOptions {
  /** The format of both sources, which are mono. */
  readonly format: Pick<AudioFormat, 'encoding' | 'sampleRateHz'>
  /** How far one source can be ahead, in milliseconds of audio, before silence replaces the other one. @default 200 */
  readonly maxSkewMs?: number | undefined
  /**
   * What happens to audio that arrives after silence replaced it. `drop` discards it, so both channels stay aligned:
   * right for sources that deliver all their audio, possibly late. `shift` appends it after the silence, so nothing is
   * lost but the channel is late from then on: right for a source that delivers nothing while it is silent. @default
   * 'drop'
   */
  readonly late?: 'drop' | 'shift' | undefined
  /**
   * Called for each inserted silence and for all dropped audio, before the affected frames are emitted. @default none
   */
  readonly onSkew?: ((report: SkewReport) => void) | undefined
}

const interleaveOptions = optionsOf<InterleaveOptions>()(
  { format: anything },
  { maxSkewMs: number({ min: 0 }), late: oneOf('drop', 'shift'), onSkew: functionValue },
)

/**
 * Joins two mono sources to stereo, left sample first (PROTOCOL 3.2), by sample count and not by arrival.
 *
 * Emits frames as soon as both sources have their samples; slices can split samples. When one source is more than
 * `maxSkewMs` ahead, silence replaces just as much of the other one as brings the lead back to `maxSkewMs`. Every
 * sample is emitted or reported to `onSkew`. The sources must run in real time: if two sources are read from memory,
 * the first one is far ahead before the second starts (use `pace`).
 * - Completion: silence replaces a source that has completed until the other one completes; `cut-sample`, after all
 *   frames, if a source ended within a sample.
 * - Error of a source: emits all buffered audio, padded with silence, then passes the error on.
 * - Unsubscription: unsubscribes from both sources and discards what is buffered.
 * - Buffering: `maxSkewMs` of audio.
 *
 * Throws `invalid-format` or `invalid-options` when it is called.
 *
 * @example
 * ```ts
 * interleave(agent$, customer$, { format: { encoding: 'pcm', sampleRateHz: 8000 } })
 * ```
 */
export function interleave(
  left$: Observable<Uint8Array>,
  right$: Observable<Uint8Array>,
  options: InterleaveOptions,
): Observable<Uint8Array> {
  checkOptions(interleaveOptions, options)
  validateFormat({ ...options.format, channels: 1 })
  return defer(() => {
    const pair = new StereoPair(options)
    return concat(
      merge(pair.read(left$, 0), pair.read(right$, 1)).pipe(
        catchError((error: unknown) =>
          concat(
            defer(() => pair.flush()),
            throwError(() => error),
          ),
        ),
      ),
      defer(() => pair.end()),
    )
  })
}

class StereoPair {
  readonly #sampleBytes: 1 | 2
  readonly #sampleRateHz: number
  readonly #maxSkew: number
  readonly #onSkew: ((report: SkewReport) => void) | undefined
  readonly #channels: readonly [ChannelQueue, ChannelQueue]
  /** Emitted frames. */
  #position = 0

  constructor({ format, maxSkewMs = 200, late = 'drop', onSkew }: InterleaveOptions) {
    this.#sampleBytes = bytesPerSample(format)
    this.#sampleRateHz = format.sampleRateHz
    this.#maxSkew = Math.floor((format.sampleRateHz * maxSkewMs) / 1000)
    this.#onSkew = onSkew
    const createQueue = (): ChannelQueue => new ChannelQueue(format.encoding, this.#sampleBytes, late)
    this.#channels = [createQueue(), createQueue()]
  }

  /** The frames that become ready with each slice of a source, and with its end. */
  read(source$: Observable<Uint8Array>, channel: 0 | 1): Observable<Uint8Array> {
    const queue = this.#channels[channel]
    return source$.pipe(
      endWith(undefined),
      map((slice) => {
        if (slice === undefined) queue.isEnded = true
        else this.#report('dropped', channel, queue.add(slice))
        return this.#frames(this.#ready())
      }),
      filter((frames) => frames.byteLength > 0),
    )
  }

  /** All buffered audio, as if both sources had ended. */
  flush(): readonly Uint8Array[] {
    const frames = this.#frames(Math.max(...this.#channels.map(({ waiting }) => waiting)))
    return frames.byteLength > 0 ? [frames] : []
  }

  end(): readonly Uint8Array[] {
    for (const queue of this.#channels) queue.assertComplete()
    return []
  }

  #ready(): number {
    const [left, right] = this.#channels
    const [behind, ahead] = left.waiting < right.waiting ? [left, right] : [right, left]
    const lead = behind.isEnded ? 0 : this.#maxSkew
    return Math.max(behind.waiting, ahead.waiting - lead)
  }

  #frames(count: number): Uint8Array {
    if (count === 0) return nothing
    const [left, right] = [this.#take(0, count), this.#take(1, count)]
    this.#position += count
    return interleaveChannels(left, right, this.#sampleBytes)
  }

  #take(channel: 0 | 1, count: number): Uint8Array {
    const { bytes, filled } = this.#channels[channel].take(count)
    const to = this.#position + count
    this.#report('filled', channel, { from: to - filled, to })
    return bytes
  }

  #report(type: SkewReport['type'], channel: 0 | 1, { from, to }: Span): void {
    if (from === to) return
    const ms = (samples: number): number => (samples * 1000) / this.#sampleRateHz
    notify(() => this.#onSkew?.({ type, channel, fromMs: ms(from), toMs: ms(to) }))
  }
}

const nothing: Uint8Array = new Uint8Array(0)

/** A range of samples, counted from the first one. */
interface Span {
  readonly from: number
  readonly to: number
}

/**
 * The buffered samples of one channel, and how many samples silence has replaced. With `late: 'drop'`, sample n of the
 * source is always in frame n.
 */
class ChannelQueue {
  isEnded = false
  readonly #sampleBytes: number
  readonly #silence: number
  readonly #dropsLate: boolean
  readonly #queue = new ByteQueue()
  #received = 0
  /** Samples that silence replaced and that have not arrived yet. */
  #replaced = 0

  constructor(encoding: Encoding, sampleBytes: number, late: 'drop' | 'shift') {
    this.#silence = silentByte(encoding)
    this.#sampleBytes = sampleBytes
    this.#dropsLate = late === 'drop'
  }

  /** Buffered whole samples. */
  get waiting(): number {
    return Math.floor(this.#queue.size / this.#sampleBytes)
  }

  /** Adds audio. Returns the part that arrived after silence had replaced it, which is dropped. */
  add(slice: Uint8Array): Span {
    const before = this.waiting
    this.#queue.add(slice)
    const from = this.#received
    this.#received += this.waiting - before
    const late = Math.min(this.#replaced, this.waiting)
    this.#replaced -= late
    this.#queue.take(late * this.#sampleBytes)
    return { from, to: from + late }
  }

  /** The next `count` samples; the last `filled` of them are silence, because no more have arrived. */
  take(count: number): { readonly bytes: Uint8Array; readonly filled: number } {
    const held = Math.min(count, this.waiting)
    const filled = count - held
    const audio = this.#queue.take(held * this.#sampleBytes)
    if (filled === 0) return { bytes: audio, filled }
    if (this.#dropsLate) this.#replaced += filled
    const bytes = new Uint8Array(count * this.#sampleBytes).fill(this.#silence)
    bytes.set(audio)
    return { bytes, filled }
  }

  /** Throws `cut-sample` if an incomplete sample remains. */
  assertComplete(): void {
    if (this.#queue.size > 0) throw cutSample(this.#queue.size, this.#sampleBytes)
  }
}

/** A queue of bytes that are read in any lengths. It holds slices by reference until they are consumed. */
class ByteQueue {
  #slices: Uint8Array[] = []
  /** Consumed bytes of the first slice. */
  #offset = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  add(slice: Uint8Array): void {
    if (slice.byteLength === 0) return
    this.#slices.push(slice)
    this.#size += slice.byteLength
  }

  /** The next `byteCount` bytes, at most `size`. A view if one slice holds them all, otherwise a copy. */
  take(byteCount: number): Uint8Array {
    if (byteCount === 0) return nothing
    const first = this.#slices[0]
    if (first !== undefined && first.byteLength - this.#offset >= byteCount) {
      return this.#advance(first, byteCount)
    }
    const bytes = new Uint8Array(byteCount)
    for (let filled = 0; filled < byteCount;) {
      const slice = this.#slices[0]
      if (slice === undefined) return bytes.subarray(0, filled)
      const part = this.#advance(slice, Math.min(byteCount - filled, slice.byteLength - this.#offset))
      bytes.set(part, filled)
      filled += part.byteLength
    }
    return bytes
  }

  #advance(slice: Uint8Array, byteCount: number): Uint8Array {
    const part = slice.subarray(this.#offset, this.#offset + byteCount)
    this.#offset += byteCount
    this.#size -= byteCount
    if (this.#offset === slice.byteLength) {
      this.#slices.shift()
      this.#offset = 0
    }
    return part
  }
}
