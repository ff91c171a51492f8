// The doors that need Node (grpc, service, testing) exist once, as CommonJS; an ESM importer gets a re-export of that
// one copy, so that workers, native handles and caches are never loaded twice. Only the browser-safe door is truly dual.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'

const esm = new URL('../dist/esm/', import.meta.url)
mkdirSync(esm, { recursive: true })
writeFileSync(new URL('package.json', esm), JSON.stringify({ type: 'module', sideEffects: false }) + '\n')
const doors = { grpc: 'grpc.js', service: 'service/index.js', testing: 'testing/index.js' }
for (const [door, target] of Object.entries(doors)) {
  const line = `export * from '../cjs/${target}'\n`
  writeFileSync(new URL(`${door}.js`, esm), line)
  writeFileSync(new URL(`${door}.d.ts`, esm), line)
}
chmodSync(new URL('../dist/cjs/cli/main.js', import.meta.url), 0o755)
