/** The greatest value of the noise in steps of a sample. It is white, at -60 dBFS. */
const peak = 54
const length = 16_384

/** Of a linear congruential generator, so that equal segments have equal results. */
const noise = ((): Int16Array => {
  let state = 1
  return Int16Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.round(peak * (state / 2 ** 31 - 1))
  })
})()

/**
 * The samples of a segment with the noise of a quiet line; `from` is the position of the first one in the segment. The acoustic
 * models know speech on lines with noise: without any, as from synthetic voices and where a line sends zeros in pauses, right
 * sentences fit badly.
 */
export const withComfortNoise = (samples: Int16Array, from: number): Int16Array =>
  samples.map((sample, at) => Math.max(-32_768, Math.min(32_767, sample + (noise[(from + at) % length] ?? 0))))
