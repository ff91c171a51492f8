// @ts-check
// The doors that need Node (grpc, cassette, service, nodes, testing) exist once, as CommonJS; an ESM importer gets a re-export of that
// one copy, so that workers, native handles and caches are never loaded twice. Only the browser-safe door is truly dual.
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { browserEntryPoint } from './browser-entry-point.mjs'

const source = new URL('../src/', import.meta.url)
const cjs = new URL('../dist/cjs/', import.meta.url)
const esm = new URL('../dist/esm/', import.meta.url)
mkdirSync(esm, { recursive: true })

// tsc leaves behind what it made of files that are gone; none of that may be published.
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

const index = readFileSync(new URL('index.js', esm), 'utf8')
writeFileSync(new URL('browser.js', esm), browserEntryPoint(index).replace(/\n\/\/# sourceMappingURL=.*/, ''))
chmodSync(new URL('cli/main.js', cjs), 0o755)
