import { either } from 'fp-ts'
import type { ProjectFaults } from '../format/project-fault.js'
import type { ProjectFile } from '../format/project-file.js'
import type { GraphWire } from '../format/project-graph.js'
import { entryName, publisherName } from './audio-formats.js'
import type { CheckedNode } from './check-nodes.js'
import type { CheckedWire } from './check-wires.js'

/**
 * Checks that the graph has one entry, a publisher, no cycle, and no node that no audio reaches. Right are the nodes,
 * each after its sources.
 */
export const checkShape = (
  file: ProjectFile,
  nodes: readonly CheckedNode[],
  wires: readonly CheckedWire[],
  faults: ProjectFaults,
): either.Either<undefined, readonly CheckedNode[]> => {
  const hasEntry = checkEnds(file, nodes, faults)
  const found = nodeOrder(
    nodes.map(({ id }) => id),
    wires,
  )
  if ('cycle' in found) {
    const [first] = found.cycle
    const entry = wires.find(({ to }) => to.node === first)?.entry
    faults.add(entry?.span ?? { from: 0, to: 0 }, entry?.path ?? 'wires', `closes a cycle: ${found.cycle.join(' -> ')}`)
  }
  checkReach(file, nodes, wires, faults)
  if ('cycle' in found || !hasEntry) return either.left(undefined)
  return either.right(found.order.flatMap((id) => nodes.find((node) => node.id === id) ?? []))
}

/** Returns whether there is exactly one entry. */
const checkEnds = (file: ProjectFile, nodes: readonly CheckedNode[], faults: ProjectFaults): boolean => {
  // A kind with a fault may be meant as the missing one.
  const isComplete = nodes.length === file.nodes.length
  const nodesOf = (name: string) => file.nodes.filter(({ kind }) => kind?.value === name)
  const [entry, ...more] = nodesOf(entryName)
  if (entry === undefined && isComplete) faults.add({ from: 0, to: 0 }, 'nodes', `must have one node ${entryName}`)
  for (const { idSpan, path } of more) {
    faults.add(idSpan, path, `is a second ${entryName}; ${entry?.path ?? ''} is the first, and only one is allowed`)
  }
  if (nodesOf(publisherName).length === 0) {
    faults.add({ from: 0, to: 0 }, 'nodes', `must have a node ${publisherName}, or the client gets no results`)
  }
  return entry !== undefined && more.length === 0
}

const checkReach = (
  file: ProjectFile,
  nodes: readonly CheckedNode[],
  wires: readonly CheckedWire[],
  faults: ProjectFaults,
): void => {
  // A wire or a node with a fault may be the one that leads to the others.
  if (nodes.length < file.nodes.length || wires.length < file.wires.length) return
  const sources = nodes.filter(({ definition }) => Object.keys(definition.inputs).length === 0).map(({ id }) => id)
  const reached = reachableFrom(sources, wires)
  for (const { id, entry, definition } of nodes) {
    const hasOutputs = Object.keys(definition.outputs).length > 0
    if (!reached.has(id)) faults.add(entry.idSpan, entry.path, 'is not reached by any wire from the entry')
    else if (hasOutputs && !wires.some(({ from }) => from.node === id)) {
      faults.warn(entry.idSpan, entry.path, 'has outputs, but no wire from them')
    }
  }
}

type Ends = Pick<GraphWire, 'from' | 'to'>

/** The ids in order, each after its sources; or the first cycle, which begins and ends with the same id. */
const nodeOrder = (
  ids: readonly string[],
  wires: readonly Ends[],
): { readonly order: readonly string[] } | { readonly cycle: readonly string[] } => {
  const sources = new Map(
    ids.map((id) => [id, new Set(wires.filter(({ to }) => to.node === id).map(({ from }) => from.node))]),
  )
  const order: string[] = []
  const left = new Set(ids)
  while (left.size > 0) {
    const next = [...left].find((id) => [...(sources.get(id) ?? [])].every((source) => !left.has(source)))
    if (next === undefined) return { cycle: cycleIn(left, sources) }
    left.delete(next)
    order.push(next)
  }
  return { order }
}

/** Each of the ids has a source among them, so walking back from one reaches an id a second time. */
const cycleIn = (left: ReadonlySet<string>, sources: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] => {
  const path: string[] = []
  let id = [...left][0] ?? ''
  while (!path.includes(id)) {
    path.push(id)
    id = [...(sources.get(id) ?? [])].find((source) => left.has(source)) ?? id
  }
  return [id, ...path.slice(path.indexOf(id) + 1).reverse(), id]
}

const reachableFrom = (starts: readonly string[], wires: readonly Ends[]): ReadonlySet<string> => {
  const reached = new Set(starts)
  // The iteration of a set includes what is added during it.
  for (const id of reached) for (const { from, to } of wires) if (from.node === id) reached.add(to.node)
  return reached
}
