import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openReaderFolder, type ReaderFolder } from './reader-folder.js'
import { checkout, maxLingerMs, runTypeScript } from './run-program.js'
import { first } from '../thorough.js'

const folder = join(checkout, 'docs/recipes')
const recipes = readdirSync(folder).filter((name) => name.endsWith('.ts'))

/** The output of each recipe, line by line; for the captions, its end. */
const printed: Readonly<Record<string, string>> = {
  'captions.ts': 'four two we will see you on friday',
  'fresh-token.ts': `day   0  requested token 1
day   0  first session has token 1
day   0  second session has token 1
day 100  requested token 2
day 100  first session has token 2
day 100  second session has token 2
day 464  requested token 3
day 464  first session has token 3
day 464  second session has token 3
3 requests in 500 days`,
  'test-your-app.ts': `passed: shows the text as it grows
passed: tries again when the connection breaks
passed: gives up on a refusal
passed: tries again when the service does not answer`,
}

/** The files that each program finds as in the checkout. */
let reader: ReaderFolder
beforeAll(() => {
  reader = openReaderFolder()
  for (const name of ['tsconfig.json', 'tsconfig.base.json']) {
    reader.write(name, readFileSync(join(checkout, name), 'utf8'))
  }
  for (const name of recipes) reader.write(`docs/recipes/${name}`, readFileSync(join(folder, name), 'utf8'))
})
afterAll(() => reader.remove())

describe('docs/recipes', () => {
  it('has its expectation here for each recipe', () => {
    expect(recipes.toSorted()).toEqual(Object.keys(printed).toSorted())
  })

  // The first of them plays a call.
  it.each(first(1, recipes.toReversed()))('prints the result of %s, and exits soon after', async (name) => {
    const { exitCode, stdout, stderr, lingeredMs } = await runTypeScript(`docs/recipes/${name}`, {
      cwd: reader.path,
    })
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(lingeredMs).toBeLessThan(maxLingerMs)
    const lines = stdout.trimEnd().split('\n')
    const expected = printed[name]?.split('\n') ?? []
    if (name === 'captions.ts') {
      expect(lines.filter((line) => line.length > 40)).toEqual([])
      expect(lines.slice(-2).join(' ')).toContain(expected.join('\n'))
    } else expect(lines).toEqual(expected)
  })

  it.each(recipes)('explains at the top of %s how to run it', (name) => {
    expect(readFileSync(join(folder, name), 'utf8')).toContain(`npx ts-node docs/recipes/${name}`)
  })
})
