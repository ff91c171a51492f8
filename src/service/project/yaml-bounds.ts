/** Characters of a file that may begin or end a part of it: lines, items, keys, quotes. Reading takes time for each. */
export const maxYamlMarks = 20_000

/** Why a text is not read at all; undefined where it is. It is looked at before the parser sees it. */
export const tooManyMarks = (text: string): string | undefined => {
  let count = 0
  for (const _mark of text.matchAll(/[\n,:[{"']/g)) {
    count += 1
    if (count > maxYamlMarks) return `more than ${maxYamlMarks} lines, items, keys and quotes together`
  }
  return undefined
}

/** As many faults of a file are reported; of the others only how many there are. */
export const maxReportedFaults = 50
