import { bandFrame } from './telephone-band.js'

const order = 4
const points = bandFrame

/** Products of the frame with itself, shifted by row and by column. All calls share one set, because no call nests. */
const size = order + 1
const products = new Float64Array(size * size)
const solution = new Float64Array(order)
/** The frame, as numbers of the precision that the sums need. */
const signal = new Float64Array(points)

const at = (array: Float64Array, index: number): number => array[index] ?? 0

/**
 * `products[i, j]` is the sum of x[t − i]·x[t − j]. Only the first column is summed; a step down the diagonal changes a
 * sum by one product at each end. Rows and columns 1 to 4 are the equations of the predictor, column 0 their right
 * side.
 */
const fillProducts = (): void => {
  for (let shift = 0; shift < size; shift += 1) {
    let sum = 0
    for (let now = order; now < points; now += 1) sum += at(signal, now) * at(signal, now - shift)
    products[shift * size] = sum
  }
  for (let row = 1; row < size; row += 1) {
    for (let column = 1; column <= row; column += 1) {
      const first = at(signal, order - row) * at(signal, order - column)
      const last = at(signal, points - row) * at(signal, points - column)
      products[row * size + column] = at(products, (row - 1) * size + column - 1) + first - last
    }
  }
}

/** The power that the best predictor explains, by Cholesky decomposition in place. */
const explainedPower = (): number => {
  // The equations of a single sine are singular; a little noise makes them solvable.
  const ridge = at(products, 0) * 1e-7 + 1e-3
  let explained = 0
  for (let row = 1; row < size; row += 1) {
    for (let column = 1; column <= row; column += 1) {
      let sum = at(products, row * size + column) + (row === column ? ridge : 0)
      for (let k = 1; k < column; k += 1) sum -= at(products, row * size + k) * at(products, column * size + k)
      const pivot = row === column ? 0 : at(products, column * size + column)
      products[row * size + column] = row === column ? Math.sqrt(Math.max(sum, 1e-9)) : sum / pivot
    }
    let rest = at(products, row * size)
    for (let k = 1; k < row; k += 1) rest -= at(products, row * size + k) * at(solution, k - 1)
    const solved = rest / at(products, row * size + row)
    solution[row - 1] = solved
    explained += solved * solved
  }
  return explained
}

/**
 * The share of the power of a 10 ms frame that a predictor of order 4 does not explain, 0 to 1; 1 for digital silence.
 * Four past samples predict one or two sines (dial, ringing, busy and hold tones, hum): after G.711 the share is 0.004
 * for loud ones and 0.01 for soft ones. Speech has a larger share, except for sonorants, for up to 250 ms.
 */
export const unpredictedShare = (frame: Int16Array): number => {
  signal.set(frame)
  fillProducts()
  const power = at(products, 0)
  return power > 0 ? Math.max(0, power - explainedPower()) / power : 1
}

/** What the predictor of a frame does. */
export interface Prediction {
  /** The share of the power of the frame that it does not explain, as `unpredictedShare`. */
  readonly share: number
  /** By how many dB it raises white noise. Of a tone in a room it leaves the noise of the room, raised by this. */
  readonly noiseGainDb: number
  /** What the next sample is predicted from: the coefficients of the last one, of the one before, and so on. */
  readonly coefficients: Float64Array
}

/** The same test with the predictor and its gain. */
export const predict = (frame: Int16Array): Prediction => {
  const share = unpredictedShare(frame)
  if (share === 1) return { share, noiseGainDb: 0, coefficients: new Float64Array(order) }
  const noiseGainDb = 10 * Math.log10(noiseGain())
  return { share, noiseGainDb, coefficients: solution.slice() }
}

/**
 * The share of the power of a frame that the predictor of another frame does not explain, as `unpredictedShare`; it can
 * be above 1.
 */
export const shareLeftBy = (coefficients: Float64Array, frame: Int16Array): number => {
  signal.set(frame)
  let power = 0
  let left = 0
  for (let now = order; now < points; now += 1) {
    let rest = at(signal, now)
    power += rest ** 2
    for (let back = 1; back <= order; back += 1) rest -= at(coefficients, back - 1) * at(signal, now - back)
    left += rest ** 2
  }
  return power > 0 ? left / power : 1
}

/** One plus the squares of the coefficients, which back substitution in the decomposed equations finds. */
const noiseGain = (): number => {
  let gain = 1
  for (let row = order; row >= 1; row -= 1) {
    let rest = at(solution, row - 1)
    for (let k = row + 1; k < size; k += 1) rest -= at(products, k * size + row) * at(solution, k - 1)
    const coefficient = rest / at(products, row * size + row)
    solution[row - 1] = coefficient
    gain += coefficient ** 2
  }
  return gain
}
