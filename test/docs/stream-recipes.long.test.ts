import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, commandsOf } from './markdown.js'
import { openReaderFolder, readerTimeoutMs, type ReaderFolder } from './reader-folder.js'
import { checkout, maxLingerMs } from './run-program.js'

/** The output of the program of each recipe. */
const recipes: readonly (readonly [name: string, prints: readonly RegExp[]])[] = [
  [
    'captions',
    [
      /^WEBVTT\n\n1\n00:00:00\.\d{3} --> 00:00:0[23]\.\d{3}\n<v Agent>good evening harbor grill how can i\nhelp you\n\n2\n/,
      /^<v Guest>thank you goodbye$/m,
      /^NOTE \d+ words changed, \d+ contradicted$/m,
    ],
  ],
  [
    'metrics',
    [
      /^completed: 32\.8 s of audio, 0 reconnects\n/,
      /^1\d milestones, median \d{1,5} ms after speech, p95 \d{1,5} ms$/m,
    ],
  ],
  [
    'ledger',
    [
      /^session done\n/,
      /^channel 0 captured 32\.\d{3} s = finalized 32\.\d{3} s \+ pending 0\.000 s \+ dropped 0\.000 s\nchannel 1 captured 32\./m,
      /^nothing was dropped\neven\n$/m,
    ],
  ],
  [
    'telephony',
    [
      /^0\.\d s, agent: good evening harbor grill how can i help you$/m,
      /^\d+\.\d s, caller: hello i would like to book a table for four$/m,
      /^\d+\.\d s, caller: thank you goodbye$/m,
    ],
  ],
  ['hosting', [/^http:\/\/127\.0\.0\.1:\d+ ws:\/\/127\.0\.0\.1:\d+ 127\.0\.0\.1:\d+\n$/]],
  [
    'streams',
    [
      /^loop: good evening harbor grill how can i help you\nWeb stream: good evening/,
      /^Node stream: good evening/m,
      /^aborted\nfinalized: good evening.*\nhandle: completed\n$/m,
    ],
  ],
]

let folder: ReaderFolder
beforeAll(() => {
  folder = openReaderFolder(['ws'])
})
afterAll(() => folder.remove())

/** These play the audio at four times real time, which takes 8 s and is mostly waiting: concurrently. */
const paced: readonly string[] = ['metrics', 'ledger', 'telephony']

for (const [name, prints] of recipes) {
  describe(`docs/recipes/${name}.md`, { timeout: readerTimeoutMs, concurrent: paced.includes(name) }, () => {
    const blocks = blocksOf(readFileSync(join(checkout, `docs/recipes/${name}.md`), 'utf8'))

    it('has a program that prints what the page explains, and exits soon after', async () => {
      const [program] = blocks.filter(({ language }) => language === 'js')
      const [, file = ''] = /^\/\/ (\S+\.mjs): /.exec(program?.text ?? '') ?? []
      expect(file).toBe(`${name}.mjs`)
      folder.write(file, program?.text ?? '')
      const ran = await folder.shell(`exec node ${file}`)
      expect({ exitCode: ran.exitCode, stderr: ran.stderr }).toEqual({ exitCode: 0, stderr: '' })
      for (const pattern of prints) expect(ran.stdout).toMatch(pattern)
      expect(ran.lingeredMs).toBeLessThan(maxLingerMs)
    })

    for (const command of commandsOf(blocks)) {
      it(`has a command that runs: ${command}`, async () => {
        const { exitCode, stdout } = await folder.shell(command)
        expect({ exitCode, stdout }).toMatchObject({
          exitCode: 0,
          stdout: expect.stringMatching(/^1\n00:00:00,/) as unknown,
        })
      })
    }
  })
}
