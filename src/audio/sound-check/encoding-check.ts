import type { AudioFormat } from '../format.js'
import { flatShare, measurePrediction, type Prediction, type Reading, type Section } from './predictability.js'
import { Scratch } from './scratch.js'
import type { FoundFault } from './sound-warning.js'

const readings: readonly Reading[] = ['pcm', 'swapped', 'ulaw', 'alaw']

/** About 32 ms at 8 kHz, for one channel. A block has two or three such sections, of more bytes at higher rates. */
const sectionBytes = 512
const maxSections = 3
/** By the declared reading, quieter sections tell nothing: -54 dBFS, as mean square. */
const minPower = 4000
/** Any reading predicts plateaus well, such as those of clipped audio: a section with more of them tells nothing. */
const maxFlat = 0.5
/** The number of sections that are silent under another encoding before the declared one is doubted. */
const doubtfulSilences = 3
/** Correctly decoded audio exceeds this prediction gain at 8–48 kHz, except noise; wrongly decoded audio never does. */
const maxGainDb = 9
/** By how much another reading is predicted better, after how many sections with sound. */
const verdicts = [
  { sections: 10, marginDb: 3 },
  { sections: 16, marginDb: 2 },
  { sections: 24, marginDb: 1.3 },
] as const
/** What a dB of loudness costs a reading, beside a dB of prediction. */
const loudnessShare = 0.1
/** Below this the declared reading is not in doubt. */
const doubtDb = 0.7
/** Once every other reading was worse by this margin in this many sections, one section of a block is examined. */
const likely = { sections: 4, marginDb: -1 }
/** The declared reading is right once every other one was worse by this margin in this many sections. */
const settled = [
  { sections: 10, marginDb: -3 },
  { sections: 24, marginDb: 0 },
] as const
/** After this many sections older ones count half. */
const memorySections = 48

const channelBytes = new Scratch((length) => new Uint8Array(length))

/** What the sections so far say about one other reading; louder sections count more. */
class Rival {
  readonly reading: Reading
  #count = 0
  #weights = 0
  #maxWeight = 0
  #margins = 0
  #gains = 0
  #silences = 0

  constructor(reading: Reading) {
    this.reading = reading
  }

  add(declared: Prediction, own: Prediction): void {
    this.#silences =
      own.power < minPower ? Math.min(this.#silences + 1, memorySections) : Math.max(this.#silences - 1, 0)
    const weight = Math.sqrt(Math.sqrt(own.power))
    this.#maxWeight = Math.max(this.#maxWeight, weight)
    this.#count += 1
    this.#weights += weight
    this.#margins += weight * (own.gainDb - declared.gainDb)
    this.#gains += weight * own.gainDb
    if (this.sections > memorySections) this.#halve()
  }

  /** How many of the loudest sections so far would count as much. */
  get sections(): number {
    return this.#maxWeight === 0 ? 0 : this.#weights / this.#maxWeight
  }

  /** By how much this reading is predicted better than the declared one. */
  get marginDb(): number {
    return this.#weights === 0 ? 0 : this.#margins / this.#weights
  }

  /** How well this reading is predicted. */
  get gainDb(): number {
    return this.#weights === 0 ? 0 : this.#gains / this.#weights
  }

  /**
   * How likely this reading is beside the others, in dB. A wrong one scatters the bits and is louder; quiet PCM with
   * its bytes swapped is predicted as well as itself, but 48 dB louder.
   */
  get likelihoodDb(): number {
    return this.#weights === 0 ? -Infinity : this.gainDb - loudnessShare * 40 * Math.log10(this.#weights / this.#count)
  }

  /** Whether this reading may be the right one. */
  get isPossible(): boolean {
    return this.marginDb > doubtDb || this.#silences >= doubtfulSilences
  }

  /** Whether the declared encoding has won by the required margin for the required number of sections. */
  isWorse(than: { readonly sections: number; readonly marginDb: number }): boolean {
    return this.sections >= than.sections && this.marginDb < than.marginDb
  }

  /** Whether the declared reading is predicted so much worse that it is wrong. */
  get isClear(): boolean {
    const { sections, marginDb, gainDb } = this
    return (
      gainDb - marginDb < maxGainDb &&
      verdicts.some((verdict) => sections >= verdict.sections && marginDb >= verdict.marginDb)
    )
  }

  #halve(): void {
    this.#count /= 2
    this.#weights /= 2
    this.#margins /= 2
    this.#gains /= 2
  }
}

