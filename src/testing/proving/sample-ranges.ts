/** Samples of the source from one position up to, without, another. */
export interface SampleRange {
  readonly from: number
  readonly to: number
}

/** The same samples in order, each once. */
export const union = (ranges: readonly SampleRange[]): readonly SampleRange[] => {
  const joined: SampleRange[] = []
  for (const range of ranges.filter(({ from, to }) => to > from).toSorted((a, b) => a.from - b.from)) {
    const last = joined.at(-1)
    if (last === undefined || range.from > last.to) joined.push(range)
    else joined[joined.length - 1] = { from: last.from, to: Math.max(last.to, range.to) }
  }
  return joined
}

/** Those of the first that are not among the others. */
export const without = (ranges: readonly SampleRange[], taken: readonly SampleRange[]): readonly SampleRange[] => {
  let left = union(ranges)
  for (const { from, to } of union(taken)) {
    left = left.flatMap((one) =>
      [
        { from: one.from, to: Math.min(one.to, from) },
        { from: Math.max(one.from, to), to: one.to },
      ].filter((part) => part.to > part.from),
    )
  }
  return left
}

export const countSamples = (ranges: readonly SampleRange[]): number =>
  ranges.reduce((sum, { from, to }) => sum + to - from, 0)
