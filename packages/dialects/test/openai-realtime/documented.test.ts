import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { eventRows } from '../../src/openai-realtime/client-event.js'
import { settingRows } from '../../src/openai-realtime/setting-rows.js'

it.each([
  ['Message', eventRows],
  ['Setting', settingRows],
] as const)('docs/DIALECTS.md has the table of every %s of a transcription session', (head, table) => {
  const rows = Object.entries(table).map(([name, { support }]) => `| \`${name}\` | ${support} |\n`)
  expect(readFileSync('docs/DIALECTS.md', 'utf8')).toContain(
    `\n| ${head} | Supported |\n| --- | --- |\n${rows.join('')}\n`,
  )
})
