import type * as YamlPackage from 'yaml'
import type { Node as YamlPart, ParsedNode, Range } from 'yaml'
import type { ProjectFaults, Span } from './project-fault.js'

/** A parsed YAML value with its span in the text. */
export type YamlNode =
  | { readonly kind: 'map'; readonly span: Span; readonly entries: readonly YamlEntry[] }
  | { readonly kind: 'list'; readonly span: Span; readonly items: readonly YamlNode[] }
  | {
      readonly kind: 'scalar'
      readonly span: Span
      readonly value: string | number | boolean | null
      /** The value as it is written: `1.10` is the number 1.1, but the version 1.10. */
      readonly source: string
    }

export interface YamlEntry {
  readonly key: string
  readonly keySpan: Span
  readonly value: YamlNode
}

type Yaml = typeof YamlPackage

/** Parses a text. Adds faults and returns undefined when that is impossible. */
export type ReadYaml = (text: string, faults: ProjectFaults) => YamlNode | undefined

/** Loads the YAML parser. Rejects with `missing-dependency`. */
export const loadYaml = async (): Promise<ReadYaml> => {
  const yaml = await import('yaml')
  return (text, faults) => readWith(yaml, text, faults)
}

const maxDepth = 30

/** The limit of characters that can begin or end a part of a file. Parsing takes time for each of them. */
const maxYamlMarks = 20_000

/** The reason not to parse a text, which is found before the parser sees it; undefined when there is none. */
export const tooManyMarks = (text: string): string | undefined => {
  let count = 0
  for (const _mark of text.matchAll(/[\n,:[{"']/g)) {
    count += 1
    if (count > maxYamlMarks) return `more than ${maxYamlMarks} lines, items, keys and quotes together`
  }
  return undefined
}

const readWith = (yaml: Yaml, text: string, faults: ProjectFaults): YamlNode | undefined => {
  const whole: Span = { from: 0, to: 0 }
  const tooMany = tooManyMarks(text)
  if (tooMany !== undefined) {
    faults.add(whole, '', `must not have ${tooMany}`)
    return undefined
  }
  try {
    // Repeated keys are found by TreeReader in one pass over all keys.
    const document = yaml.parseDocument(text, { uniqueKeys: false, prettyErrors: false, logLevel: 'silent' })
    for (const { message, pos } of document.errors) {
      faults.add({ from: pos[0], to: pos[1] }, '', `is not YAML here: ${message.split('\n')[0] ?? ''}`)
    }
    if (document.errors.length > 0) return undefined
    if (document.contents === null) {
      faults.add(whole, '', 'is empty; it must contain a project')
      return undefined
    }
    return new TreeReader(yaml, text, faults).read(document.contents, [])
  } catch {
    // The parser overflows the stack on very deep nesting.
    faults.add(whole, '', `is nested deeper than ${maxDepth} levels`)
    return undefined
  }
}

class TreeReader {
  readonly #yaml: Yaml
  readonly #text: string
  readonly #faults: ProjectFaults

  constructor(yaml: Yaml, text: string, faults: ProjectFaults) {
    this.#yaml = yaml
    this.#text = text
    this.#faults = faults
  }

  read(part: ParsedNode, path: readonly string[]): YamlNode {
    const span = this.#spanOf(part.range)
    const nothing: YamlNode = { kind: 'scalar', span, value: null, source: '' }
    if (this.#yaml.isAlias(part)) {
      this.#faults.add(span, path.join('.'), 'must not be an alias; write out its value')
      return nothing
    }
    if (part.tag !== undefined && !part.tag.startsWith('tag:yaml.org,2002:')) {
      this.#faults.add(span, path.join('.'), `must not have the tag ${part.tag}`)
      return nothing
    }
    if (path.length > maxDepth) {
      this.#faults.add(span, path.join('.'), `is nested deeper than ${maxDepth} levels`)
      return nothing
    }
    if (this.#yaml.isMap(part)) return { kind: 'map', span, entries: this.#entries(part.items, path) }
    if (this.#yaml.isSeq(part)) {
      return { kind: 'list', span, items: part.items.map((item, index) => this.read(item, [...path, String(index)])) }
    }
    const { value } = part
    const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    return { kind: 'scalar', span, value: isPlain ? value : null, source: part.source }
  }

  #entries(
    items: readonly { readonly key: ParsedNode; readonly value: ParsedNode | null }[],
    path: readonly string[],
  ): readonly YamlEntry[] {
    const seen = new Set<string>()
    return items.flatMap(({ key, value }): readonly YamlEntry[] => {
      const keySpan = this.#spanOf(key.range)
      const name = this.#yaml.isScalar(key) && key.value !== null ? key.source : undefined
      if (name === undefined) {
        this.#faults.add(keySpan, path.join('.'), 'has a key that is not text')
        return []
      }
      const here = [...path, name]
      if (seen.has(name)) {
        this.#faults.add(keySpan, here.join('.'), 'is repeated')
        return []
      }
      seen.add(name)
      const read: YamlNode =
        value === null ? { kind: 'scalar', span: keySpan, value: null, source: '' } : this.read(value, here)
      return [{ key: name, keySpan, value: read }]
    })
  }

  /** The span without trailing space. */
  #spanOf(range: Range | YamlPart['range']): Span {
    const [from = 0, to = from] = range ?? []
    return { from, to: from + this.#text.slice(from, to).trimEnd().length }
  }
}

/** The value without spans, as JSON. */
export const plainValue = (node: YamlNode): unknown => {
  switch (node.kind) {
    case 'scalar':
      return node.value
    case 'list':
      return node.items.map(plainValue)
    case 'map':
      return Object.fromEntries(node.entries.map(({ key, value }) => [key, plainValue(value)]))
  }
}
