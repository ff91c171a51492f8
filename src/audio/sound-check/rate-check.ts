import { deviations, fasterSpeech, slowerSpeech, type SpeechModel } from './rate-model.js'
import { pointsPerBlock } from './signal-check.js'
import type { FoundFault } from './sound-warning.js'
import { spectrumPair, type SpectrumPair } from './spectrum.js'

/** Half octaves, which every rate from 8000 Hz on has, in Hz. */
const bandEdgesHz = [90, 140, 200, 280, 400, 560, 800, 1120, 1600, 2240, 3150, 3900]
const bandCount = bandEdgesHz.length - 1
/** The bands whose mean is the level of a frame. */
const [firstLevelBand, lastLevelBand] = [3, 8]
/** Bands that are up to this far apart are compared. */
const maxApart = 3
/** The mean of each band, its deviation, and the correlation with the next ones. */
const featureCount = 2 * bandCount + maxApart * bandCount - (maxApart * (maxApart + 1)) / 2

const windowSeconds = 0.032
/** Windows of a block of 100 ms, two at a time because one transform does two. */
const windowsPerBlock = 4
/** Frames up to 20 dB below the loudest are speech. */
const minShare = 0.01
/**
 * In a band, what is so far below the loudest frame is noise. Bands above the band of the recording, which are empty,
 * become comparable with those of a line with noise.
 */
const floorDb = -45
/** About -60 dBFS, as power of a frame. */
const minPower = 1e-6 * 32_768 ** 2

/** A quieter block, as mean square and as a share of the loudest, has no frame that is kept. */
const [minBlockPower, minBlockShare] = [300, 0.002]

/**
 * How clear speech of a wrong rate has to be, and from which score on speech of the right rate is clear, after how many
 * frames of 25 ms with sound.
 */
const verdicts = [
  { frames: 20, faster: 6, slower: Infinity, right: -2.4 },
  { frames: 26, faster: 5, slower: Infinity, right: -2.4 },
  { frames: 32, faster: 4.4, slower: Infinity, right: -1.9 },
  { frames: 40, faster: 4, slower: Infinity, right: -1.6 },
  { frames: 54, faster: 2.8, slower: 3.6, right: -0.9 },
  { frames: 70, faster: 2.5, slower: 3.2, right: 0 },
  { frames: 100, faster: 2.2, slower: 3, right: Infinity },
] as const
const maxFrames = 100
/** The distance allowed from the features of such speech, a mean of squared deviations; tones and music exceed it. */
const maxDistance = 1.6
/** How clear it has to be that the sound is speech. */
const minSpeechScore = 3

// Used within one call, by all sessions.
const bandMeans = new Float64Array(bandCount)
const covariances = new Float64Array(bandCount * (maxApart + 1))
const features = new Float64Array(featureCount)

/**
 * Tells whether speech is played too fast or too slowly. The resonances of a vocal tract are about 1 kHz apart, and so
 * at the double rate 2 kHz: the spectrum of speech, and which of its bands rise and fall together, gives the rate away.
 * Both are compared with those of speech at the right rate by a linear function, which
 * `bench/accuracy/sound/fit-rate.mjs` makes.
 */
export class RateCheck {
  readonly #spectra: SpectrumPair
  /** From a window to the next. */
  readonly #step: number
  /** The first bin of each band, and the end of the last. */
  readonly #bins: readonly number[]
  /** In dB, of each frame, and the power of each frame. */
  readonly #bands = new Float32Array(maxFrames * bandCount)
  readonly #powers = new Float32Array(maxFrames)
  #maxPower = 0
  #maxBlockPower = 0
  #frames = 0
  #next = 0
  #isOver = false

  constructor(sampleRateHz: number) {
    const size = 2 ** Math.floor(Math.log2(windowSeconds * sampleRateHz))
    this.#spectra = spectrumPair(size)
    this.#step = Math.floor((pointsPerBlock * Math.floor(sampleRateHz / 1000) - size) / (windowsPerBlock - 1))
    this.#bins = bandEdgesHz.map((edgeHz) => Math.ceil((edgeHz * size) / sampleRateHz))
  }

  /** Whether there has been enough speech for a verdict, so that no more is needed. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Examines a block of 100 ms, whose mean square is `power`; returns the fault once it is certain. */
  examine(samples: Int16Array, power: number): FoundFault | undefined {
    this.add(samples, power)
    return this.#verdict()
  }

