import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, commandsOf, filesOf } from '../../../../test/docs/markdown.js'
import { openReaderFolder, readerTimeoutMs, type ReaderFolder } from '../../../../test/docs/reader-folder.js'
import { checkout, startProgram, type RunningProgram } from '../../../../test/docs/run-program.js'

const blocks = blocksOf(readFileSync(join(checkout, 'docs/recipes/custom-node.md'), 'utf8'))
const commands = commandsOf(blocks)

let recipe: ReaderFolder
let server: RunningProgram | undefined

beforeAll(() => {
  recipe = openReaderFolder(['typescript', '@types/node'])
  mkdirSync(join(recipe.path, 'node_modules/.bin'))
  symlinkSync('../typescript/bin/tsc', join(recipe.path, 'node_modules/.bin/tsc'))
})
afterAll(async () => {
  await server?.stop()
  recipe.remove()
})

describe('docs/recipes/custom-node.md', { timeout: readerTimeoutMs }, () => {
  it('states the name of each of its files', () => {
    const named = filesOf(blocks)
    expect(named.map(([name]) => name)).toEqual(['pace-of-speech.mts', 'projects/Default/paced/1.yaml'])
    expect(blocks.map(({ language }) => language).filter((language) => language !== 'sh')).toEqual(['ts', 'yaml'])
    for (const [name, text] of named) recipe.write(name, text)
  })

  it('compiles the node', async () => {
    const { exitCode, stdout } = await recipe.shell(commands[0])
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '' })
  })

  it('does not compile a node that emits audio, which it has no port for', async () => {
    const [, text = ''] = filesOf(blocks)[0] ?? []
    const wrong = text.replace("{ type: 'event', event }", "{ type: 'audio', bytes: new Uint8Array(2) }")
    expect(wrong).not.toBe(text)
    recipe.write('wrong.mts', wrong)
    const { exitCode, stdout } = await recipe.shell((commands[0] ?? '').replace('pace-of-speech', 'wrong'))
    expect([exitCode, stdout]).toEqual([2, expect.stringMatching(/^wrong\.mts\(\d+,\d+\): error TS2\d{3}: /)])
    await recipe.shell('rm wrong.mts wrong.mjs')
  })

  it('checks the project together with the node, and draws both', async () => {
    const { exitCode, stdout } = await recipe.shell(commands[1])
    expect({ exitCode, stdout }).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('pace-of-speech') as unknown,
    })
    const without = await recipe.shell((commands[1] ?? '').replace(/ --nodes.*/, ''))
    expect(without).toMatchObject({ exitCode: 3, stdout: expect.stringContaining('pace-of-speech') as unknown })
  })

  it('runs a session through the node', async () => {
    const [, , serve = '', transcribe = ''] = commands
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
