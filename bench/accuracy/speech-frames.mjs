// Where speech is in a recording without noise, and quiet rooms around it.
import { randomSource, rateHz } from './noises.mjs'

export const hop = rateHz / 100

/** Frame by frame, by level: within 30 dB of the loud frames of the recording. */
export const speechFrames = (samples) => {
  const levels = []
  for (let at = 0; at + hop <= samples.length; at += hop) {
    let power = 0
    let mean = 0
    for (let index = at; index < at + hop; index += 1) mean += samples[index] / hop
    for (let index = at; index < at + hop; index += 1) power += (samples[index] - mean) ** 2
    levels.push(10 * Math.log10(power / hop + 1))
  }
  const loud = levels.toSorted((a, b) => a - b)[Math.floor(0.95 * levels.length)]
  return levels.map((level) => level > loud - 30)
}

export const quietRoom = (seconds, seed) => {
  const random = randomSource(seed)
  return Int16Array.from({ length: Math.round(seconds * rateHz) }, () => Math.round(26 * (random() - 0.5)))
}

export const joined = (...parts) => {
  const whole = new Int16Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
