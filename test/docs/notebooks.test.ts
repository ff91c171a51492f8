import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openReaderFolder, type ReaderFolder } from './reader-folder.js'
import { checkout, maxLingerMs, runTypeScript } from './run-program.js'
import { first } from '../thorough.js'

const folder = join(checkout, 'docs/notebooks')
const notebooks = readdirSync(folder).filter((name) => name.endsWith('.ts'))

/** The expected output, by the title of the section. */
const seen: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'first-session.ts': {
    '1. What is in the file': ['ulaw, 8000 Hz, 2 channels, 32.781 s'],
    '3. A service': ['model call at ws://localhost'],
    '4. A session': [
      '[authorizing]',
      'recognize was answered: Success',
      'partial    good evening harbor grill',
      'milestone  good evening harbor grill how can i help you',
      'final      good evening harbor grill how can i help you',
      '[done]',
    ],
    '5. Partials, milestones and the final': ['equal:      true'],
    '6. The text to show': ["committed: 'good evening harbor grill how can i help you'"],
    '7. Errors have codes': ['the model "greek" gives model-denied'],
  },
  'stereo-call.ts': {
    '1. Stereo samples alternate': ['262251 samples on the left, 262251 on the right'],
    '2. Who speaks when': ['restaurant  .####', 'guest  .......#####'],
    '3. Two microphones make one stream': ['joined again, the bytes are those of the file: true'],
    '4. One gRPC session for both channels': ['14 milestone, ', ' ledger, 2 final'],
    '5. Who said what': ['restaurant  of course which day would you like', 'guest  thank you goodbye'],
    '6. The text that was spoken': ['14 of 14 turns are exact'],
    '7. The same over a WebSocket': ['milestones equal to those of gRPC, times and channels too: true'],
    '8. Two channels of text': ['restaurant (confidence 0.', 'guest (confidence 0.'],
  },
  'operator-marbles.ts': {
    '1. chunk: pieces of equal length': ['microphone  ---o--o--(o|)', 'chunk       ---(oo)o-(oooo|)'],
    '2. pace: a file in real time': [
      'file        (o|)',
      'pace        o-o-o-o-o-o-o-o-o-o-|',
      'speed 2     oooooooooo|',
    ],
    '3. interleave: two channels, one of them late': ['right       ooo------------|', 'filled channel 1: 60 to 80 ms'],
    '4. A service that is a marble diagram': [
      'session     (sss)(rs)p-p--m----u--(gls#)',
      'transcript  --------c--c--C-------#',
    ],
    '5. What an app says: a phrase, and the state of the session': [
      'spot        -----------l--f-------#',
      'state       (ic)-l----------------(le|)',
    ],
  },
}

/** The printed sections by their titles. */
const sectionsOf = (stdout: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    stdout
      .split('\n== ')
      .slice(1)
      .map((section) => [section.slice(0, section.indexOf('\n')), section.slice(section.indexOf('\n') + 1)]),
  )

/** The files that each program finds as in the checkout. */
let reader: ReaderFolder
beforeAll(() => {
  reader = openReaderFolder()
  for (const name of ['tsconfig.json', 'tsconfig.base.json']) {
    reader.write(name, readFileSync(join(checkout, name), 'utf8'))
  }
  for (const name of notebooks) reader.write(`docs/notebooks/${name}`, readFileSync(join(folder, name), 'utf8'))
})
afterAll(() => reader.remove())

describe('docs/notebooks', () => {
  it('has at least three notebooks, each with its expectations here', () => {
    expect(notebooks.length).toBeGreaterThanOrEqual(3)
    expect(notebooks.toSorted()).toEqual(Object.keys(seen).toSorted())
  })

  it.each(first(1, notebooks))('prints every section of %s, and exits soon after', async (name) => {
    const { exitCode, stdout, stderr, lingeredMs } = await runTypeScript(`docs/notebooks/${name}`, {
      cwd: reader.path,
    })
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(lingeredMs).toBeLessThan(maxLingerMs)
    const sections = sectionsOf(stdout)
    expect(Object.keys(sections)).toEqual(expect.arrayContaining(Object.keys(seen[name] ?? {})))
    for (const [title, lines] of Object.entries(seen[name] ?? {})) {
      for (const line of lines) expect(sections[title], title).toContain(line)
    }
  })

  it.each(notebooks)('explains at the top of %s how to run it, and imports the package by its name', (name) => {
    const text = readFileSync(join(folder, name), 'utf8')
    expect(text).toContain(`npx ts-node docs/notebooks/${name}`)
    expect(text).not.toMatch(/from '\.\.?\//)
    expect(text).toMatch(/from 'rxspeech'/)
  })
})
