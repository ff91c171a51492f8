import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf } from './markdown.js'
import { openReaderFolder, readerTimeoutMs, type ReaderFolder } from './reader-folder.js'
import { checkout, maxLingerMs } from './run-program.js'

const programs = blocksOf(readFileSync(join(checkout, 'docs/recipes/apps.md'), 'utf8')).map(({ text }) => text)
const nameOf = (program: string): string => /^\/\/ (\S+\.mjs): /.exec(program)?.[1] ?? ''

const greeting = 'good evening harbor grill how can i help you'
/** What each program prints, in this order. */
const prints: Readonly<Record<string, RegExp>> = {
  'meeting.mjs': new RegExp(`^line 1 of 1, Agent: ${greeting}$[^]*^line \\d+ of 14, \\w+: .*goodbye$`, 'm'),
  'agent-assist.mjs':
    /^\[idle\]\n\[connecting\]\n\[live\]\n"book a table": Ask.*\n[^]*"thank you": Wish.*\n[^]*\[ended\]\n$/,
  'pad.mjs': new RegExp(
    `^idle: \n[^]*^live: {2}\\[good evening\\]$[^]*^live: ${greeting}$[^]*^ended: ${greeting} of`,
    'm',
  ),
}

let folder: ReaderFolder
beforeAll(() => {
  folder = openReaderFolder()
})
afterAll(() => folder.remove())

describe('docs/recipes/apps.md', { timeout: readerTimeoutMs }, () => {
  it('has programs of at most 60 lines, each with its expectation here', () => {
    expect(programs.map(nameOf).toSorted()).toEqual(Object.keys(prints).toSorted())
    expect(programs.filter((program) => program.split('\n').length > 60)).toEqual([])
  })

  it.each(Object.entries(prints))('has %s, which prints what it says, and exits soon after', async (name, pattern) => {
    folder.write(name, programs.find((program) => nameOf(program) === name) ?? '')
    const { exitCode, stdout, stderr, lingeredMs } = await folder.shell(`exec node ${name}`)
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(stdout).toMatch(pattern)
    expect(lingeredMs).toBeLessThan(maxLingerMs)
    if (name !== 'meeting.mjs') return
    const file = readFileSync(join(folder.path, 'meeting.vtt'), 'utf8')
    expect(file).toMatch(/^WEBVTT\n\n(?:\d+\n[\d:.]{12} --> [\d:.]{12}\n(?:.+\n)+\n)+$/)
    expect(file).toContain('<v Guest>thank you goodbye\n')
  })
})
