// @ts-check
// Completes the builds of the compiler: `dist/cjs` for Node, and `dist/esm` for browsers, with its entry points.
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { transformSync } from 'rolldown/experimental'
import { browserEntryPoint, browserEntryPoints, workletSource } from './browser-entry-point.mjs'

const source = new URL('../src/', import.meta.url)
const cjs = new URL('../dist/cjs/', import.meta.url)
const esm = new URL('../dist/esm/', import.meta.url)
mkdirSync(esm, { recursive: true })

// tsc does not remove the outputs of deleted source files; they must not be published.
const inPackage = (/** @type {string} */ path) => new URL(`../packages/${path}/`, import.meta.url)
/** @type {ReadonlyArray<readonly [sources: URL, built: URL]>} */
const builds = [
  [source, cjs],
  [source, esm],
  ...['engines', 'server', 'nodes', 'nats', 'dialects', 'service'].map(
    (name) => /** @type {const} */ ([inPackage(`${name}/src`), inPackage(`${name}/dist`)]),
  ),
]
for (const [sources, built] of builds) {
  for (const file of readdirSync(built, { recursive: true, encoding: 'utf8' })) {
    const [, name] = /^(.*?)\.(?:js|js\.map|d\.ts)$/.exec(file) ?? []
    if (name !== undefined && !existsSync(new URL(`${name}.ts`, sources))) rmSync(new URL(file, built))
  }
}

writeFileSync(new URL('package.json', esm), JSON.stringify({ type: 'module', sideEffects: false }) + '\n')
for (const [entryPoint, { name, platformFiles }] of Object.entries(browserEntryPoints)) {
  const text = browserEntryPoint(readFileSync(new URL(`${entryPoint}.ts`, source), 'utf8'), platformFiles)
  const { code, errors } = transformSync(`${name}.ts`, text)
  if (errors.length > 0) throw new Error(`${name}.ts cannot be compiled.`)
  writeFileSync(new URL(`${name}.js`, esm), code)
}
const worklet = readFileSync(new URL('microphone/worklet.js', esm), 'utf8')
writeFileSync(new URL('microphone/worklet-source.js', esm), workletSource(worklet))
chmodSync(new URL('../packages/service/dist/cli/main.js', import.meta.url), 0o755)
