/** How many times louder `gainDb` decibels make the amplitude. */
export const gainFactor = (gainDb: number): number => 10 ** (gainDb / 20)

/** A 16-bit sample from a number: rounded, and held at full scale instead of wrapping round. */
export const saturated = (value: number): number => Math.round(Math.min(Math.max(value, -32_768), 32_767))

/** The samples times `factor`, in a new array; what would exceed full scale is held there. */
export const amplify = (samples: Int16Array, factor: number): Int16Array => {
  const louder = new Int16Array(samples.length)
  for (let i = 0; i < louder.length; i++) louder[i] = saturated((samples[i] ?? 0) * factor)
  return louder
}
