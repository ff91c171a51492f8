/** Numbers from 0 to 1, the same for the same seed: xorshift with 32 bits, good enough for jitter. */
export const seededRandom = (seed: number): (() => number) => {
  let state = (Math.imul(seed | 0, 0x9e37_79b1) ^ 0x6d2b_79f5) | 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 0x1_0000_0000
  }
}
