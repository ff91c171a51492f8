// @ts-check
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { consumerOf } from './pack-context.mjs'
import { runCommand } from './run-command.mjs'

/** @typedef {import('./pack-context.mjs').Check} Check */

const exitWithinMs = 10_000

/**
 * A program that loads one door and writes down what is different afterwards: what keeps the process alive, listeners of
 * the process, global names, variables of the environment.
 *
 * @param {string} load an expression that loads the door
 */
const probe = (load) => `const { writeFileSync } = require('node:fs')
const look = () => ({
  handles: process.getActiveResourcesInfo().filter((kind) => !kind.startsWith('FSReq') && kind !== 'CloseReq').sort(),
  listeners: process.eventNames().map((name) => String(name) + ' ' + process.listenerCount(name)).sort(),
  globals: Object.getOwnPropertyNames(globalThis).sort(),
  environment: Object.keys(process.env).sort(),
})
// A pipe is opened when stdout or stderr is first looked at, which is no doing of a door.
void [process.stdout, process.stderr]
const before = look()
Promise.resolve(${load}).then(() => {
  setImmediate(() => {
    const after = look()
    const changed = Object.keys(after).filter((key) => JSON.stringify(after[key]) !== JSON.stringify(before[key]))
    const more = changed.map((key) => key + ': ' + after[key].filter((item) => !before[key].includes(item)).join(', '))
    writeFileSync('quiet.json', JSON.stringify(more))
  })
})
`

/** Importing prints nothing, opens nothing, changes nothing, and the process ends by itself. @type {Check} */
export const quietImportCheck = {
  name: 'importing does nothing',
  run: async (context) => {
    const cwd = consumerOf(context)
    const ways = context.doors.flatMap(({ specifier }) => [`import('${specifier}')`, `require('${specifier}')`])
    const loud = []
    for (const way of ways) {
      await writeFile(join(cwd, 'quiet.cjs'), probe(way))
      await writeFile(join(cwd, 'quiet.json'), '["it did not come to its end"]')
      const { code, stdout, stderr } = await runCommand(process.execPath, ['quiet.cjs'], {
        cwd,
        timeoutMs: exitWithinMs,
      })
      const changes = /** @type {string[]} */ (JSON.parse(await readFile(join(cwd, 'quiet.json'), 'utf8')))
      if (code === null) changes.push(`the process still runs after ${exitWithinMs} ms`)
      else if (code !== 0) changes.push(`exit code ${code}`)
      if (stdout || stderr) changes.push(`it prints: ${`${stdout}${stderr}`.slice(0, 400)}`)
      if (changes.length > 0) loud.push(`${way}: ${changes.join('; ')}`)
    }
    if (loud.length > 0) throw new Error(loud.join('\n'))
    return `${ways.length} ways: prints nothing, opens nothing, leaves no listener or global`
  },
}
