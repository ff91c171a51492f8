import { either } from 'fp-ts'
import type { ResourceUse } from '../../nodes/core/node.js'
import { suggestName } from 'rxspeech/internal/protocol/nearest-name'
import type { NodeEntry, ProjectFile } from '../format/project-file.js'
import type { ProjectFacts } from './project-facts.js'
import type { ProjectFaults, Span } from '../format/project-fault.js'
import type { GraphNode } from '../format/project-graph.js'
import { plainValue, type YamlNode } from '../format/read-yaml.js'
import { pathTo } from '../format/tree-table.js'

/** A node of the graph with its entry in the file. */
export interface CheckedNode extends GraphNode {
  readonly entry: NodeEntry
}

/** The nodes without faults. */
export const checkNodes = (file: ProjectFile, facts: ProjectFacts, faults: ProjectFaults): readonly CheckedNode[] => {
  const nodes = file.nodes.flatMap((entry) => checkNode(entry, facts, faults) ?? [])
  for (const node of nodes) {
    for (const use of node.configured.uses) checkUse(use, node.entry, file, faults)
  }
  return nodes
}

const checkNode = (entry: NodeEntry, facts: ProjectFacts, faults: ProjectFaults): CheckedNode | undefined => {
  const { kind, path, options } = entry
  if (kind === undefined) return undefined
  const definition = facts.nodes.find(({ name }) => name === kind.value)
  if (definition === undefined) {
    const names = facts.nodes.map(({ name }) => name)
    faults.add(
      kind.span,
      pathTo(path, 'node'),
      `names ${JSON.stringify(kind.value)}, which is not a node; ${suggestName(kind.value, names)}`,
    )
    return undefined
  }
  if (definition.needs?.includes('recordings') === true && facts.recordings === false) {
    faults.add(kind.span, path, 'needs a folder for recordings, which is not configured')
  }
  const configured = definition.configure(options === undefined ? undefined : plainValue(options))
  if (either.isLeft(configured)) {
    const optionsPath = pathTo(path, 'options')
    for (const fault of configured.left) {
      const span = spanAt(options, fault.path) ?? kind.span
      faults.add(span, [optionsPath, ...fault.path].join('.'), fault.message)
    }
    return undefined
  }
  return {
    entry,
    id: entry.id,
    definition,
    configured: configured.right,
    onFault: entry.onFault ?? definition.onFault ?? 'fail',
  }
}

/** The span of a key with its value, of an item of a list, or of the innermost table that lacks the key. */
const spanAt = (node: YamlNode | undefined, path: readonly string[]): Span | undefined => {
  const [key, ...rest] = path
  if (node?.kind === 'list' && key !== undefined) return spanAt(node.items[Number(key)], rest) ?? node.span
  if (node === undefined || key === undefined || node.kind !== 'map') return node?.span
  const found = node.entries.find((entry) => entry.key === key)
  if (found === undefined) return node.span
  return rest.length === 0 ? { from: found.keySpan.from, to: found.value.span.to } : spanAt(found.value, rest)
}

const checkUse = (use: ResourceUse, entry: NodeEntry, file: ProjectFile, faults: ProjectFaults): void => {
  const path = `${entry.path}.options.${use.option}`
  const span = spanAt(entry.options, [use.option]) ?? entry.idSpan
  const found = file.resources.find(({ name }) => name === use.resource)
  if (found === undefined) {
    const names = file.resources.map(({ name }) => name)
    faults.add(
      span,
      path,
      `names ${JSON.stringify(use.resource)}, which is not among the resources; ${suggestName(use.resource, names)}`,
    )
  } else if (found.source.kind !== use.kind) {
    faults.add(span, path, `must name a resource that is a ${use.kind}; ${use.resource} is a ${found.source.kind}`)
  }
}
