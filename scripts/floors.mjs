// @ts-check
// npm run floors [-- --root <folder with src and package.json>]: holds src to the rules of scripts/floors/table.mjs.
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { checkTree } from './floors/check-tree.mjs'

const { values } = parseArgs({ options: { root: { type: 'string', default: join(import.meta.dirname, '..') } } })
const { breaches, fileCount, importCount } = checkTree(resolve(values.root))

for (const { file, line, rule, what } of breaches) console.error(`src/${file}:${line}  ${rule}  ${what}`)
if (fileCount === 0) {
  console.error('floors: src holds no TypeScript file')
  process.exitCode = 1
} else if (breaches.length > 0) {
  console.error(`floors: ${breaches.length} ${breaches.length === 1 ? 'breach' : 'breaches'} in ${fileCount} files`)
  process.exitCode = 1
} else {
  console.log(`floors: ${fileCount} files, ${importCount} imports, no breach`)
}
