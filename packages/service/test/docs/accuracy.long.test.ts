import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(__dirname, '../../../..')
const page = readFileSync(join(root, 'docs/ACCURACY.md'), 'utf8')

/** The sections of a report by their headings. */
const sectionsOf = (text: string): ReadonlyMap<string, string> =>
  new Map(
    text
      .split(/^(?=## )/m)
      .filter((section) => section.startsWith('## '))
      .map((section) => [section.slice(3, section.indexOf('\n')), section]),
  )

/** What stays the same from run to run: the prose, and the heads of the tables. */
const formOf = (section = ''): readonly string[] =>
  section.split('\n').filter((line, at, lines) => {
    if (line === '' || line.startsWith('Measured with ')) return false
    return !line.startsWith('|') || lines[at + 1]?.startsWith('| ---') === true
  })

const rowsOf = (section = ''): readonly (readonly string[])[] =>
  section
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )

const report = (...args: readonly string[]): Promise<{ readonly stdout: string; readonly code: number | null }> =>
  new Promise((resolve) => {
    const child = execFile(process.execPath, ['bench/accuracy.mjs', ...args], { cwd: root }, (_error, stdout) =>
      resolve({ stdout, code: child.exitCode }),
    )
  })

describe('npm run accuracy', () => {
  // It decodes the sample call three times, in a process of its own that shares its cores with other tests.
  it(
    'reads the sample call by the engine alone and by a service over both transports',
    { timeout: 600_000 },
    async () => {
      const { stdout, code } = await report('words', '--quick')
      const words = sectionsOf(stdout).get('Words')
      expect(formOf(words)).toEqual(formOf(sectionsOf(page).get('Words')))
      const [speech, line, count, ...cells] = rowsOf(words).find(([first]) => first === 'sample call') ?? []
      expect([speech, line, count]).toEqual(['sample call', 'clean', '86'])
      const right = cells.slice(0, 3).map((cell) => Number.parseInt(cell, 10))
      // All of them; a machine that is busy for more than a second can have the service cut a segment.
      expect(right[0]).toBe(86)
      expect(Math.min(...right)).toBeGreaterThanOrEqual(80)
      expect(code).toBe(Number(cells[3]) > 1 ? 1 : 0)
      expect(rowsOf(words).filter(([first]) => first === 'clean')).toEqual(
        ['WebSocket', 'gRPC'].map((transport) => {
          const figures = Array.from({ length: 3 }, () => expect.stringMatching(/^\d+$/) as string)
          return ['clean', transport, '14', ...figures, expect.stringMatching(/^-?\d+ \/ \d+$/)]
        }),
      )
    },
  )

  it('refuses a section that it does not have', async () => {
    expect(await report('word')).toMatchObject({ stdout: '', code: 2 })
  })
})

describe('docs/ACCURACY.md', () => {
  it('has all sections of the report, with what each was measured with', () => {
    const sections = sectionsOf(page)
    expect([...sections.keys()]).toEqual([
      'Words',
      'Delays at the pace of speech',
      'Rejection and confidence',
      'Shifts and levels',
      'Voice activity',
      'Any English speech',
      'Voice activity of free speech',
      'Sound check',
    ])
    for (const section of sections.values()) {
      expect(section).toMatch(
        /^Measured with Node \d+\.\d+\.\d+, rxspeech \S+, soundswallower \S+, flite \S+, espeak-ng \S+\.$/m,
      )
    }
  })

  it('has figures in all cells, for every line and both transports', () => {
    const words = rowsOf(sectionsOf(page).get('Words'))
    for (const line of ['clean', 'without noise', 'white noise', 'pink noise']) {
      expect(words.filter(([, second]) => second === line).length).toBeGreaterThan(5)
      expect(words.filter(([first]) => first === line).map(([, transport]) => transport)).toEqual(['WebSocket', 'gRPC'])
    }
    expect(page).not.toMatch(/NaN|undefined|\/work\/|\| *\|/)
  })
})
