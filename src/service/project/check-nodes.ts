import { either } from 'fp-ts'
import type { AnyNodeDefinition, ResourceUse } from '../nodes/core/node.js'
import { suggestName } from '../../protocol/nearest-name.js'
import type { NodeEntry, ProjectFile } from './project-file.js'
import type { ProjectFacts } from './project-facts.js'
import type { ProjectFaults } from './project-fault.js'
import type { GraphNode } from './project-graph.js'
import { plainValue, type YamlNode } from './read-yaml.js'
import type { Span } from './source-text.js'
import { pathTo } from './tree-table.js'

/** A node of the graph, and where it stands in the file. */
export interface CheckedNode extends GraphNode {
  readonly entry: NodeEntry
}

/** The nodes that are sound; every other one is a fault. */
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
  const definition = facts.nodes.find(({ name }) => name === kind.name)
  if (definition === undefined) {
    const names = facts.nodes.map(({ name }) => name)
    faults.add(
      kind.span,
      pathTo(path, 'node'),
      `names ${JSON.stringify(kind.name)}, which is no node; ${suggestName(kind.name, names)}`,
    )
    return undefined
  }
  if (definition.needs?.includes('recordings') === true && facts.recordings === false) {
    faults.add(kind.span, path, 'needs a folder for recordings; the operator has configured none')
  }
  const configured = definition.configure(options === undefined ? undefined : plainValue(options))
  if (either.isLeft(configured)) {
    const optionsPath = pathTo(path, 'options')
    for (const fault of configured.left) {
      const at = spanAt(options, fault.path) ?? kind.span
      faults.add(at, [optionsPath, ...fault.path].join('.'), fault.message)
    }
    return undefined
  }
  return {
    entry,
    id: entry.id,
    definition: definition satisfies AnyNodeDefinition,
    configured: configured.right,
    onFault: entry.onFault ?? definition.onFault ?? 'fail',
  }
}

/** The place of a key in the options: of an unknown key itself, else of its value; the nearest there is. */
const spanAt = (node: YamlNode | undefined, path: readonly string[]): Span | undefined => {
  const [key, ...rest] = path
  if (node === undefined || key === undefined || node.kind !== 'map') return node?.span
  const found = node.entries.find((one) => one.key === key)
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