  /** Measures a block without a verdict. */
  add(samples: Int16Array, power: number): void {
    this.#maxBlockPower = Math.max(this.#maxBlockPower, power)
    if (power < Math.max(minBlockPower, minBlockShare * this.#maxBlockPower)) return
    for (let window = 0; window < windowsPerBlock; window += 2) {
      this.#spectra.transform(samples, window * this.#step, (window + 1) * this.#step)
      this.#keep('first')
      this.#keep('second')
    }
  }

  #keep(window: 'first' | 'second'): void {
    if (this.#frames === maxFrames) return
    const at = this.#frames * bandCount
    let power = 0
    for (let band = 0; band < bandCount; band++) {
      const sum = this.#spectra.power(window, this.#bins[band] ?? 0, this.#bins[band + 1] ?? 0)
      power += sum
      this.#bands[at + band] = sum
    }
    if (power < minPower || power < minShare * this.#maxPower) return
    for (let i = at; i < at + bandCount; i++) this.#bands[i] = 10 * Math.log10((this.#bands[i] ?? 0) + 1e-3)
    this.#powers[this.#frames] = power
    this.#frames += 1
    if (power > this.#maxPower) {
      this.#maxPower = power
      this.#dropQuiet()
    }
  }

  /** What came before louder audio may have been noise. */
  #dropQuiet(): void {
    let kept = 0
    for (let frame = 0; frame < this.#frames; frame++) {
      const power = this.#powers[frame] ?? 0
      if (power < minShare * this.#maxPower) continue
      this.#powers[kept] = power
      this.#bands.copyWithin(kept * bandCount, frame * bandCount, (frame + 1) * bandCount)
      kept += 1
    }
    this.#frames = kept
  }

  #verdict(): FoundFault | undefined {
    const verdict = verdicts[this.#next]
    if (verdict === undefined || this.#frames < verdict.frames) return undefined
    this.#next += 1
    this.features()
    this.#isOver = [fasterSpeech, ...slowerSpeech].every(({ notRight }) => scoreOf(notRight) < verdict.right)
    if (isLike(fasterSpeech, verdict.faster)) return { kind: 'wrong-rate', found: 'lower' }
    if (slowerSpeech.some((speech) => isLike(speech, verdict.slower))) {
      return { kind: 'wrong-rate', found: 'higher' }
    }
    return undefined
  }

  /** The features of the frames so far; the array is for the next call. */
  features(): Float64Array {
    const frames = this.#frames
    const floor = 10 * Math.log10(this.#maxPower) + floorDb
    for (let i = 0; i < frames * bandCount; i++) this.#bands[i] = Math.max(this.#bands[i] ?? 0, floor)
    bandMeans.fill(0)
    covariances.fill(0)
    for (let frame = 0; frame < frames; frame++) {
      for (let band = 0; band < bandCount; band++) {
        bandMeans[band] = (bandMeans[band] ?? 0) + (this.#bands[frame * bandCount + band] ?? 0) / frames
      }
    }
    for (let frame = 0; frame < frames; frame++) {
      for (let band = 0; band < bandCount; band++) {
        const own = (this.#bands[frame * bandCount + band] ?? 0) - (bandMeans[band] ?? 0)
        for (let distance = 0; distance <= maxApart && band + distance < bandCount; distance++) {
          const other = (this.#bands[frame * bandCount + band + distance] ?? 0) - (bandMeans[band + distance] ?? 0)
          const at = distance * bandCount + band
          covariances[at] = (covariances[at] ?? 0) + (own * other) / frames
        }
      }
    }
    let level = 0
    for (let band = firstLevelBand; band <= lastLevelBand; band++) {
      level += (bandMeans[band] ?? 0) / (lastLevelBand - firstLevelBand + 1)
    }
    let at = 0
    for (let band = 0; band < bandCount; band++) features[at++] = (bandMeans[band] ?? 0) - level
    for (let band = 0; band < bandCount; band++) features[at++] = Math.sqrt(covariances[band] ?? 0)
    for (let distance = 1; distance <= maxApart; distance++) {
      for (let band = 0; band + distance < bandCount; band++) {
        const product = Math.sqrt((covariances[band] ?? 0) * (covariances[band + distance] ?? 0))
        features[at++] = product > 0 ? (covariances[distance * bandCount + band] ?? 0) / product : 0
      }
    }
    return features
  }

  /** How many frames of speech there have been. */
  get frameCount(): number {
    return this.#frames
  }
}

/** Whether the features speak for such speech, and neither for speech at the right rate nor for other sounds. */
const isLike = ({ means, notRight, notOther }: SpeechModel, minScore: number): boolean => {
  let distance = 0
  for (let i = 0; i < featureCount; i++) {
    distance += (((features[i] ?? 0) - (means[i] ?? 0)) / (deviations[i] ?? 1)) ** 2 / featureCount
  }
  return distance <= maxDistance && scoreOf(notRight) >= minScore && scoreOf(notOther) >= minSpeechScore
}

const scoreOf = (weights: readonly number[]): number => {
  let score = weights[featureCount] ?? 0
  for (let i = 0; i < featureCount; i++) score += (features[i] ?? 0) * (weights[i] ?? 0)
  return score
}
