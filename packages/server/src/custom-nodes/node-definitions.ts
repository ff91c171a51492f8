import type { AnyNodeDefinition } from '../nodes/core/node.js'

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

const arePorts = (value: unknown): boolean =>
  isRecord(value) && Object.values(value).every((kind) => kind === 'audio' || kind === 'event')

/** Whether `defineNode` made a value, also that of another copy of this package. */
const isDefinition = (value: unknown): value is AnyNodeDefinition =>
  isRecord(value) &&
  typeof value['name'] === 'string' &&
  arePorts(value['inputs']) &&
  arePorts(value['outputs']) &&
  typeof value['configure'] === 'function'

/** The definitions that a module exports, also in lists and in the `default` of a CommonJS module. */
export const nodeDefinitionsIn = (module: unknown): readonly AnyNodeDefinition[] => {
  const found = new Map<string, AnyNodeDefinition>()
  const search = (value: unknown, depth: number): void => {
    if (isDefinition(value)) found.set(value.name, value)
    else if (depth > 0 && (Array.isArray(value) || (isRecord(value) && depth > 1))) {
      for (const inner of Object.values(value)) search(inner, depth - 1)
    }
  }
  search(module, 3)
  return [...found.values()]
}
