/**
 * Joins what the channels of one audio stream have dealt with into what the stream has: a frame is consumed when every
 * channel that still wants audio has taken its sample. Tells the difference each time there is one.
 */
export const slowestChannel = (
  channels: number,
  consumed: (frameCount: number) => void,
): ((channel: number, sampleCount: number) => void) => {
  const taken = new Array<number>(channels).fill(0)
  let told = 0
  return (channel, sampleCount) => {
    taken[channel] = (taken[channel] ?? 0) + sampleCount
    const least = Math.min(...taken)
    if (least <= told) return
    const more = least - told
    told = least
    consumed(more)
  }
}
