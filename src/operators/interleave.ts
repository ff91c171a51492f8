import { catchError, concat, defer, endWith, filter, map, merge, throwError, type Observable } from 'rxjs'
import { interleaveChannels } from '../audio/channels.js'
import { bytesPerSample, validateFormat, type AudioFormat } from '../audio/format.js'
import { SpeechError } from '../errors/speech-error.js'
import { StereoLane, type Span } from './stereo-lane.js'

/** What was done to keep the channels together, exact to the sample; times are of the stereo stream, from its first frame. */
export interface SkewAccount {
  /** `filled`: silence stands at this time. `dropped`: audio of this time came after silence had taken its place. */
  readonly type: 'filled' | 'dropped'
  /** 0 is left, 1 is right. */
  readonly channel: 0 | 1
  readonly fromMs: number
  readonly toMs: number
}

export interface InterleaveOptions {
  /** Of both sides, each of them mono. */
  readonly format: Pick<AudioFormat, 'encoding' | 'sampleRateHz'>
  /** How far one side may be ahead of the other before silence stands in for the other, in milliseconds of audio; default 200. */
  readonly maxSkewMs?: number
  /**
   * What becomes of audio that comes after silence stood in for it. `drop` (default): it is dropped, so both sides stay
   * at their time; right for sides that deliver all their time, be it late. `shift`: it follows the silence, so nothing is
   * lost but the side is late from then on; right for a side that delivers nothing while it is silent.
   */
  readonly late?: 'drop' | 'shift'
  /** Told of every silence that was put in and all audio that was dropped, before the frames concerned come out. */
  readonly onSkew?: (account: SkewAccount) => void
}

/**
 * Joins two mono sides to stereo, left sample first (service.md 4.1 rule 6), by count of samples and not by arrival.
 *
 * Frames come out as soon as both sides have their samples; slices may cut samples. When one side is more than
 * `maxSkewMs` ahead, silence of the encoding stands in for the other, just so much that the lead is `maxSkewMs` again.
 * Every sample comes out or is told to `onSkew`. The sides must run in real time: of two sources that are read at once
 * from memory, the first would be far ahead before the second begins (`pace` them).
 * - Completion: when one side completes, silence stands in for it until the other completes too; then complete. Where a
 *   side ended within a sample, error `cut-sample` after all frames.
 * - Error of a side: what both sides have comes out, filled up with silence, then the error.
 * - Unsubscribe: unsubscribes both; what waits is gone.
 * - Buffered: `maxSkewMs` of audio of the side that is ahead.
 *
 * Throws `invalid-format` or `invalid-options` when it is called.
 */
export function interleave(
  left$: Observable<Uint8Array>,
  right$: Observable<Uint8Array>,
  options: InterleaveOptions,
): Observable<Uint8Array> {
  assertOptions(options)
  return defer(() => {
    const pair = new StereoPair(options)
    return concat(
      merge(pair.follow(left$, 0), pair.follow(right$, 1)).pipe(
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

const assertOptions = ({ format, maxSkewMs = 200, late = 'drop' }: InterleaveOptions): void => {
  validateFormat({ ...format, channels: 1 })
  if (!Number.isFinite(maxSkewMs) || maxSkewMs < 0) {
    throw new SpeechError('invalid-options', `maxSkewMs must be a number of milliseconds from 0, not ${maxSkewMs}.`)
  }
  if (!['drop', 'shift'].includes(late)) {
    throw new SpeechError('invalid-options', `late must be "drop" or "shift", not ${JSON.stringify(late)}.`)
  }
}

class StereoPair {
  readonly #sampleBytes: 1 | 2
  readonly #sampleRateHz: number
  readonly #maxSkew: number
  readonly #onSkew: ((account: SkewAccount) => void) | undefined
  readonly #lanes: readonly [StereoLane, StereoLane]
  /** Frames that came out. */
  #position = 0

  constructor({ format, maxSkewMs = 200, late = 'drop', onSkew }: InterleaveOptions) {
    this.#sampleBytes = bytesPerSample(format)
    this.#sampleRateHz = format.sampleRateHz
    this.#maxSkew = Math.floor((format.sampleRateHz * maxSkewMs) / 1000)
    this.#onSkew = onSkew
    const lane = (): StereoLane => new StereoLane(format.encoding, this.#sampleBytes, late)
    this.#lanes = [lane(), lane()]
  }

  /** The frames that become ready with each slice of a side, and with its end. */
  follow(side$: Observable<Uint8Array>, channel: 0 | 1): Observable<Uint8Array> {
    const lane = this.#lanes[channel]
    return side$.pipe(
      endWith(undefined),
      map((slice) => {
        if (slice === undefined) lane.state = 'ended'
        else this.#tell('dropped', channel, lane.add(slice))
        return this.#frames(this.#ready())
      }),
      filter((frames) => frames.byteLength > 0),
    )
  }

  /** All that waits, as if nothing more came. */
  flush(): readonly Uint8Array[] {
    const frames = this.#frames(Math.max(...this.#lanes.map(({ waiting }) => waiting)))
    return frames.byteLength > 0 ? [frames] : []
  }

  end(): readonly Uint8Array[] {
    for (const lane of this.#lanes) lane.assertNothingCut()
    return []
  }

  #ready(): number {
    const [left, right] = this.#lanes
    const [behind, ahead] = left.waiting < right.waiting ? [left, right] : [right, left]
    const lead = behind.state === 'ended' ? 0 : this.#maxSkew
    return Math.max(behind.waiting, ahead.waiting - lead)
  }

  #frames(count: number): Uint8Array {
    const [left, right] = [this.#channel(0, count), this.#channel(1, count)]
    this.#position += count
    return interleaveChannels(left, right, this.#sampleBytes)
  }

  #channel(channel: 0 | 1, count: number): Uint8Array {
    const { bytes, filled } = this.#lanes[channel].take(count)
    const to = this.#position + count
    this.#tell('filled', channel, { from: to - filled, to })
    return bytes
  }

  #tell(type: SkewAccount['type'], channel: 0 | 1, { from, to }: Span): void {
    if (from === to) return
    const ms = (samples: number): number => (samples * 1000) / this.#sampleRateHz
    this.#onSkew?.({ type, channel, fromMs: ms(from), toMs: ms(to) })
  }
}
