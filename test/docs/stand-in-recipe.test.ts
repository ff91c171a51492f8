import { describe, expect, it } from 'vitest'
import { openRecipe, readerTimeoutMs } from './reader-folder.js'

const recipe = openRecipe('stand-in')

describe('docs/recipes/stand-in.md', { timeout: readerTimeoutMs }, () => {
  it('answers a request with the script, and proves which samples arrived', async () => {
    const { exitCode, stdout, stderr } = await recipe.shell(recipe.commands[0])
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: 0,
      stdout: 'seven of clubs nine of hearts\n48000 samples arrived\nthe first second is what was sent: true\n',
      stderr: '',
    })
  })
})
