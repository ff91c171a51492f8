import { describe, expect, it } from 'vitest'
import { openRecipe, readerTimeoutMs } from './reader-folder.js'
import { maxLingerMs } from './run-program.js'

const recipe = openRecipe('failover')

describe('docs/recipes/failover.md', { timeout: readerTimeoutMs }, () => {
  it('has a program that prints what the page explains, and exits', async () => {
    const command = 'node two-services.mjs'
    expect(recipe.blocks.map(({ text }) => text)).toContain(command)
    const { exitCode, stdout, stderr, lingeredMs } = await recipe.shell(command)
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(lingeredMs).toBeLessThan(maxLingerMs)
    expect(stdout.trimEnd().split('\n')).toEqual([
      'first session: streaming at service 0',
      'first session: connection-lost, next attempt in 0 ms',
      'first session: streaming at service 1',
      'first session: the text is whole: true',
      'second session: streaming at service 1',
      'second session: the text is whole: true',
    ])
  })
})
