// node bench/accuracy/sound/fit-rate.mjs FOLDER…: makes src/audio/sound-check/rate-model.ts, which tells speech at the
// right rate from speech that is played too fast or too slowly. The speech is that of the sample call, of the
// recordings of the folders and of half of the synthetic voices, as it is and through random channels; the functions
// are linear discriminants of Fisher with a common covariance.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { clamp, otherSounds, randomSource, resample, speechRecordings } from './recordings.mjs'

const root = new URL('../../..', import.meta.url).pathname
const { decodeSamples, encodeSamples } = await import(join(root, 'dist/cjs/audio/codec.js')).then(
  ({ default: module }) => module,
)
const { RateCheck } = await import(join(root, 'dist/cjs/audio/sound-check/rate-check.js')).then(
  ({ default: module }) => module,
)

const featureCount = new RateCheck(8000).features().length
const channelsPerRecording = 6
/** The end of the band of a telephone. */
const telephoneHz = 3400
/** After how many frames the verdicts of the check are. */
const frameCounts = [20, 30, 40, 60]
/** How much of the variance of a feature is added to the covariance, so that no feature decides alone. */
const shrinkage = 0.3

/**
 * Resampled to twice the frequency and back; the resampler has no rates below 8000 Hz, and only their ratio matters.
 */
const lowPassed = async (samples, rateHz, endHz) => {
  const fromHz = Math.round((rateHz * 8000) / (2 * endHz))
  return resample(await resample(samples, fromHz, 8000), 8000, fromHz)
}

/** Butterworth's filter of the second order, at a share of the rate. */
const highPass = (samples, frequency) => {
  const k = Math.tan(Math.PI * frequency)
  const norm = 1 / (1 + Math.SQRT2 * k + k * k)
  let [x1, x2, y1, y2] = [0, 0, 0, 0]
  for (let i = 0; i < samples.length; i++) {
    const x = samples[i]
    const y = norm * (x - 2 * x1 + x2 - 2 * (k * k - 1) * y1 - (1 - Math.SQRT2 * k + k * k) * y2)
    ;[x2, x1, y2, y1] = [x1, x, y1, y]
    samples[i] = y
  }
}

/** A channel with a random tilt, often with the band of a telephone, and noise that is 8 to 40 dB below the speech. */
const throughChannel = async (samples, rateHz, random) => {
  const isNarrow = random() < 0.3
  // Voices with a vocal tract that is longer or shorter.
  const voice = await resample(samples, Math.round(10_000 * (0.93 + 0.15 * random())), 10_000)
  const out = Float64Array.from(isNarrow ? await lowPassed(voice, rateHz, telephoneHz) : voice)
  const tilt = random() * 1.2 - 0.6
  let before = 0
  for (let i = 0; i < out.length; i++) {
    const value = out[i]
    out[i] = value - tilt * before
    before = value
  }
  if (isNarrow || random() < 0.3) {
    for (let pass = 0; pass < (isNarrow ? 3 : 1); pass++) highPass(out, (250 + 100 * random()) / rateHz)
  }
  const rms = Math.sqrt(out.reduce((sum, value) => sum + value * value, 0) / out.length)
  const noise = rms * 10 ** (-(8 + 32 * random()) / 20)
  const gain = 2500 / rms
  return Int16Array.from(out, (value) => clamp(gain * (value + noise * (random() + random() + random() - 1.5) * 2)))
}

/** The features of the first `frames` frames of speech, undefined if there are fewer. */
const featuresOf = (samples, rateHz, frames) => {
  const check = new RateCheck(rateHz)
  const count = 100 * Math.floor(rateHz / 1000)
  for (let at = 0; at + count <= samples.length && check.frameCount < frames; at += count) {
    const block = samples.subarray(at, at + count)
    check.add(block, block.reduce((sum, sample) => sum + sample * sample, 0) / count)
  }
  return check.frameCount < frames ? undefined : Float64Array.from(check.features())
}

const random = randomSource(15)
const folders = process.argv.slice(2)
const recordings = (await speechRecordings({ folders })).filter(
  ({ isFitted, group }) => isFitted || group === 'human' || group === 'sample',
)

/**
 * Speech that is too slow, of a wide band and of that of a telephone: at a half, a third and a sixth of its speed, by
 * the rates that microphones and files have.
 */
const slow = {
  half: [[16_000, 8000]],
  third: [
    [22_050, 8000],
    [44_100, 16_000],
    [48_000, 16_000],
  ],
  sixth: [
    [32_000, 8000],
    [44_100, 8000],
    [48_000, 8000],
  ],
}
const slowKinds = Object.keys(slow).flatMap((kind) => [kind, `${kind}Narrow`])

const rows = Object.fromEntries(['right', 'faster', ...slowKinds, 'other'].map((kind) => [kind, []]))
const add = (kind, audio, hz) => {
  for (const frames of frameCounts) {
    const features = featuresOf(audio, hz, frames)
    if (features !== undefined) rows[kind].push(features)
  }
}
for (const { samples, rateHz } of recordings) {
  for (let channel = 0; channel < channelsPerRecording; channel++) {
    const heard = channel === 0 ? samples : await throughChannel(samples, rateHz, random)
    const narrow = await resample(heard, rateHz, 8000)
    add('right', narrow, 8000)
    add('faster', narrow, 16_000)
    add('right', await resample(narrow, 8000, 16_000), 16_000)
    if (rateHz >= 16_000) add('right', await resample(heard, rateHz, 16_000), 16_000)
    for (const [kind, rates] of Object.entries(slow)) {
      for (const [actualHz, saidHz] of rates) {
        add(`${kind}Narrow`, await resample(narrow, 8000, actualHz), saidHz)
        if (rateHz >= 16_000) add(kind, await resample(heard, rateHz, actualHz), saidHz)
      }
    }
  }
}

