import { describe, expect, it } from 'vitest'
import { openRecipe, readerTimeoutMs } from './reader-folder.js'
import { longIt } from '../thorough.js'

const recipe = openRecipe('fault-scripts')

// Concurrently, because two of the programs mostly wait, and an hour of virtual time takes 6 s.
describe.concurrent('docs/recipes/fault-scripts.md', { timeout: readerTimeoutMs }, () => {
  it('has a program for each of its commands', () => {
    expect(recipe.blocks.map(({ language }) => language)).toEqual(['js', 'sh', 'js', 'sh'])
  })

  it('loses no audio in an outage, as the verifying service reports', async () => {
    const { exitCode, stdout, stderr } = await recipe.shell(recipe.commands[0])
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    const lines = stdout.trimEnd().split('\n')
    expect(lines.filter((line) => line === 'reconnecting').length).toBeGreaterThan(0)
    expect(lines.filter((line) => line !== 'reconnecting')).toEqual([
      'resumed',
      'done',
      '0 ms never arrived, 0 ms got no result',
      'more than one connection: true',
      'the text is whole: true',
    ])
  })

  longIt('runs an hour with a reset and an outage in virtual time', async () => {
    const { exitCode, stdout, stderr } = await recipe.shell(recipe.commands[1])
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: 0,
      stdout: 'resumed resumed done\nthe text of an hour is whole: true\n',
      stderr: '',
    })
  })
})
