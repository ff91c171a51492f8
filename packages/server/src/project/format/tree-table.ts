import { suggestName } from 'rxspeech/internal/protocol/nearest-name'
import type { ProjectFaults, Span } from './project-fault.js'
import type { YamlEntry, YamlNode } from './read-yaml.js'

export const pathTo = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`)

/** Reads a table of the file. Unknown keys are faults. */
export class TreeTable {
  readonly #node: YamlNode
  readonly #path: string
  readonly #faults: ProjectFaults
  readonly #entries: ReadonlyMap<string, YamlEntry>

  constructor(node: YamlNode, path: string, faults: ProjectFaults, known?: readonly string[]) {
    this.#node = node
    this.#path = path
    this.#faults = faults
    if (node.kind !== 'map') faults.add(node.span, path, 'must be a table of keys and values')
    const entries = node.kind === 'map' ? node.entries : []
    for (const { key, keySpan } of entries) {
      if (known === undefined || known.includes(key)) continue
      faults.add(keySpan, pathTo(path, key), `is not known; ${suggestName(key, known)}`)
    }
    this.#entries = new Map(entries.map((entry) => [entry.key, entry]))
  }

  get entries(): readonly YamlEntry[] {
    return [...this.#entries.values()]
  }

  get span(): Span {
    return this.#node.span
  }

  has(key: string): boolean {
    return this.#entries.has(key)
  }

  at(key: string): YamlNode | undefined {
    return this.#entries.get(key)?.value
  }

  /** The value of a key. One that `read` returns undefined for is a fault, and so is a missing one that is required. */
  value<A>(key: string, expected: string, read: (node: YamlNode) => A | undefined, isRequired = false): A | undefined {
    const found = this.at(key)
    if (found === undefined) {
      if (isRequired) this.#faults.add(this.span, pathTo(this.#path, key), `is missing; it must be ${expected}`)
      return undefined
    }
    const value = read(found)
    if (value === undefined) this.#faults.add(found.span, pathTo(this.#path, key), `must be ${expected}`)
    return value
  }
}

export const textOf = (node: YamlNode): string | undefined =>
  node.kind === 'scalar' && typeof node.value === 'string' && node.value !== '' ? node.value : undefined

/** A version: text, or a number as it is written (`1.10` is not 1.1). */
export const versionOf = (node: YamlNode): string | undefined => {
  if (node.kind !== 'scalar') return undefined
  const text = typeof node.value === 'number' ? node.source : node.value
  return typeof text === 'string' && /^[\w][\w.-]{0,63}$/.test(text) ? text : undefined
}

export const numberIn =
  (min: number, max: number) =>
  (node: YamlNode): number | undefined =>
    node.kind === 'scalar' && Number.isInteger(node.value) && Number(node.value) >= min && Number(node.value) <= max
      ? Number(node.value)
      : undefined

/** A list that is not empty of values that `read` accepts, or a single one. */
export const listIn =
  <A>(read: (node: YamlNode) => A | undefined) =>
  (node: YamlNode): readonly A[] | undefined => {
    const items = (node.kind === 'list' ? node.items : [node]).map(read)
    const known = items.filter((item) => item !== undefined)
    return known.length === items.length && known.length > 0 ? [...new Set(known)] : undefined
  }

export const wordIn =
  <Word extends string>(words: readonly Word[]) =>
  (node: YamlNode): Word | undefined =>
    words.find((word) => node.kind === 'scalar' && word === node.value)
