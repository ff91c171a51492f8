// node bench/accuracy/fit-rejection.mjs [file]: fits the weights of packages/engines/src/soundswallower/confidence.ts
// to the fitted voices of the spoken set and prints them. `file` keeps the readings, which take minutes, for another
// run. Needs flite, espeak-ng and `npm run build`.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const [file] = process.argv.slice(2)

const readAll = async () => {
  if (file !== undefined && existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'))
  const { readUtterances } = await import('./readings.mjs')
  const rows = []
  for await (const row of readUtterances('fitted')) rows.push(row)
  if (file !== undefined) writeFileSync(file, JSON.stringify(rows))
  return rows
}

/** Solves a system of linear equations (Gauss, with pivots). */
const solve = (matrix, vector) => {
  const rows = matrix.map((row, at) => [...row, vector[at]])
  for (let column = 0; column < rows.length; column += 1) {
    const pivot = rows
      .slice(column)
      .reduce((best, row) => (Math.abs(row[column]) > Math.abs(best[column]) ? row : best))
    const at = rows.indexOf(pivot)
    ;[rows[column], rows[at]] = [pivot, rows[column]]
    for (const [other, row] of rows.entries()) {
      if (other === column) continue
      const factor = row[column] / pivot[column]
      for (let index = column; index < row.length; index += 1) row[index] -= factor * pivot[index]
    }
  }
  return rows.map((row, at) => row[rows.length] / row[at])
}

/**
 * Logistic regression by Newton's method. Right readings and foreign ones of each grammar weigh the same in total, so
 * that a confidence is that of speech of which half is foreign. A small penalty on the standardized weights keeps
 * features that say the same apart.
 */
const fit = (samples) => {
  const count = samples[0].features.length
  const indices = Array.from({ length: count }, (_none, at) => at)
  const means = indices.map((at) => samples.reduce((sum, { features }) => sum + features[at], 0) / samples.length)
  const deviations = indices.map((at) =>
    Math.sqrt(samples.reduce((sum, { features }) => sum + (features[at] - means[at]) ** 2, 0) / samples.length),
  )
  const groupOf = ({ grammar, isRight }) => `${grammar} ${isRight}`
  const counts = new Map()
  for (const sample of samples) counts.set(groupOf(sample), (counts.get(groupOf(sample)) ?? 0) + 1)
  const rows = samples.map((sample) => ({
    x: [1, ...indices.map((at) => (sample.features[at] - means[at]) / deviations[at])],
    y: sample.isRight ? 1 : 0,
    weight: 1 / (counts.size * counts.get(groupOf(sample))),
  }))
  const penalty = 0.003
  let weights = new Array(count + 1).fill(0)
  for (let step = 0; step < 50; step += 1) {
    const gradient = weights.map((value, at) => (at === 0 ? 0 : -penalty * value))
    const curvature = weights.map((_value, row) =>
      weights.map((_none, column) => (row === column && row > 0 ? penalty : 0)),
    )
    for (const { x, y, weight } of rows) {
      const p = 1 / (1 + Math.exp(-x.reduce((sum, value, at) => sum + value * weights[at], 0)))
      for (const [row, value] of x.entries()) {
        gradient[row] += weight * (y - p) * value
        for (const [column, other] of x.entries()) curvature[row][column] += weight * p * (1 - p) * value * other
      }
    }
    const change = solve(curvature, gradient)
    weights = weights.map((value, at) => value + change[at])
  }
  const features = indices.map((at) => weights[at + 1] / deviations[at])
  const constant = weights[0] - features.reduce((sum, value, at) => sum + value * means[at], 0)
  return { constant: Number(constant.toFixed(4)), features: features.map((value) => Number(value.toFixed(4))) }
}

const rows = await readAll()
// A sentence of the grammar that was misread is neither right nor foreign.
const readings = rows
  .filter(({ kind, isRight }) => kind !== 'in' || isRight)
  .flatMap(({ readings, isRight, grammar }) => readings.map((reading) => ({ ...reading, isRight, grammar })))
const compared = readings.filter((reading) => reading.compared !== undefined && reading.compared !== null)
console.log(`${readings.length} readings, ${readings.filter(({ isRight }) => isRight).length} of them right`)
console.log('readingWeights', fit(readings))
console.log(
  'comparedWeights',
  fit(compared.map(({ features, compared, ...reading }) => ({ ...reading, features: [...compared, ...features] }))),
)