// Tones and music, also with the noise of G.711, so that they are not taken for speech.
for (const rateHz of [8000, 16_000]) {
  for (let song = 0; song < 4; song++) {
    for (const { name, samples } of otherSounds(rateHz, 4, randomSource(1000 * song + rateHz + 1))) {
      if (song > 0 && !name.startsWith('music')) continue
      add('other', samples, rateHz)
      add('other', decodeSamples(encodeSamples(samples, 'ulaw'), 'ulaw'), rateHz)
    }
  }
}

// Speech at a third or a sixth of its speed is so far from the rest that it would only widen the covariance.
const near = ['right', 'faster', 'half', 'other']
const all = near.flatMap((kind) => rows[kind])
const meanOf = (list) =>
  Float64Array.from({ length: featureCount }, (_none, i) => list.reduce((sum, row) => sum + row[i], 0) / list.length)
const center = meanOf(all)
const spread = Float64Array.from({ length: featureCount }, (_none, i) =>
  Math.sqrt(all.reduce((sum, row) => sum + (row[i] - center[i]) ** 2, 0) / all.length),
)
const standardized = (list) => list.map((row) => row.map((value, i) => (value - center[i]) / spread[i]))
const classes = Object.fromEntries(Object.entries(rows).map(([kind, list]) => [kind, standardized(list)]))
const means = Object.fromEntries(Object.entries(classes).map(([kind, list]) => [kind, meanOf(list)]))
const covariance = Array.from({ length: featureCount }, (_none, i) =>
  Float64Array.from({ length: featureCount }, (_none2, j) => {
    let sum = 0
    for (const kind of near) {
      for (const row of classes[kind]) sum += (row[i] - means[kind][i]) * (row[j] - means[kind][j])
    }
    return sum / all.length + (i === j ? shrinkage : 0)
  }),
)

/** Solves a linear system by elimination with pivots. */
const solve = (matrix, vector) => {
  const rowsOf = matrix.map((row, i) => [...row, vector[i]])
  for (let i = 0; i < rowsOf.length; i++) {
    const pivot = rowsOf
      .slice(i)
      .reduce((best, row, at) => (Math.abs(row[i]) > Math.abs(rowsOf[best][i]) ? i + at : best), i)
    ;[rowsOf[i], rowsOf[pivot]] = [rowsOf[pivot], rowsOf[i]]
    for (let j = i + 1; j < rowsOf.length; j++) {
      const factor = rowsOf[j][i] / rowsOf[i][i]
      for (let k = i; k < rowsOf[j].length; k++) rowsOf[j][k] -= factor * rowsOf[i][k]
    }
  }
  const result = new Float64Array(rowsOf.length)
  for (let i = rowsOf.length - 1; i >= 0; i--) {
    let sum = rowsOf[i][rowsOf.length]
    for (let k = i + 1; k < rowsOf.length; k++) sum -= rowsOf[i][k] * result[k]
    result[i] = sum / rowsOf[i][i]
  }
  return result
}

const rounded = (values) => [...values].map((value) => Number(value.toPrecision(3)))

/** A linear function that is above 0 for one class and below 0 for another: the weights, and a constant at the end. */
const functionOf = (kind, from) => {
  const direction = solve(
    covariance,
    means[kind].map((value, i) => value - means[from][i]),
  )
  const constant = direction.reduce(
    (sum, value, i) => sum - (value * (means[kind][i] + means[from][i])) / 2 - (value * center[i]) / spread[i],
    0,
  )
  return `[${rounded([...direction.map((value, i) => value / spread[i]), constant]).join(', ')}]`
}

const modelOf = (kind) => `{
  means: [${rounded(means[kind].map((value, i) => value * spread[i] + center[i])).join(', ')}],
  notRight: ${functionOf(kind, 'right')},
  notOther: ${functionOf(kind, 'other')},
}`

const deviationOf = (i) => {
  const speech = ['right', 'faster', 'half'].flatMap((kind) =>
    classes[kind].map((row) => (row[i] - means[kind][i]) ** 2),
  )
  return Math.sqrt(speech.reduce((sum, value) => sum + value, 0) / speech.length) * spread[i]
}
const within = Array.from({ length: featureCount }, (_none, i) => deviationOf(i))
const text = `/** Speech at a wrong rate: the means of its features, and linear functions above 0 for it, each with a constant. */
export interface SpeechModel {
  readonly means: readonly number[]
  /** Below 0 for speech at the right rate. */
  readonly notRight: readonly number[]
  /** Below 0 for tones, music and noise. */
  readonly notOther: readonly number[]
}

// Made by bench/accuracy/sound/fit-rate.mjs from ${all.length} pieces of speech of ${recordings.length} recordings.

/** The deviations of the features from their means, within a kind of speech. */
// prettier-ignore
export const deviations: readonly number[] = [${rounded(within).join(', ')}]

// prettier-ignore
export const fasterSpeech: SpeechModel = ${modelOf('faster')}

/** At a half, a third and a sixth of its speed, each of a wide band and of that of a telephone. */
// prettier-ignore
export const slowerSpeech: readonly SpeechModel[] = [${slowKinds.map(modelOf).join(', ')}]
`
writeFileSync(join(root, 'src/audio/sound-check/rate-model.ts'), text)
console.log(
  `${recordings.length} recordings, ${Object.entries(rows)
    .map(([kind, list]) => `${list.length} ${kind}`)
    .join(', ')}`,
)
