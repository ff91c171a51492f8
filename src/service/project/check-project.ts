import { either } from 'fp-ts'
import { checkFormats } from './check-formats.js'
import { checkNodes, type CheckedNode } from './check-nodes.js'
import { checkResources } from './check-resources.js'
import { checkWires, type CheckedWire } from './check-wires.js'
import { entryName, publisherName } from './graph-formats.js'
import { nodeOrder, reachedFrom } from './node-order.js'
import type { ProjectFacts } from './project-facts.js'
import { ProjectFaults, type ProjectFault } from './project-fault.js'
import type { ProjectFile } from './project-file.js'
import type { ProjectGraph } from './project-graph.js'
import { maxProjectBytes } from './project-keys.js'
import { readProject } from './read-project.js'
import type { ReadYaml } from './read-yaml.js'

/** A project that can run, if it can, and all that was found. */
export interface ProjectCheck {
  readonly graph?: ProjectGraph
  /** Errors and warnings, in the order of the file. Without a graph there is at least one error. */
  readonly faults: readonly ProjectFault[]
}

/** Checks the text of a project file against what there is, and finds every fault at once. Pure but for the facts. */
export const checkProject = (text: string, readYaml: ReadYaml, facts: ProjectFacts): ProjectCheck => {
  const faults = new ProjectFaults()
  if (Buffer.byteLength(text) > maxProjectBytes) {
    faults.add({ from: 0, to: 0 }, '', `must not be longer than ${maxProjectBytes} bytes`)
    return { faults: faults.inOrder }
  }
  const tree = readYaml(text, faults)
  if (tree === undefined) return { faults: faults.inOrder }
  const file = readProject(tree, faults)
  checkPlace(file, facts, faults)
  const nodes = checkNodes(file, facts, faults)
  const resources = checkResources(file, nodes, facts, faults)
  const wires = checkWires(file, nodes, faults)
  const ordered = checkShape(file, nodes, wires, faults)
  if (either.isRight(ordered)) checkFormats(ordered.right, wires, file.inputs, faults)
  if (faults.hasErrors || either.isLeft(ordered) || file.version === undefined) return { faults: faults.inOrder }
  const { inputs, limits, version, model } = file
  return {
    faults: faults.inOrder,
    graph: {
      version: version.value,
      inputs,
      limits,
      resources,
      nodes: ordered.right.map(({ entry: _entry, ...node }) => node),
      wires: wires.map(({ entry: _entry, ...wire }) => wire),
      ...(model === undefined ? {} : { model: model.value }),
    },
  }
}

const checkPlace = ({ version, name }: ProjectFile, facts: ProjectFacts, faults: ProjectFaults): void => {
  const tell = facts.isHere ? faults.add.bind(faults) : faults.warn.bind(faults)
  const { versionOfFile, nameOfFile } = facts
  if (version !== undefined && versionOfFile !== undefined && version.value !== versionOfFile) {
    tell(version.span, 'version', `is ${version.value}, but the file's own name says ${versionOfFile}`)
  }
  if (name !== undefined && nameOfFile !== undefined && name.value !== nameOfFile) {
    tell(name.span, 'name', `is ${name.value}, but the file lies in the folder ${nameOfFile}`)
  }
}

/** One entry, a publisher, no circle, and nothing that no audio reaches; right, the nodes in order. */
const checkShape = (
  file: ProjectFile,
  nodes: readonly CheckedNode[],
  wires: readonly CheckedWire[],
  faults: ProjectFaults,
): either.Either<undefined, readonly CheckedNode[]> => {
  const named = (name: string) => file.nodes.filter(({ kind }) => kind?.name === name)
  const entries = named(entryName)
  const [entry, ...more] = entries
  if (entry === undefined) faults.add({ from: 0, to: 0 }, 'nodes', `must have one node ${entryName}`)
  for (const { idSpan, path } of more) {
    faults.add(idSpan, path, `is a second ${entryName}; ${entry?.path ?? ''} is the first, and there may be one`)
  }
  if (named(publisherName).length === 0) {
    faults.add({ from: 0, to: 0 }, 'nodes', `must have a node ${publisherName}, or the client would hear nothing`)
  }
  const found = nodeOrder(
    nodes.map(({ id }) => id),
    wires,
  )
  if ('circle' in found) {
    const [first] = found.circle
    const wire = wires.find(({ to }) => to.node === first)
    const at = wire?.entry
    faults.add(at?.span ?? { from: 0, to: 0 }, at?.path ?? 'wires', `closes a circle: ${found.circle.join(' -> ')}`)
  }
  checkReach(file, nodes, wires, faults)
  if ('circle' in found || entries.length !== 1) return either.left(undefined)
  return either.right(found.order.flatMap((id) => nodes.find((node) => node.id === id) ?? []))
}

const checkReach = (
  file: ProjectFile,
  nodes: readonly CheckedNode[],
  wires: readonly CheckedWire[],
  faults: ProjectFaults,
): void => {
  // With a wire or a node that is not understood, nobody knows what leads where.
  if (nodes.length < file.nodes.length || wires.length < file.wires.length) return
  const starts = nodes.filter(({ definition }) => Object.keys(definition.inputs).length === 0).map(({ id }) => id)
  const reached = reachedFrom(starts, wires)
  for (const { id, entry, definition } of nodes) {
    const hasOutputs = Object.keys(definition.outputs).length > 0
    if (!reached.has(id)) faults.add(entry.idSpan, entry.path, 'is reached by no wire from the entry')
    else if (hasOutputs && !wires.some(({ from }) => from.node === id)) {
      faults.warn(entry.idSpan, entry.path, 'has outputs, and no wire leads on from it')
    }
  }
}
