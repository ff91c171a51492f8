// @ts-check
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'vite'
import { consumerOf } from './pack-context.mjs'

/** @typedef {import('./pack-context.mjs').Check} Check */

/** All of the browser's door that a page loads to begin with, compressed, beside RxJS. */
const boundBytes = 20_000
/** What the first session loads while it connects. */
const laterBoundBytes = 11_000
/** Module ids that have no place in a browser; Vite stands an empty module in for a builtin of Node. */
const foreign = [
  /\/@grpc\//,
  /\/protobufjs\//,
  /\/node_modules\/ws\//,
  /__vite-browser-external/,
  /\/dist\/cjs\//,
  /\/rxjs\//,
]

/** @type {Check} */
export const browserBundleCheck = {
  name: 'browser bundle (vite)',
  run: async (context) => {
    const consumer = consumerOf(context)
    const entry = join(consumer, 'browser.mjs')
    const { name } = context.manifest
    await writeFile(entry, `import * as everything from '${name}'\nglobalThis.everything = everything\n`)
    const output = await build({
      root: consumer,
      configFile: false,
      logLevel: 'silent',
      build: { write: false, modulePreload: false, rolldownOptions: { input: entry, external: ['rxjs'] } },
    })
    if (!('output' in output)) throw new Error('Vite gave no single output')
    const chunks = output.output.filter((part) => part.type === 'chunk')
    const modules = chunks.flatMap(({ moduleIds }) => moduleIds)
    const strangers = modules.filter((id) => foreign.some((pattern) => pattern.test(id)))
    if (strangers.length > 0) throw new Error(`The bundle holds ${strangers.join(', ')}`)
    if (!modules.some((id) => id.includes(`/${name}/dist/esm/`)))
      throw new Error(`The bundle holds nothing of ${name}/dist/esm`)
    const own = new Set(chunks.map(({ fileName }) => fileName))
    const outside = [...new Set(chunks.flatMap(({ imports }) => imports))].filter((id) => id !== 'rxjs' && !own.has(id))
    if (outside.length > 0) throw new Error(`The bundle imports ${outside.join(', ')}`)
    const atFirst = withImports(chunks)
    const later = chunks.filter((chunk) => !atFirst.includes(chunk))
    const said = `${kilobytes(atFirst)} kB gzip beside rxjs, at most ${boundBytes / 1000}`
    if (sizeBytes(atFirst) > boundBytes) throw new Error(`${said}; the largest modules:\n${largestModules(atFirst)}`)
    const saidLater = `${kilobytes(later)} kB with the first session, at most ${laterBoundBytes / 1000}`
    if (sizeBytes(later) > laterBoundBytes)
      throw new Error(`${saidLater}; the largest modules:\n${largestModules(later)}`)
    return `${said}, and ${saidLater}; ${modules.length} modules, no gRPC`
  },
}

/**
 * The chunk that a page names, and all that it imports before it runs.
 *
 * @template {{ isEntry: boolean, fileName: string, imports: string[] }} Chunk
 * @param {ReadonlyArray<Chunk>} chunks
 * @returns {Chunk[]}
 */
const withImports = (chunks) => {
  const found = chunks.filter(({ isEntry }) => isEntry)
  for (const { imports } of found) {
    found.push(...chunks.filter((chunk) => imports.includes(chunk.fileName) && !found.includes(chunk)))
  }
  return found
}

/** @param {ReadonlyArray<{ code: string }>} chunks */
const sizeBytes = (chunks) => chunks.reduce((sum, { code }) => sum + gzipSync(code, { level: 9 }).length, 0)

/** @param {ReadonlyArray<{ code: string }>} chunks */
const kilobytes = (chunks) => (sizeBytes(chunks) / 1000).toFixed(1)

/** @param {ReadonlyArray<{ modules: Record<string, { code: string | null }> }>} chunks */
const largestModules = (chunks) =>
  chunks
    .flatMap(({ modules }) => Object.entries(modules))
    .map(([id, { code }]) => ({ id: id.replace(/^.*node_modules\//, ''), bytes: code?.length ?? 0 }))
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, 8)
    .map(({ id, bytes }) => `  ${bytes} bytes before compression: ${id}`)
    .join('\n')
