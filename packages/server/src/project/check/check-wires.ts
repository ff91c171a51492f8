import type { PortKind } from '../../nodes/core/node.js'
import type { CheckedNode } from './check-nodes.js'
import { suggestName } from 'rxspeech/internal/protocol/nearest-name'
import type { EndEntry, ProjectFile, WireEntry } from '../format/project-file.js'
import type { ProjectFaults } from '../format/project-fault.js'
import type { GraphWire } from '../format/project-graph.js'
import { pathTo } from '../format/tree-table.js'

/** A wire of the graph with its entry in the file. */
export interface CheckedWire extends GraphWire {
  readonly entry: WireEntry
}

type Ports = Readonly<Record<string, PortKind>>
const portsOf = (ports: Ports, kind?: PortKind): readonly string[] =>
  Object.keys(ports).filter((port) => kind === undefined || ports[port] === kind)

/** The wires without faults. An audio input without a wire is a fault too. */
export const checkWires = (
  file: ProjectFile,
  nodes: readonly CheckedNode[],
  faults: ProjectFaults,
): readonly CheckedWire[] => {
  const wires = file.wires.flatMap((entry) => checkWire(entry, file, nodes, faults) ?? [])
  const taken = new Map<string, CheckedWire>()
  for (const wire of wires) {
    const to = `${wire.to.node}.${wire.to.port}`
    const before = taken.get(to)
    const isRepeated = wires.some(
      (earlier) => earlier.entry.span.from < wire.entry.span.from && endsOf(earlier) === endsOf(wire),
    )
    if (isRepeated) faults.add(wire.entry.span, wire.entry.path, `joins ${endsOf(wire)} a second time`)
    else if (wire.kind === 'audio' && before !== undefined) {
      faults.add(
        wire.entry.to.span,
        pathTo(wire.entry.path, 'to'),
        `leads to ${to}, which takes one wire of audio and has ${before.entry.path}`,
      )
    }
    taken.set(to, wire)
  }
  // A wire with a fault may have been meant for the input that lacks one.
  const isMeant = (node: string, port: string): boolean =>
    file.wires.some(({ to }) => to.node === node && (to.port ?? port) === port)
  for (const { id, definition, entry } of nodes) {
    for (const port of portsOf(definition.inputs, 'audio')) {
      if (isMeant(id, port) || definition.optionalInputs?.includes(port) === true) continue
      faults.add(entry.idSpan, entry.path, `has no wire to its audio input ${port}`)
    }
  }
  return wires
}

const endsOf = ({ from, to }: GraphWire): string => `${from.node}.${from.port} -> ${to.node}.${to.port}`

const checkWire = (
  entry: WireEntry,
  file: ProjectFile,
  nodes: readonly CheckedNode[],
  faults: ProjectFaults,
): CheckedWire | undefined => {
  const [from, to] = [findNode(entry, 'from', file, nodes, faults), findNode(entry, 'to', file, nodes, faults)]
  if (from === undefined || to === undefined) return undefined
  const [outputs, inputs] = [from.definition.outputs, to.definition.inputs]
  const fromKind = entry.from.port === undefined ? undefined : outputs[entry.from.port]
  const toKind = entry.to.port === undefined ? undefined : inputs[entry.to.port]
  const fromPort = findPort(entry, 'from', outputs, toKind, faults)
  const toPort = findPort(
    entry,
    'to',
    inputs,
    fromKind ?? (fromPort === undefined ? undefined : outputs[fromPort]),
    faults,
  )
  if (fromPort === undefined || toPort === undefined) return undefined
  const [kind, inputKind] = [outputs[fromPort], inputs[toPort]]
  if (kind === undefined || inputKind === undefined) return undefined
  if (kind !== inputKind) {
    faults.add(
      entry.span,
      entry.path,
      `leads from ${kind} (${from.id}.${fromPort}) to ${inputKind} (${to.id}.${toPort}); both must be the same`,
    )
    return undefined
  }
  if (entry.capacity !== undefined && (entry.capacity.value.unit === 'ms') !== (kind === 'audio')) {
    faults.add(
      entry.capacity.span,
      pathTo(entry.path, 'capacity'),
      `must be in ${kind === 'audio' ? 'ms' : 'items'}, because the wire carries ${kind === 'audio' ? 'audio' : 'events'}`,
    )
  }
  return {
    entry,
    kind,
    from: { node: from.id, port: fromPort },
    to: { node: to.id, port: toPort },
    whenFull: entry.whenFull ?? 'block',
    capacity: entry.capacity?.value,
  }
}

/** The node that an end names; undefined also for a node that has a fault. */
const findNode = (
  entry: WireEntry,
  side: 'from' | 'to',
  file: ProjectFile,
  nodes: readonly CheckedNode[],
  faults: ProjectFaults,
): CheckedNode | undefined => {
  const { node: id, span } = entry[side]
  const ids = file.nodes.map((node) => node.id)
  if (!ids.includes(id)) {
    faults.add(
      span,
      pathTo(entry.path, side),
      `names ${JSON.stringify(id)}, which is not among the nodes; ${suggestName(id, ids)}`,
    )
  }
  return nodes.find((node) => node.id === id)
}

const findPort = (
  entry: WireEntry,
  side: 'from' | 'to',
  ports: Ports,
  kind: PortKind | undefined,
  faults: ProjectFaults,
): string | undefined => {
  const end: EndEntry = entry[side]
  const what = side === 'from' ? 'output' : 'input'
  const path = pathTo(entry.path, side)
  const names = portsOf(ports)
  if (names.length === 0) {
    faults.add(end.span, path, `names ${end.node}, which has no ${what}`)
    return undefined
  }
  if (end.port !== undefined) {
    if (names.includes(end.port)) return end.port
    faults.add(
      end.span,
      path,
      `names ${JSON.stringify(end.port)}, which is not an ${what} of ${end.node}; ${suggestName(end.port, names)}`,
    )
    return undefined
  }
  const fitting = portsOf(ports, kind)
  if (fitting.length === 1 || names.length === 1) return fitting[0] ?? names[0]
  const list = (fitting.length === 0 ? names : fitting).map((port) => `${end.node}.${port}`)
  faults.add(end.span, path, `must name the ${what} of ${end.node}: ${list.join(' or ')}`)
  return undefined
}
