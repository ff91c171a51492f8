import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { standInFaults } from '../../../src/testing/stand-in/faults.js'
import { prepareScript, type RecognitionScript } from '../../../../../src/testing/scripted/recognition-script.js'

const page = readFileSync('docs/recipes/stand-in.md', 'utf8')

it('docs/recipes/stand-in.md has every fault of a stand-in, as its help has', () => {
  const [, table = ''] = /\| Fault +\| What happens +\|\n\|[ -]+\|[ -]+\|\n((?:\|.*\n)+)/.exec(page) ?? []
  const rows = table.split('\n').map((row) => row.split('|').map((cell) => cell.trim()))
  expect(rows.filter((row) => row.length > 1).map(([, name, summary]) => [name, summary])).toEqual(
    Object.entries(standInFaults).map(([name, { summary }]) => [`\`${name}\``, summary]),
  )
})

it('docs/recipes/stand-in.md has a valid script', () => {
  const [, json = ''] = /```json\n(.*?)```/s.exec(page) ?? []
  expect(prepareScript(JSON.parse(json) as RecognitionScript).map((steps) => steps.map(({ type }) => type))).toEqual([
    ['utterance', 'failure'],
    ['utterance'],
  ])
})