/**
 * Finds out whether the bytes of a stream are of another encoding than it says. Audio that is read rightly can be
 * predicted from the samples before; audio that is read wrongly looks like noise. So the reading that is predicted best
 * is the right one, and noise, which none predicts, tells nothing.
 */
export class EncodingCheck {
  readonly #channels: number
  readonly #declared: Reading
  readonly #rivals: readonly Rival[]
  readonly #sections: number
  readonly #sectionBytes: number
  readonly #declaredPrediction: Prediction = { power: 0, gainDb: 0 }
  readonly #prediction: Prediction = { power: 0, gainDb: 0 }
  readonly #section: Section = { bytes: new Uint8Array(0), from: 0, to: 0, channels: 1 }

  /** @param blockBytes of each block, whole frames */
  constructor({ encoding, channels }: AudioFormat, blockBytes: number) {
    this.#channels = channels
    this.#declared = encoding
    const frameBytes = 2 * channels
    this.#sections = Math.min(maxSections, Math.max(1, Math.round(blockBytes / (sectionBytes * channels))))
    this.#sectionBytes = Math.floor(blockBytes / this.#sections / frameBytes) * frameBytes
    this.#rivals = readings.filter((reading) => reading !== encoding).map((reading) => new Rival(reading))
  }

  /** Whether another reading has been better so far, though not yet for long enough. */
  get isInDoubt(): boolean {
    return this.#rivals.some(({ isPossible }) => isPossible)
  }

  /** Whether the declared reading was predicted best for long enough. */
  get isSettled(): boolean {
    return this.#rivals.every((rival) => settled.some((verdict) => rival.isWorse(verdict)))
  }

  /** Examines a block; returns the fault once it is certain. Blocks begin with a whole frame. */
  examine(block: Uint8Array): FoundFault | undefined {
    const isLikely = this.#rivals.every((rival) => rival.isWorse(likely))
    for (let section = isLikely ? this.#sections - 1 : 0; section < this.#sections; section++) {
      this.#examineSection(block, section * this.#sectionBytes, this.#sectionBytes)
    }
    let best: Rival | undefined
    for (const rival of this.#rivals) {
      if (rival.marginDb > 0 && (best === undefined || rival.likelihoodDb > best.likelihoodDb)) best = rival
    }
    if (best?.isClear !== true) return undefined
    return best.reading === 'swapped' ? { kind: 'swapped-bytes' } : { kind: 'wrong-encoding', found: best.reading }
  }

  #examineSection(block: Uint8Array, from: number, length: number): void {
    const section = this.#section
    const live = this.#channels === 1 ? undefined : this.#liveChannel(block, from, length)
    section.bytes = live ?? block
    section.from = live === undefined ? from : 0
    section.to = live === undefined ? from + length : length / 2
    section.channels = live === undefined ? this.#channels : 1
    const declared = this.#declaredPrediction
    measurePrediction(this.#declared, section, declared)
    if (declared.power < minPower || flatShare(this.#declared, section) > maxFlat) return
    for (const rival of this.#rivals) {
      measurePrediction(rival.reading, section, this.#prediction)
      rival.add(declared, this.#prediction)
    }
  }

  /** The bytes of one of two channels if the other one is constant, which other readings predict well. */
  #liveChannel(block: Uint8Array, from: number, length: number): Uint8Array | undefined {
    const size = this.#declared === 'pcm' ? 2 : 1
    const frameBytes = 2 * size
    const isConstant = (channel: number): boolean => {
      for (let at = from + frameBytes; at < from + length; at += frameBytes) {
        for (let i = at + channel * size; i < at + (channel + 1) * size; i++) {
          if (block[i] !== block[i - frameBytes]) return false
        }
      }
      return true
    }
    const dead = [1, 0].find(isConstant)
    if (dead === undefined) return undefined
    const bytes = channelBytes.take(length / 2)
    const first = from + (1 - dead) * size
    for (let i = 0, at = first; i < length / 2; i += size, at += frameBytes) {
      for (let byte = 0; byte < size; byte++) bytes[i + byte] = block[at + byte] ?? 0
    }
    return bytes
  }
}
