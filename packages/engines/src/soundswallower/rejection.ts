import type { RejectLevel } from 'rxspeech/internal/protocol/recognition-parameters'
import { ResourcePool } from '../pool/resource-pool.js'
import { comparedConfidence, confidenceOfReading, isClear } from './confidence.js'
import type { Decoder, SoundswallowerPackage } from './package.js'
import { compareWith, featuresOf } from './rated-reading.js'
import type { RatedReading, Rejection } from './segment-decoder.js'
import { Verifier } from './verifier.js'

/**
 * The rejection of foreign speech in one worker. Most readings show by themselves whether they are right; for the
 * others the worker has one `Verifier`, which its decoders share.
 */
export class WorkerRejection {
  readonly #level: RejectLevel
  readonly #verifiers: ResourcePool<Verifier>

  constructor(soundswallower: SoundswallowerPackage, level: RejectLevel) {
    this.#level = level
    this.#verifiers = new ResourcePool({ max: 1, create: () => Verifier.create(soundswallower) })
  }

  /** Creates the verifier, so that the first segment that needs it does not wait. */
  async warm(): Promise<void> {
    this.#verifiers.release(await this.#verifiers.acquire())
  }

  /** The rejection of the readings of a decoder. */
  for(decoder: Decoder): Rejection {
    return {
      level: this.#level,
      rateWords: (words) => confidenceOfReading(featuresOf(decoder, { words, samples: undefined })),
      rate: (reading, isThorough) => this.#rate(decoder, reading, isThorough),
    }
  }

  async #rate(decoder: Decoder, reading: RatedReading, isThorough: boolean): Promise<number> {
    const features = featuresOf(decoder, reading)
    const confidence = confidenceOfReading(features)
    // The words of a sentence that was cut are weaker evidence.
    if (!isThorough || (isClear(confidence) && !reading.isIncomplete)) return confidence
    const verifier = await this.#verifiers.acquire()
    try {
      const compared = await compareWith(verifier, decoder, reading)
      this.#verifiers.release(verifier)
      return compared === undefined ? confidence : comparedConfidence(features, compared)
    } catch (error) {
      this.#verifiers.discard(verifier)
      throw error
    }
  }
}
