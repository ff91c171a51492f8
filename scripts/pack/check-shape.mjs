// @ts-check
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { tarballOf } from './pack-context.mjs'
import { runCommand } from './run-command.mjs'

/** @typedef {import('./pack-context.mjs').Check} Check */

/** @type {Check} */
const publintCheck = {
  name: 'publint',
  run: async (context) => {
    const file = await readFile(tarballOf(context))
    const tarball = new Uint8Array(file).buffer
    const { messages, pkg } = await publint({ pack: { tarball }, strict: true })
    if (messages.length > 0) throw new Error(messages.map((message) => formatMessage(message, pkg)).join('\n'))
    return 'no message, strict'
  },
}

/**
 * Nothing is ignored and the profile is the strictest: old resolution (`node10`) finds the doors by `typesVersions`,
 * Node finds CommonJS and ES modules, and bundlers find the ES modules.
 *
 * @type {Check}
 */
const attwCheck = {
  name: 'types are right (attw)',
  run: async (context) => {
    const attw = join(context.root, 'node_modules/@arethetypeswrong/cli/dist/index.js')
    const args = [
      attw,
      tarballOf(context),
      '--profile',
      'strict',
      '--format',
      'json',
      '--exclude-entrypoints',
      './package.json',
    ]
    const { stdout, stderr } = await runCommand(process.execPath, args, { cwd: context.root })
    /** @type {{ problems?: Record<string, unknown>, analysis?: { entrypoints?: object } }} */
    const report = JSON.parse(stdout || '{}')
    if (!report.analysis?.entrypoints) throw new Error(`attw made no report: ${stderr.trim()}`)
    const problems = Object.entries(report.problems ?? {}).map(([kind, found]) => `${kind}: ${JSON.stringify(found)}`)
    if (problems.length > 0) throw new Error(problems.join('\n'))
    return `${Object.keys(report.analysis.entrypoints).length} doors, profile strict, nothing ignored`
  },
}

export const shapeChecks = [publintCheck, attwCheck]
