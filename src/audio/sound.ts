/** Sound of one channel that is known beforehand. */
export interface Sound {
  readonly frameCount: number
  /** Samples of the frames from `from` on, as many as there are, at most `count`. */
  readonly samples: (from: number, count: number) => Int16Array
}
