// node bench/accuracy/sound/fit-rate.mjs FOLDER…: makes src/audio/sound-check/rate-model.ts, which tells speech at the right rate
// from speech that is played too fast or too slowly. The speech is that of the sample call, of the recordings of the folders and of half of the synthetic
// voices, as it is and through random channels; the functions are linear discriminants of Fisher with a common covariance.
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
const channelsPerRecording = 4
/** After how many frames the verdicts of the check are. */
const frameCounts = [45, 60, 90]
/** How much of the variance of a feature is added to the covariance, so that no feature decides alone. */
const shrinkage = 0.3

/** A channel with a random tilt, often with the band of a telephone, and noise. */
const throughChannel = (samples, rateHz, random) => {
  const out = Float64Array.from(samples)
  const tilt = random() * 1.2 - 0.6
  let before = 0
  for (let i = 0; i < out.length; i++) {
    const value = out[i]
    out[i] = value - tilt * before
    before = value
  }
  if (random() < 0.5) {
    const pole = Math.exp((-2 * Math.PI * 300) / rateHz)
    for (let pass = 0; pass < 2; pass++) {
      let [last, filtered] = [0, 0]
      for (let i = 0; i < out.length; i++) {
        filtered = pole * (filtered + out[i] - last)
        last = out[i]
        out[i] = filtered
      }
    }
  }
  const rms = Math.sqrt(out.reduce((sum, value) => sum + value * value, 0) / out.length)
  const noise = rms * 10 ** (-(15 + 25 * random()) / 20)
  const gain = 2500 / rms
  return Int16Array.from(out, (value) => clamp(gain * (value + noise * (random() + random() + random() - 1.5) * 2)))
}

/** The features of the first `frames` frames of speech, undefined if there are fewer. */
const featuresOf = (samples, rateHz, frames) => {
  const check = new RateCheck(rateHz)
  const count = 100 * Math.floor(rateHz / 1000)
  const block = new Float64Array(count)
  for (let at = 0; at + count <= samples.length && check.frameCount < frames; at += count) {
    for (let i = 0; i < count; i++) block[i] = samples[at + i]
    check.examine(block, count)
  }
  return check.frameCount < frames ? undefined : Float64Array.from(check.features())
}

const random = randomSource(15)
const folders = process.argv.slice(2)
const recordings = (await speechRecordings({ folders })).filter(
  ({ isFitted, group }) => isFitted || group === 'human' || group === 'sample',
)

const rows = { right: [], faster: [], slower: [], third: [], sixth: [], other: [] }
const add = (kind, audio, hz) => {
  for (const frames of frameCounts) {
    const features = featuresOf(audio, hz, frames)
    if (features !== undefined) rows[kind].push(features)
  }
}
for (const { samples, rateHz } of recordings) {
  for (let channel = 0; channel < channelsPerRecording; channel++) {
    const heard = channel === 0 ? samples : throughChannel(samples, rateHz, random)
    const narrow = await resample(heard, rateHz, 8000)
    add('right', narrow, 8000)
    add('faster', narrow, 16_000)
    if (rateHz < 16_000) continue
    const wide = await resample(heard, rateHz, 16_000)
    add('right', wide, 16_000)
    add('slower', wide, 8000)
    const widest = await resample(heard, rateHz, 48_000)
    add('third', widest, 16_000)
    add('sixth', widest, 8000)
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
const near = ['right', 'faster', 'slower', 'other']
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
  const speech = ['right', 'faster', 'slower'].flatMap((kind) =>
    classes[kind].map((row) => (row[i] - means[kind][i]) ** 2),
  )
  return Math.sqrt(speech.reduce((sum, value) => sum + value, 0) / speech.length) * spread[i]
}
const within = Array.from({ length: featureCount }, (_none, i) => deviationOf(i))
const text = `/** Speech at a wrong rate: the means of its features, and linear functions that are above 0 for it, each with a constant at the end. */
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

/** At a half, a third and a sixth of its speed. */
// prettier-ignore
export const slowerSpeech: readonly SpeechModel[] = [${['slower', 'third', 'sixth'].map(modelOf).join(', ')}]
`
writeFileSync(join(root, 'src/audio/sound-check/rate-model.ts'), text)
console.log(
  `${recordings.length} recordings, ${Object.entries(rows)
    .map(([kind, list]) => `${list.length} ${kind}`)
    .join(', ')}`,
)
