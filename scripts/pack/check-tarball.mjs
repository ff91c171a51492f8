// @ts-check
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { mustRun } from './run-command.mjs'

/** @typedef {import('./pack-context.mjs').Check} Check */
/** @typedef {import('./pack-context.mjs').Manifest} Manifest */

const always = ['LICENSE', 'README.md', 'package.json', 'proto/dataflow.proto']
const never = [/\.tsbuildinfo$/, /^test\//, /^scripts\//, /^bench\//, /^node_modules\//, /\.test\./, /^\./, /\.tgz$/]

/**
 * Every path that the manifest promises.
 *
 * @param {Manifest} manifest
 */
const promisedFiles = (manifest) => {
  /** @type {(value: unknown) => string[]} */
  const leaves = (value) =>
    typeof value === 'string' ? [value] : value && typeof value === 'object' ? Object.values(value).flatMap(leaves) : []
  const { main, module, types, bin, exports, typesVersions } = manifest
  return [...new Set(leaves([main, module, types, bin, exports, typesVersions]))].map((path) =>
    path.replace(/^\.\//, ''),
  )
}

/** @type {Check} */
const tarball = {
  name: 'tarball',
  run: async (context) => {
    const { root, scratch, manifest } = context
    const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', scratch]
    const [packed] = /** @type {Array<{ filename: string, size: number, files: Array<{ path: string }> }>} */ (
      Object.values(JSON.parse(await mustRun('npm', args, { cwd: root })))
    )
    if (!packed) throw new Error('npm pack named no tarball')
    const paths = packed.files.map(({ path }) => path)
    const missing = [...always, ...promisedFiles(manifest)].filter((path) => !paths.includes(path))
    const unwanted = paths.filter((path) => never.some((pattern) => pattern.test(path)))
    context.tarball = join(scratch, packed.filename)
    if (missing.length > 0) throw new Error(`The tarball lacks ${missing.join(', ')}`)
    if (unwanted.length > 0) throw new Error(`The tarball holds ${unwanted.join(', ')}`)
    return `${paths.length} files, ${Math.round(packed.size / 1024)} kB`
  },
}

/** @type {Check} */
const manifestIsSound = {
  name: 'manifest',
  run: async ({ root, manifest }) => {
    const { dependencies, optionalDependencies, devDependencies, peerDependencies } = manifest
    const wrong = []
    if (!('rxjs' in peerDependencies)) wrong.push('rxjs is no peer dependency')
    if ('rxjs' in { ...dependencies, ...optionalDependencies })
      wrong.push('rxjs is a dependency, so two copies may meet')
    if (!('rxjs' in devDependencies)) wrong.push('rxjs is no development dependency')
    if (manifest.sideEffects !== false) wrong.push('sideEffects is not false')
    if (manifest.engines['node'] !== '>=20.19') wrong.push('engines.node is not >=20.19')
    const license = await readFile(join(root, 'LICENSE'), 'utf8')
    if (manifest.license !== 'MIT' || !license.startsWith('MIT License'))
      wrong.push('license and LICENSE are not both MIT')
    const lock = await readFile(join(root, 'package-lock.json'), 'utf8')
    if (/"resolved": "https?:/.test(lock)) wrong.push('package-lock.json holds addresses of a registry')
    for (const path of Object.values(manifest.bin)) {
      if (!(await readFile(join(root, path), 'utf8')).startsWith('#!/usr/bin/env node\n'))
        wrong.push(`${path} has no #! line`)
      if (((await stat(join(root, path))).mode & 0o111) === 0) wrong.push(`${path} may not be executed`)
    }
    if (wrong.length > 0) throw new Error(wrong.join('; '))
    return `${manifest.license}, node ${manifest.engines['node']}, rxjs ${peerDependencies['rxjs']} as peer`
  },
}

export const tarballChecks = [tarball, manifestIsSound]
