/** Two filters of the first order, one after the other, take away what lies below about this. */
const cornerHz = 50
const fullScalePower = 2 ** 30

/**
 * How loud the frames of one channel are, in dB of full scale, without what lies below speech: an offset of the line, the
 * rumble of wind and traffic. In 10 ms there is too little of a rumble for its level to be steady, so it would not pass
 * for noise.
 */
export class SoundLevel {
  private readonly share: number
  private first = 0
  private second = 0
  private begun = false

  constructor(sampleRateHz: number) {
    this.share = 1 - Math.exp((-2 * Math.PI * cornerHz) / sampleRateHz)
  }

  of(frame: Int16Array): number {
    const { share } = this
    const { length } = frame
    // An offset that is there from the first sample on is no step.
    let first = this.begun ? this.first : (frame[0] ?? 0)
    let { second } = this
    let squares = 0
    // By index: for-of costs three times as much, and this runs for every sample.
    for (let index = 0; index < length; index += 1) {
      const sample = frame[index] ?? 0
      first += share * (sample - first)
      const once = sample - first
      second += share * (once - second)
      squares += (once - second) ** 2
    }
    this.begun = true
    this.first = first
    this.second = second
    return 10 * Math.log10(squares / length / fullScalePower + 1e-12)
  }
}
