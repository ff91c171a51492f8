import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(__dirname, '../..')
const page = readFileSync(join(root, 'docs/PROTOCOL.md'), 'utf8')
const sections = new Set([...page.matchAll(/^(?:#+ |\*\*)(\d+(?:\.\d+)?)\.? /gm)].map(([, section]) => section))

const texts = ['src', 'test', 'packages', 'bench', 'scripts', 'samples', 'docs']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  .filter(
    (file) =>
      /\.(?:ts|mts|mjs|py|cc|md)$/.test(file) &&
      !/\/(?:dist|node_modules)\//.test(file) &&
      file !== 'test/docs/citations.test.ts',
  )
  .map((file) => [file, readFileSync(join(root, file), 'utf8')] as const)

const matches = (pattern: RegExp): readonly (readonly [file: string, found: string])[] =>
  texts.flatMap(([file, text]) => [...text.matchAll(pattern)].map(([, found = '']) => [file, found] as const))

describe('citations of PROTOCOL', () => {
  it('name sections that exist', () => {
    const cited = matches(/\bPROTOCOL (\d+(?:\.\d+)?)\b/g)
    expect(sections.size).toBeGreaterThan(30)
    expect(cited.length).toBeGreaterThan(100)
    expect(cited.filter(([, section]) => !sections.has(section))).toEqual([])
  })

  it('have the form "PROTOCOL 4.2"', () => {
    const otherForms = /((?:docs\/PROTOCOL(?:\.md)?|PROTOCOL\.md)(?:,|,? section)? \d+|PROTOCOL(?:,|,? section) \d+)/g
    expect(matches(otherForms)).toEqual([])
  })

  it('are the only ones of the contract: users have no other description of it', () => {
    expect(matches(/\b((?:service|decisions|vad)\.md)\b/g)).toEqual([])
  })
})
