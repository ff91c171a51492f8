import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, commandsOf, filesOf } from './markdown.js'
import { openReaderFolder, readerTimeoutMs, type ReaderFolder } from './reader-folder.js'
import { checkout } from './run-program.js'

const blocks = blocksOf(readFileSync(join(checkout, 'docs/recipes/stand-in.md'), 'utf8'))
const [command] = commandsOf(blocks)

let recipe: ReaderFolder
beforeAll(() => {
  recipe = openReaderFolder()
  for (const [name, text] of filesOf(blocks)) recipe.write(name, text)
})
afterAll(() => recipe.remove())

describe('docs/recipes/stand-in.md', { timeout: readerTimeoutMs }, () => {
  it('answers a request with the script, and proves which samples arrived', async () => {
    const { exitCode, stdout, stderr } = await recipe.shell(command)
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: 0,
      stdout: 'seven of clubs nine of hearts\n48000 samples arrived\nthe first second is what was sent: true\n',
      stderr: '',
    })
  })
})
