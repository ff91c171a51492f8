// @ts-check
// The entry points that need Node (grpc, cassette, service, nodes, testing) are built once, as CommonJS. Their ES modules re-export
// that build, so that workers, native handles and caches are not loaded twice. Only those that browsers have too are built as both.
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { browserEntryPoint, browserEntryPoints, workletSource } from './browser-entry-point.mjs'

const source = new URL('../src/', import.meta.url)
const cjs = new URL('../dist/cjs/', import.meta.url)
const esm = new URL('../dist/esm/', import.meta.url)
mkdirSync(esm, { recursive: true })

// tsc does not remove the outputs of deleted source files; they must not be published.
for (const built of [cjs, esm]) {
  for (const file of readdirSync(built, { recursive: true, encoding: 'utf8' })) {
    const [, name] = /^(.*?)\.(?:js|js\.map|d\.ts)$/.exec(file) ?? []
    if (name !== undefined && !existsSync(new URL(`${name}.ts`, source))) rmSync(new URL(file, built))
  }
}

writeFileSync(new URL('package.json', esm), JSON.stringify({ type: 'module', sideEffects: false }) + '\n')
for (const name of ['grpc', 'cassette', 'service', 'nodes', 'testing']) {
  const line = `export * from '../cjs/${name}.js'\n`
  writeFileSync(new URL(`${name}.js`, esm), line)
  writeFileSync(new URL(`${name}.d.ts`, esm), line)
}

for (const [entryPoint, { name, platformFiles }] of Object.entries(browserEntryPoints)) {
  const text = readFileSync(new URL(`${entryPoint}.js`, esm), 'utf8')
  const browser = browserEntryPoint(text, platformFiles).replace(/\n\/\/# sourceMappingURL=.*/, '')
  writeFileSync(new URL(`${name}.js`, esm), browser)
}
const worklet = readFileSync(new URL('microphone/worklet.js', esm), 'utf8')
writeFileSync(new URL('microphone/worklet-source.js', esm), workletSource(worklet))
chmodSync(new URL('cli/main.js', cjs), 0o755)
