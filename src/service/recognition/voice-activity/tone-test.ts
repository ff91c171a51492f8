const order = 4
/** The frame is brought to this many samples (8 kHz), so that the test means the same at every rate. */
const points = 80
const longestFrame = 480

/** Products of the frame with itself, shifted by row and by column; one set, as every call ends before the next. */
const size = order + 1
const products = new Float64Array(size * size)
const solution = new Float64Array(order)
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

/**
 * `products[i, j]` is the sum of x[t − i]·x[t − j]. Only the first column is summed; a step down the diagonal changes a
 * sum by one product at either end. Rows and columns 1 to 4 are the equations of the predictor, column 0 their right side.
 */
const fillProducts = (): void => {
  for (let shift = 0; shift < size; shift += 1) {
    let sum = 0
    for (let now = order; now < points; now += 1) sum += at(thinned, now) * at(thinned, now - shift)
    products[shift * size] = sum
  }
  for (let row = 1; row < size; row += 1) {
    for (let column = 1; column <= row; column += 1) {
      const first = at(thinned, order - row) * at(thinned, order - column)
      const last = at(thinned, points - row) * at(thinned, points - column)
      products[row * size + column] = at(products, (row - 1) * size + column - 1) + first - last
    }
  }
}

/** The power that the best predictor explains, by Cholesky's decomposition in place. */
const explainedPower = (): number => {
  // A little noise keeps the equations of a single sine, which are singular, solvable.
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
 * The share of a frame's power, 10 ms, that a predictor of order 4 does not explain, 0 to 1; 1 for digital silence. One
 * sine or two (dial, ringing, busy and hold tones, hum) are told in advance by four samples of the past: through G.711
 * they leave 0.004 when they are loud and 0.01 when they are soft. Speech leaves more, though a sonorant comes down to
 * that for up to 250 ms.
 */
export const unpredictedShare = (frame: Int16Array): number => {
  thin(frame)
  fillProducts()
  const power = at(products, 0)
  return power > 0 ? Math.max(0, power - explainedPower()) / power : 1
}
