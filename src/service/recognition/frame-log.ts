/** A stretch of frames without speech, `[from, to)` in frame numbers. */
export interface Gap {
  readonly from: number
  readonly to: number
}

/** Loudness and verdict of the newest frames of one channel, by frame number: what a forced cut is chosen from. */
export class FrameLog {
  private readonly power: Float32Array
  private readonly speech: Uint8Array
  private count: number

  /** `firstFrame` is the number of the first frame that it will be given. */
  constructor(
    capacityFrames: number,
    private readonly firstFrame = 0,
  ) {
    this.count = firstFrame
    this.power = new Float32Array(capacityFrames)
    this.speech = new Uint8Array(capacityFrames)
  }

  push(speech: boolean, frame: Int16Array): void {
    const slot = this.count % this.power.length
    this.power[slot] = meanPower(frame)
    this.speech[slot] = speech ? 1 : 0
    this.count += 1
  }

  /** The number of the quietest frame of `[from, now)`; of equals the newest, so that a steady sound is cut as late as can be. */
  quietestFrame(from: number): number {
    let quietest = this.count - 1
    for (let frame = quietest - 1; frame >= this.oldestFrom(from); frame -= 1) {
      if (this.powerOf(frame) < this.powerOf(quietest)) quietest = frame
    }
    return quietest
  }

  /** The gap of `[from, now)` of at least `minFrames` whose mean power is lowest (of equals the newest), or none. */
  quietestGap(from: number, minFrames: number): Gap | undefined {
    let best: (Gap & { readonly meanPower: number }) | undefined
    let gapFrom = this.oldestFrom(from)
    let total = 0
    for (let frame = gapFrom; frame <= this.count; frame += 1) {
      if (frame < this.count && !this.isSpeech(frame)) {
        total += this.powerOf(frame)
        continue
      }
      const length = frame - gapFrom
      const mean = total / length
      if (length >= minFrames && (best === undefined || mean <= best.meanPower)) {
        best = { from: gapFrom, to: frame, meanPower: mean }
      }
      gapFrom = frame + 1
      total = 0
    }
    return best
  }

  private oldestFrom(from: number): number {
    return Math.max(from, this.count - this.power.length, this.firstFrame)
  }

  private powerOf(frame: number): number {
    return this.power[frame % this.power.length] ?? 0
  }

  private isSpeech(frame: number): boolean {
    return this.speech[frame % this.speech.length] === 1
  }
}

/** The mean square of the samples; 2^30 is full scale. */
export const meanPower = (frame: Int16Array): number => {
  let sum = 0
  // By index: for-of costs three times as much, and this runs for every sample.
  const { length } = frame
  for (let index = 0; index < length; index += 1) sum += (frame[index] ?? 0) ** 2
  return length === 0 ? 0 : sum / length
}
