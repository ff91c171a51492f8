/** A fenced block: its language, its text, and the line of the page at which it begins. */
export interface Block {
  readonly language: string
  readonly text: string
  readonly line: number
}

export const blocksOf = (page: string): readonly Block[] => {
  const blocks: Block[] = []
  let open: { language: string; lines: string[]; line: number } | undefined
  for (const [at, text] of page.split('\n').entries()) {
    const fence = /^```(.*)$/.exec(text)
    if (fence === null) open?.lines.push(text)
    else if (open === undefined) open = { language: fence[1] ?? '', lines: [], line: at + 1 }
    else {
      blocks.push({ language: open.language, text: open.lines.join('\n'), line: open.line })
      open = undefined
    }
  }
  if (open !== undefined) throw new Error(`The block of line ${String(open.line)} is not closed.`)
  return blocks
}

/** The commands of a page, block by block. */
export const commandsOf = (blocks: readonly Block[]): readonly string[] =>
  blocks.filter(({ language }) => language === 'sh').map(({ text }) => text)

/** The files of a page: blocks whose first line is a comment with only a file name. */
export const filesOf = (blocks: readonly Block[]): readonly (readonly [name: string, text: string])[] =>
  blocks
    .filter(({ language }) => language !== 'sh')
    .flatMap(({ text }) => {
      const [, name] = /^(?:\/\/|#) (\S+)\n/.exec(text) ?? []
      return name === undefined ? [] : [[name, text] as const]
    })

/** The cells of a row; a pipe in backticks does not separate them. */
const cellsOf = (row: string): readonly string[] =>
  row
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim())

/** The rows of the first table below a heading, without head and rule. */
export const tableBelow = (page: string, heading: string): readonly (readonly string[])[] => {
  const lines = page.split('\n')
  const start = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading)
  if (start === -1) throw new Error(`The page has no heading "${heading}".`)
  const first = lines.findIndex((line, at) => at > start && line.startsWith('|'))
  const next = lines.findIndex((line, at) => at > start && /^#+ /.test(line))
  if (first === -1 || (next !== -1 && next < first)) throw new Error(`There is no table below "${heading}".`)
  const after = lines.findIndex((line, at) => at > first && !line.startsWith('|'))
  return lines.slice(first + 2, after === -1 ? undefined : after).map(cellsOf)
}

/** The text between backticks in a cell, or the complete cell. */
export const named = (cell: string | undefined): string => /`([^`]+)`/.exec(cell ?? '')?.[1] ?? cell ?? ''
