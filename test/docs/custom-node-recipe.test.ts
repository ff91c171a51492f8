import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, commandsOf, filesOf } from './markdown.js'
import { openReaderFolder, readerTimeoutMs, type ReaderFolder } from './reader-folder.js'
import { checkout, startProgram, type RunningProgram } from './run-program.js'

const blocks = blocksOf(readFileSync(join(checkout, 'docs/recipes/custom-node.md'), 'utf8'))
const commands = commandsOf(blocks)

let recipe: ReaderFolder
let server: RunningProgram | undefined

beforeAll(() => {
  recipe = openReaderFolder()
})
afterAll(async () => {
  await server?.stop()
  recipe.remove()
})

describe('docs/recipes/custom-node.md', { timeout: readerTimeoutMs }, () => {
  it('states the name of each of its files', () => {
    const named = filesOf(blocks)
    expect(named.map(([name]) => name)).toEqual(['pace-of-speech.mjs', 'projects/Default/paced/1.yaml'])
    expect(blocks.map(({ language }) => language).filter((language) => language !== 'sh')).toEqual(['js', 'yaml'])
    for (const [name, text] of named) recipe.write(name, text)
  })

  it('checks the project together with the node, and draws both', async () => {
    const { exitCode, stdout } = await recipe.shell(commands[0])
    expect({ exitCode, stdout }).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('pace-of-speech') as unknown,
    })
    const without = await recipe.shell((commands[0] ?? '').replace(/ --nodes.*/, ''))
    expect(without).toMatchObject({ exitCode: 3, stdout: expect.stringContaining('pace-of-speech') as unknown })
  })

  it('runs a session through the node', async () => {
    const [, serve = '', transcribe = ''] = commands
    server = startProgram('bash', ['-c', `exec ${serve.replace(/ &$/, '')}`], { cwd: recipe.path, env: recipe.env })
    const file = join(recipe.path, 'service.json')
    await expect.poll(() => readFileSync(file, 'utf8')).toMatch(/^\{.*\}\n$/)
    const { exitCode, stdout, stderr } = await recipe.shell(transcribe)
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('32.8 s of audio') as unknown,
    })
    const paces = stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { readonly data: { readonly WordsPerMinute: number } }).data.WordsPerMinute)
    expect(paces.length).toBeGreaterThan(10)
    for (const pace of paces) expect(pace).toSatisfy((value: number) => value > 20 && value < 400)
  })
})
