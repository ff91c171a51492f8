/** Where a predictor of order 4 leaves less than this share of the power, there are at most two sines (20 dB). */
const residualShare = 0.01
const order = 4
/** The frame is brought to this many samples (8 kHz), so that the test means the same at every rate. */
const points = 80
const longestFrame = 480

/** Lower triangle of the normal equations, its right side, and the thinned frame: one set, as every call ends before the next. */
const matrix = new Float64Array(order * order)
const rightSide = new Float64Array(order)
const thinned = new Float64Array(points)

const at = (array: Float64Array, index: number): number => array[index] ?? 0

const thin = (frame: Int16Array): void => {
  const step = Math.min(frame.length, longestFrame) / points
  for (let point = 0; point < points; point += 1) {
    let sum = 0
    for (let offset = 0; offset < step; offset += 1) sum += frame[point * step + offset] ?? 0
    thinned[point] = sum
  }
}

const fillEquations = (): number => {
  matrix.fill(0)
  rightSide.fill(0)
  let power = 0
  for (let now = order; now < points; now += 1) {
    const sample = at(thinned, now)
    power += sample * sample
    for (let row = 0; row < order; row += 1) {
      const past = at(thinned, now - 1 - row)
      rightSide[row] = at(rightSide, row) + sample * past
      for (let column = 0; column <= row; column += 1) {
        matrix[row * order + column] = at(matrix, row * order + column) + past * at(thinned, now - 1 - column)
      }
    }
  }
  // A little noise keeps the equations of a single sine, which are singular, solvable.
  for (let row = 0; row < order; row += 1)
    matrix[row * order + row] = at(matrix, row * order + row) + power * 1e-7 + 1e-3
  return power
}

/** The power that the best predictor explains, by Cholesky's decomposition in place. */
const explainedPower = (): number => {
  let explained = 0
  for (let row = 0; row < order; row += 1) {
    for (let column = 0; column <= row; column += 1) {
      let sum = at(matrix, row * order + column)
      for (let k = 0; k < column; k += 1) sum -= at(matrix, row * order + k) * at(matrix, column * order + k)
      const diagonal = at(matrix, column * order + column)
      matrix[row * order + column] = row === column ? Math.sqrt(Math.max(sum, 1e-9)) : sum / diagonal
    }
    let sum = at(rightSide, row)
    for (let k = 0; k < row; k += 1) sum -= at(matrix, row * order + k) * at(rightSide, k)
    const solved = sum / at(matrix, row * order + row)
    rightSide[row] = solved
    explained += solved * solved
  }
  return explained
}

/**
 * Whether a frame of 10 ms is one sine or two (dial, ringing, busy and hold tones, hum): two sines are told in advance by
 * four samples of the past, while speech leaves a remainder. A sonorant may pass for a tone for some frames.
 */
export const isTone = (frame: Int16Array): boolean => {
  thin(frame)
  const power = fillEquations()
  return power - explainedPower() < residualShare * power
}
