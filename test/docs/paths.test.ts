import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(__dirname, '../..')
const pages = ['README.md', 'docs', 'docs/recipes'].flatMap((path) =>
  path.endsWith('.md')
    ? [path]
    : readdirSync(join(root, path))
        .filter((name) => name.endsWith('.md'))
        .map((name) => `${path}/${name}`),
)

/** The paths of this repository that a page names, also in a command such as `node bench/run.mjs`. */
const pathsIn = (page: string): readonly string[] => {
  const text = readFileSync(join(root, page), 'utf8')
  const named = text.matchAll(
    /`(?:node )?((?:src|packages|proto|samples|scripts|test|docs|bench|\.ci)(?:\/[\w./-]+)?)(?: [^`\n]*)?`/g,
  )
  const linked = text.matchAll(/\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)/g)
  return [...[...named].map(([, path = '']) => path), ...[...linked].map(([, path = '']) => join(dirname(page), path))]
}

describe('the pages', () => {
  it.each(pages)('name only paths that exist: %s', (page) => {
    expect(pathsIn(page).filter((path) => !existsSync(join(root, path)))).toEqual([])
  })

  it('name enough of them for this test to mean something', () => {
    expect(pages.length).toBeGreaterThan(25)
    expect(pathsIn('docs/ARCHITECTURE.md').length).toBeGreaterThan(60)
    expect(pathsIn('docs/ACCURACY.md')).toContain('bench/accuracy/rejection.mjs')
  })
})
