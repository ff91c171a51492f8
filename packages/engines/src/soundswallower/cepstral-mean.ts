/** A logarithmic mel spectrum: `nfr` frames of `nfeat` filters, one after another. */
export interface MelSpectrum {
  readonly data: Float32Array
  readonly nfr: number
  readonly nfeat: number
}

const coefficients = 13
const lifter = 22

/** The features of the acoustic models: an orthonormal DCT-II of the spectrum with sinusoidal liftering. */
const cepstrumMatrix = (filters: number): readonly Float64Array[] =>
  Array.from({ length: coefficients }, (_, order) => {
    const scale = Math.sqrt((order === 0 ? 1 : 2) / filters) * (1 + (lifter / 2) * Math.sin((order * Math.PI) / lifter))
    return Float64Array.from({ length: filters }, (_, at) => scale * Math.cos((order * Math.PI * (at + 0.5)) / filters))
  })

const energyOf = (frame: Float32Array): number => frame.reduce((sum, value) => sum + value, 0)

const quantile = (sorted: Float64Array, part: number): number => sorted[Math.floor((sorted.length - 1) * part)] ?? 0

/** A frame counts as speech if its energy is above this part of the range from the quiet frames to the loud ones. */
const speechPart = 0.2

/**
 * The mean cepstrum of the frames with speech; undefined without a frame. Subtracting it removes the coloration by the
 * line and the speaker from the features. Quiet frames are left out, since a mean over all frames depends on how much
 * silence the segment contains.
 */
export const speechCepstralMean = ({ data, nfr, nfeat }: MelSpectrum): readonly number[] | undefined => {
  if (nfr === 0) return undefined
  const frames = Array.from({ length: nfr }, (_, at) => data.subarray(at * nfeat, (at + 1) * nfeat))
  const energies = Float64Array.from(frames, energyOf)
  const sorted = energies.toSorted()
  const quiet = quantile(sorted, 0.1)
  const threshold = quiet + speechPart * (quantile(sorted, 0.95) - quiet)
  const spectrum = new Float64Array(nfeat)
  let count = 0
  for (const [at, frame] of frames.entries()) {
    if ((energies[at] ?? 0) < threshold) continue
    count += 1
    for (let filter = 0; filter < nfeat; filter += 1) spectrum[filter] = (spectrum[filter] ?? 0) + (frame[filter] ?? 0)
  }
  // The transform is linear: the mean of the transforms is the transform of the mean.
  return cepstrumMatrix(nfeat).map((row) =>
    row.reduce((sum, weight, at) => sum + (weight * (spectrum[at] ?? 0)) / count, 0),
  )
}
