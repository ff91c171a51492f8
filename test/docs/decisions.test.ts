import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { errorTable } from '../../src/errors/error-table.js'

const page = readFileSync(join(__dirname, '../../docs/DECISIONS.md'), 'utf8')
const entries = page.split('\n### ').slice(1)

describe('docs/DECISIONS.md', () => {
  it('numbers its entries without a gap', () => {
    expect(entries.length).toBeGreaterThan(20)
    expect(entries.map((entry) => Number.parseInt(entry, 10))).toEqual(entries.map((_entry, at) => at + 1))
  })

  it.each(entries.map((entry) => [entry.slice(0, entry.indexOf('\n')), entry] as const))(
    'gives context, decision and consequence of "%s", each once and in this order',
    (_title, entry) => {
      const parts = [...entry.matchAll(/^- \*\*(\w+)\.\*\* \S/gm)].map(([, part]) => part)
      expect(parts).toEqual(['Context', 'Decision', 'Consequence'])
    },
  )

  it('names errors that exist', () => {
    const named = [
      'empty-audio',
      'cut-sample',
      'invalid-field',
      'engine-failed',
      'missing-dependency',
      'connection-lost',
    ]
    for (const code of named) {
      expect(page).toContain(`\`${code}\``)
      expect(Object.keys(errorTable)).toContain(code)
    }
  })
})
