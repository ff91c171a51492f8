import type * as YamlPackage from 'yaml'
import type { Node as YamlPart, ParsedNode, Range } from 'yaml'
import { loadOptional } from '../../errors/load-optional.js'
import type { ProjectFaults } from './project-fault.js'
import type { Span } from './source-text.js'
import { tooManyMarks } from './yaml-bounds.js'

/** YAML that was read, with the place of everything. */
export type YamlNode =
  | { readonly kind: 'map'; readonly span: Span; readonly entries: readonly YamlEntry[] }
  | { readonly kind: 'list'; readonly span: Span; readonly items: readonly YamlNode[] }
  | {
      readonly kind: 'scalar'
      readonly span: Span
      readonly value: string | number | boolean | null
      /** As it is written: `1.10` is the number 1.1 and the version 1.10. */
      readonly source: string
    }

export interface YamlEntry {
  readonly key: string
  readonly keySpan: Span
  readonly value: YamlNode
}

type Yaml = typeof YamlPackage

/** The text as a tree, or undefined and faults that say why not. */
export type ReadYaml = (text: string, faults: ProjectFaults) => YamlNode | undefined

/** Loads the parser. Rejects with `missing-dependency`. */
export const loadYaml = async (): Promise<ReadYaml> => {
  const yaml = await loadOptional('yaml', 'Reading projects', () => import('yaml'))
  return (text, faults) => readWith(yaml, text, faults)
}

const deepest = 30

const readWith = (yaml: Yaml, text: string, faults: ProjectFaults): YamlNode | undefined => {
  const whole: Span = { from: 0, to: 0 }
  const tooMany = tooManyMarks(text)
  if (tooMany !== undefined) {
    faults.add(whole, '', `must not have ${tooMany}`)
    return undefined
  }
  try {
    // Keys that are there twice are found below, in one pass over all of them.
    const document = yaml.parseDocument(text, { uniqueKeys: false, prettyErrors: false, logLevel: 'silent' })
    for (const { message, pos } of document.errors) {
      faults.add({ from: pos[0], to: pos[1] }, '', `is no YAML here: ${message.split('\n')[0] ?? ''}`)
    }
    if (document.errors.length > 0) return undefined
    if (document.contents === null) {
      faults.add(whole, '', 'is empty; it must hold a project')
      return undefined
    }
    return new TreeReader(yaml, text, faults).read(document.contents, [])
  } catch {
    // The parser itself runs out of stack where lists lie in lists without end.
    faults.add(whole, '', `is nested deeper than ${deepest} levels`)
    return undefined
  }
}

class TreeReader {
  constructor(
    private readonly yaml: Yaml,
    private readonly text: string,
    private readonly faults: ProjectFaults,
  ) {}

  read(part: ParsedNode, path: readonly string[]): YamlNode {
    const span = this.spanOf(part.range)
    const nothing: YamlNode = { kind: 'scalar', span, value: null, source: '' }
    if (this.yaml.isAlias(part)) {
      this.faults.add(span, path.join('.'), 'must not be an alias; write out what it stands for')
      return nothing
    }
    if (part.tag !== undefined && !part.tag.startsWith('tag:yaml.org,2002:')) {
      this.faults.add(span, path.join('.'), `must not have the tag ${part.tag}`)
      return nothing
    }
    if (path.length > deepest) {
      this.faults.add(span, path.join('.'), `is nested deeper than ${deepest} levels`)
      return nothing
    }
    if (this.yaml.isMap(part)) return { kind: 'map', span, entries: this.entries(part.items, path) }
    if (this.yaml.isSeq(part)) {
      return { kind: 'list', span, items: part.items.map((item, at) => this.read(item, [...path, String(at)])) }
    }
    const { value } = part
    const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    return { kind: 'scalar', span, value: isPlain ? value : null, source: part.source }
  }

  private entries(
    items: readonly { readonly key: ParsedNode; readonly value: ParsedNode | null }[],
    path: readonly string[],
  ): readonly YamlEntry[] {
    const seen = new Set<string>()
    return items.flatMap(({ key, value }): readonly YamlEntry[] => {
      const keySpan = this.spanOf(key.range)
      const name = this.yaml.isScalar(key) && key.value !== null ? key.source : undefined
      if (name === undefined) {
        this.faults.add(keySpan, path.join('.'), 'has a key that is no text')
        return []
      }
      const here = [...path, name]
      if (seen.has(name)) {
        this.faults.add(keySpan, here.join('.'), 'is there twice')
        return []
      }
      seen.add(name)
      const read: YamlNode =
        value === null ? { kind: 'scalar', span: keySpan, value: null, source: '' } : this.read(value, here)
      return [{ key: name, keySpan, value: read }]
    })
  }

  /** From the first character to the last, without the space and the comment behind it. */
  private spanOf(range: Range | YamlPart['range']): Span {
    const [from = 0, to = from] = range ?? []
    return { from, to: from + this.text.slice(from, to).trimEnd().length }
  }
}

/** The value as the JSON that it would be. */
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
