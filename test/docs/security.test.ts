import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tableBelow } from './markdown.js'

const root = join(__dirname, '../..')
const page = readFileSync(join(root, 'docs/SECURITY.md'), 'utf8')
const threats = tableBelow(page, 'Threats')

describe('SECURITY.md', () => {
  it('names a threat, its mitigation and a test in every row, and no threat twice', () => {
    expect(threats.length).toBeGreaterThan(20)
    expect(threats.filter((row) => row.length !== 3 || row.includes(''))).toEqual([])
    expect(new Set(threats.map(([threat]) => threat)).size).toBe(threats.length)
  })

  it.each(threats.map(([threat = '', , test = '']) => [threat, test] as const))(
    'proves "%s" with a test that exists',
    (_threat, test) => {
      const [, file = '', title = ''] = /^`((?:packages\/\w+\/)?test\/[^`]+\.test\.ts)`: (.+)$/.exec(test) ?? []
      expect(existsSync(join(root, file)), test).toBe(true)
      expect(readFileSync(join(root, file), 'utf8')).toContain(title)
    },
  )
})
