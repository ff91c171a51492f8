// @ts-check
// node loads-quietly.mjs import|require SPECIFIER: loads an entry point in a project, and prints what is different afterwards:
// what keeps the process alive, listeners of the process, global names, variables of the environment.
import { createRequire } from 'node:module'
import { setImmediate } from 'node:timers/promises'

const [, , way, specifier = ''] = process.argv
const look = () => ({
  handles: process.getActiveResourcesInfo().filter((kind) => !kind.startsWith('FSReq') && kind !== 'CloseReq'),
  listeners: process.eventNames().map((name) => `${String(name)} ${process.listenerCount(name)}`),
  globals: Object.getOwnPropertyNames(globalThis),
  environment: Object.keys(process.env),
})
// A pipe opens when stdout or stderr is first looked at.
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
