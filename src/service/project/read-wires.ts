import type { EndEntry, WireEntry } from './project-file.js'
import { whenFullWords, type Holds } from './project-graph.js'
import type { ProjectFaults } from './project-fault.js'
import { holdsRanges, maxWires, projectKeys } from './project-keys.js'
import type { YamlNode } from './read-yaml.js'
import type { Span } from './source-text.js'
import { pathTo, textOf, TreeTable, wordIn } from './tree-table.js'

const endWords = 'a node and its port, such as split.left'

/** Reads the list of wires, each a table or a line `a.port -> b.port`. */
export const readWires = (table: TreeTable, faults: ProjectFaults): readonly WireEntry[] => {
  const node = table.at('wires')
  if (node?.kind !== 'list') {
    const said = node === undefined ? 'is missing; it must be a list of wires' : 'must be a list of wires'
    faults.add(node?.span ?? table.span, 'wires', said)
    return []
  }
  if (node.items.length > maxWires) faults.add(node.span, 'wires', `must be at most ${maxWires}`)
  return node.items.slice(0, maxWires).flatMap((item, at) => readWire(item, pathTo('wires', String(at)), faults) ?? [])
}

const readWire = (node: YamlNode, path: string, faults: ProjectFaults): WireEntry | undefined => {
  const line = textOf(node)
  if (line !== undefined) return readLine(line, node.span, path, faults)
  const table = new TreeTable(node, path, faults, projectKeys.wire)
  if (node.kind !== 'map') return undefined
  const from = table.value('from', endWords, endOf, true)
  const to = table.value('to', endWords, endOf, true)
  const ranges = Object.entries(holdsRanges).map(([unit, [least, most]]) => `${least} to ${most} ${unit}`)
  const holds = table.value('holds', ranges.join(', or '), holdsOf)
  const whenFull = table.value('whenFull', `one of ${whenFullWords.join(', ')}`, wordIn(whenFullWords))
  if (from === undefined || to === undefined) return undefined
  return {
    path,
    span: node.span,
    from,
    to,
    ...(holds === undefined ? {} : { holds }),
    ...(whenFull === undefined ? {} : { whenFull }),
  }
}

const readLine = (line: string, span: Span, path: string, faults: ProjectFaults): WireEntry | undefined => {
  const parts = line.split('->').map((part) => endFrom(part.trim(), span))
  const [from, to] = parts
  if (from !== undefined && to !== undefined && parts.length === 2) return { path, span, from, to }
  faults.add(span, path, 'must be a line such as split.left -> agent.audio')
  return undefined
}

const endOf = (node: YamlNode): EndEntry | undefined => endFrom(textOf(node) ?? '', node.span)

const endFrom = (text: string, span: Span): EndEntry | undefined => {
  const [, node, port] = /^([a-zA-Z][\w-]*)(?:\.([a-zA-Z]\w*))?$/.exec(text) ?? []
  if (node === undefined) return undefined
  return { node, span, ...(port === undefined ? {} : { port }) }
}

const holdsOf = (node: YamlNode): { readonly value: Holds; readonly span: Span } | undefined => {
  const [, digits, unit] = /^(\d{1,6}) ?(ms|items)$/.exec(textOf(node) ?? '') ?? []
  if (unit !== 'ms' && unit !== 'items') return undefined
  const [count, [least, most]] = [Number(digits), holdsRanges[unit]]
  return count >= least && count <= most ? { value: { unit, count }, span: node.span } : undefined
}
