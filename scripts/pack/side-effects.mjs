// @ts-check
// node side-effects.mjs import|require SPECIFIER: loads an entry point in a project, and prints its side effects: open
// handles, listeners of the process, global names and environment variables that were added.
import { createRequire } from 'node:module'
import { setImmediate } from 'node:timers/promises'

const [, , way, specifier = ''] = process.argv
const look = () => ({
  handles: process.getActiveResourcesInfo().filter((kind) => !kind.startsWith('FSReq') && kind !== 'CloseReq'),
  listeners: process.eventNames().map((name) => `${String(name)} ${process.listenerCount(name)}`),
  globals: Object.getOwnPropertyNames(globalThis),
  environment: Object.keys(process.env),
})
// Node opens a pipe at the first access to stdout or stderr.
void [process.stdout, process.stderr]
const before = look()
await (way === 'import' ? import(specifier) : createRequire(import.meta.url)(specifier))
await setImmediate()
const after = Object.entries(look())
const added = after.flatMap(([kind, items]) => {
  const known = /** @type {Record<string, string[]>} */ (before)[kind] ?? []
  return items.filter((item) => !known.includes(item)).map((item) => `${kind}: ${item}`)
})
console.log(added.join('\n'))
