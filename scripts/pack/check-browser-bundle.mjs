// @ts-check
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'vite'
import { consumerOf } from './pack-context.mjs'

/** @typedef {import('./pack-context.mjs').Check} Check */

/** What a page with `recognize` and `accumulateMilestones` loads at first, compressed, beside RxJS. */
const maxBytes = 20_000
/** What its first session loads while it connects. */
const maxLaterBytes = 11_000
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
    const { name } = context.manifest
    const everything = await bundle(context, `import * as all from '${name}'\nglobalThis.all = all\n`)
    const modules = everything.flatMap(({ moduleIds }) => moduleIds)
    const strangers = modules.filter((id) => foreign.some((pattern) => pattern.test(id)))
    if (strangers.length > 0) throw new Error(`The bundle contains ${strangers.join(', ')}`)
    if (!modules.some((id) => id.includes(`/${name}/dist/esm/`)))
      throw new Error(`The bundle contains nothing of ${name}/dist/esm`)
    const own = new Set(everything.map(({ fileName }) => fileName))
    const imports = new Set(everything.flatMap(({ imports }) => imports))
    const outside = [...imports].filter((id) => id !== 'rxjs' && !own.has(id))
    if (outside.length > 0) throw new Error(`The bundle imports ${outside.join(', ')}`)
    const page = await bundle(
      context,
      `import { accumulateMilestones, recognize } from '${name}'\nglobalThis.page = [accumulateMilestones, recognize]\n`,
    )
    const atFirst = withImports(page)
    const later = page.filter((chunk) => !atFirst.includes(chunk))
    const first = `${kilobytes(atFirst)} kB gzip beside rxjs, at most ${maxBytes / 1000}`
    if (sizeBytes(atFirst) > maxBytes) throw new Error(`${first}; the largest modules:\n${largestModules(atFirst)}`)
    const second = `${kilobytes(later)} kB with the first session, at most ${maxLaterBytes / 1000}`
    if (sizeBytes(later) > maxLaterBytes) throw new Error(`${second}; the largest modules:\n${largestModules(later)}`)
    return `a page loads ${first}, and ${second}; no gRPC in ${modules.length} modules`
  },
}

/**
 * The chunks of a page with this program.
 *
 * @param {import('./pack-context.mjs').PackContext} context
 * @param {string} program
 */
const bundle = async (context, program) => {
  const root = consumerOf(context)
  const entry = join(root, 'browser.mjs')
  await writeFile(entry, program)
  const output = await build({
    root,
    configFile: false,
    logLevel: 'silent',
    build: { write: false, modulePreload: false, rolldownOptions: { input: entry, external: ['rxjs'] } },
  })
  if (!('output' in output)) throw new Error('Vite gave no single output')
  return output.output.filter((part) => part.type === 'chunk')
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
