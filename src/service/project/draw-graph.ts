import { formatWords } from './graph-formats.js'
import type { GraphNode, GraphWire, ProjectGraph } from './project-graph.js'

const columns = 80

/**
 * The graph as a tree that a person reads, 80 columns wide where the names allow: below each node where its outputs lead,
 * a node that two wires lead to once in full and then as `(above)`.
 */
export const drawGraph = (graph: ProjectGraph): string => {
  const seen = new Set<string>()
  const lines: { readonly left: string; readonly right: string }[] = []
  const draw = (node: GraphNode, lead: string, indent: string): void => {
    const isAgain = seen.has(node.id)
    seen.add(node.id)
    lines.push({ left: `${lead}${node.id}`, right: isAgain ? '(above)' : kindOf(node) })
    if (isAgain) return
    const wires = graph.wires.filter(({ from }) => from.node === node.id)
    for (const [at, wire] of wires.entries()) {
      const isLast = at === wires.length - 1
      const next = graph.nodes.find(({ id }) => id === wire.to.node)
      if (next !== undefined)
        draw(next, `${indent}${isLast ? '└' : '├'}─ ${wireWords(wire)} ─▶ `, `${indent}${isLast ? ' ' : '│'}  `)
    }
  }
  for (const node of graph.nodes) {
    if (!graph.wires.some(({ to }) => to.node === node.id)) draw(node, '', '')
  }
  const widest = Math.max(...lines.map(({ left }) => left.length))
  const longest = Math.max(...lines.map(({ right }) => right.length))
  const at = Math.min(widest + 2, Math.max(30, columns - longest))
  return lines.map(({ left, right }) => `${left.padEnd(at - 1)} ${right}`).join('\n')
}

const kindOf = ({ definition, onFault }: GraphNode): string => {
  const policy = typeof onFault === 'string' ? onFault : `restart(${onFault.restarts})`
  return policy === 'fail' ? definition.name : `${definition.name}, ${policy}`
}

/** The port, the port where it leads when that has another name, and what is unusual about the wire. */
const wireWords = ({ from, to, holds, whenFull }: GraphWire): string => {
  const ports = from.port === to.port ? from.port : `${from.port} → ${to.port}`
  const bound = [
    holds === undefined ? '' : `${holds.count} ${holds.unit}`,
    whenFull === 'block' ? '' : whenFull,
  ].filter((word) => word !== '')
  return bound.length === 0 ? ports : `${ports} (${bound.join(', ')})`
}

/** What the project takes, in words. */
export const inputWords = ({ inputs: { encodings, sampleRatesHz, channels } }: ProjectGraph): string => {
  if (encodings.length === 1 && sampleRatesHz?.length === 1 && channels.length === 1) {
    const [[encoding], [sampleRateHz], [count]] = [encodings, sampleRatesHz, channels]
    if (encoding !== undefined && sampleRateHz !== undefined && count !== undefined) {
      return formatWords({ encoding, sampleRateHz, channels: count })
    }
  }
  const rates = sampleRatesHz === undefined ? 'any rate' : `${sampleRatesHz.join(' or ')} Hz`
  const counts = channels.length === 2 ? 'mono or stereo' : channels[0] === 1 ? 'mono' : 'stereo'
  return `${encodings.join(' or ')}, ${rates}, ${counts}`
}
