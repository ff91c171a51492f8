import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { fieldRows } from '../../src/openai-transcriptions/options.js'

it('docs/DIALECTS.md lists every field of the form, and nothing else', () => {
  const page = readFileSync('docs/DIALECTS.md', 'utf8')
  const [, table = ''] = /\| Field \| Supported \|\n\| --- \| --- \|\n((?:\|.*\n)+)/.exec(page) ?? []
  const rows = Object.entries(fieldRows).map(([name, { support }]) => `| \`${name}\` | ${support} |\n`)
  expect(table).toBe(rows.join(''))
})
