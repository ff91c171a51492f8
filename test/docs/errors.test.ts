import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { codesWith, errorTable, isErrorCode, type ErrorRow } from '../../src/errors/error-table.js'

const document = readFileSync(join(__dirname, '../../docs/ERRORS.md'), 'utf8')

/** The names of the gRPC status codes, by their numbers. */
const grpcStatusNames = [
  ...['OK', 'CANCELLED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND', 'ALREADY_EXISTS'],
  ...['PERMISSION_DENIED', 'RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION', 'ABORTED', 'OUT_OF_RANGE', 'UNIMPLEMENTED'],
  ...['INTERNAL', 'UNAVAILABLE', 'DATA_LOSS', 'UNAUTHENTICATED'],
]

/** A row as the page must write it, in the order of its columns. */
const writtenRow = ([code, { closeCode, grpcStatus, retryable, traits, help }]: readonly [string, ErrorRow]) => [
  `\`${code}\``,
  String(closeCode),
  `${String(grpcStatus)} ${String(grpcStatusNames[grpcStatus])}`,
  retryable ? 'yes' : 'no',
  traits.includes('failover') ? 'yes' : 'no',
  help,
]

/** The rows of every table of the page whose first cell is a code. */
const rowsOf = (markdown: string): readonly (readonly string[])[] =>
  markdown
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()))

const codesIn = (text: string): readonly string[] =>
  [...text.matchAll(/`([a-z-]+)`/g)].map(([, code = '']) => code).filter(isErrorCode)

describe('docs/ERRORS.md', () => {
  it('has every row of the error table, in its order, and no other', () => {
    expect(rowsOf(document)).toEqual(Object.entries(errorTable).map(writtenRow))
  })

  it('uses the same column names in its tables', () => {
    const header = /^\| Code +\| Close code +\| gRPC status +\| Retryable +\| Failover +\| What to do +\|$/gm
    const tables = document.match(/^\| ?-[-| ]+\|$/gm) ?? []
    expect(tables.length).toBeGreaterThan(0)
    expect(document.match(header)).toHaveLength(tables.length)
  })

  it('names the temporary errors, and those that clients of a service get', () => {
    const [, first = ''] = /retried only after a temporary error: ([^.]*)\./.exec(document) ?? []
    expect(codesIn(first)).toEqual([...codesWith('temporary')])
    const [, second = ''] = /Clients of the service get ([^;]*);/.exec(document) ?? []
    const sections = [...second.matchAll(/\[([^\]]+)\]/g)].map(([, title]) => title ?? '')
    const named = sections.flatMap((title) => codesIn(document.split(`\n## ${title}`)[1]?.split('\n## ')[0] ?? ''))
    // An error of the service without its own code is `internal`.
    expect([...codesIn(second), ...named].sort()).toEqual([...codesWith('for-clients'), 'internal'].sort())
  })

  it('names no code in its text that is missing in the table', () => {
    const named = [...document.matchAll(/case '([a-z-]+)'|code === '([a-z-]+)'/g)].map(
      ([, first, second]) => first ?? second,
    )
    expect(named.length).toBeGreaterThan(0)
    for (const code of named) expect(Object.keys(errorTable)).toContain(code)
  })
})
