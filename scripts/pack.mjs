// @ts-check
// npm run pack [-- --root <built repository>]: packs the tarball that would be published and uses it as its users do.
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { browserBundleCheck } from './pack/check-browser-bundle.mjs'
import { commandCheck, consumerChecks } from './pack/check-consumers.mjs'
import { quietImportCheck } from './pack/check-quiet-import.mjs'
import { shapeChecks } from './pack/check-shape.mjs'
import { tarballChecks } from './pack/check-tarball.mjs'
import { doorsOf } from './pack/pack-context.mjs'

const { values } = parseArgs({ options: { root: { type: 'string', default: join(import.meta.dirname, '..') } } })
const root = resolve(values.root)
const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
const scratch = await realpath(await mkdtemp(join(tmpdir(), 'rxspeech-pack-')))

/** @type {import('./pack/pack-context.mjs').PackContext} */
const context = { root, scratch, manifest, doors: doorsOf(manifest), tarball: undefined, installed: false }
const checks = [...tarballChecks, ...shapeChecks, ...consumerChecks, quietImportCheck, browserBundleCheck, commandCheck]
const width = Math.max(...checks.map(({ name }) => name.length))

let failures = 0
try {
  for (const { name, run } of checks) {
    const [mark, told] = await run(context).then(
      (said) => /** @type {const} */ (['ok  ', said]),
      (error) => /** @type {const} */ (['FAIL', error instanceof Error ? error.message : String(error)]),
    )
    if (mark === 'FAIL') failures += 1
    console.log(`${mark}  ${name.padEnd(width)}  ${told.replaceAll('\n', `\n${' '.repeat(width + 8)}`)}`)
  }
} finally {
  await rm(scratch, { recursive: true, force: true })
}
console.log(`pack: ${checks.length - failures} of ${checks.length} checks hold`)
process.exitCode = failures === 0 ? 0 : 1
