import { formatWords } from './graph-formats.js'
import type { GraphNode, GraphWire, ProjectGraph } from './project-graph.js'

/**
 * The graph as a tree that a person reads: below each node where its outputs lead. A node that two wires lead to is there
 * once in full, and after that as `(above)`. What is unusual about a node, and about the wire to it, stands behind it.
 */
export const drawGraph = (graph: ProjectGraph): string => {
  const seen = new Set<string>()
  const lines: { readonly left: string; readonly right: string }[] = []
  const draw = (node: GraphNode, bound: string, lead: string, indent: string): void => {
    const isAgain = seen.has(node.id)
    seen.add(node.id)
    lines.push({ left: `${lead}${node.id}`, right: `${isAgain ? '(above)' : kindOf(node)}${bound}` })
    if (isAgain) return
    const wires = graph.wires.filter(({ from }) => from.node === node.id)
    for (const [at, wire] of wires.entries()) {
      const [corner, line] = at === wires.length - 1 ? ['└', ' '] : ['├', '│']
      const next = graph.nodes.find(({ id }) => id === wire.to.node)
      if (next === undefined) continue
      draw(next, boundOf(wire), `${indent}${corner}─ ${portsOf(wire)} ─▶ `, `${indent}${line}  `)
    }
  }
  for (const node of graph.nodes) {
    if (!graph.wires.some(({ to }) => to.node === node.id)) draw(node, '', '', '')
  }
  const widest = Math.max(...lines.map(({ left }) => left.length))
  return lines.map(({ left, right }) => `${left.padEnd(widest)}  ${right}`).join('\n')
}

const kindOf = ({ definition, onFault }: GraphNode): string => {
  const policy = typeof onFault === 'string' ? onFault : `restart(${onFault.restarts})`
  return policy === 'fail' ? definition.name : `${definition.name}, ${policy}`
}

const portsOf = ({ from, to }: GraphWire): string => (from.port === to.port ? from.port : `${from.port} → ${to.port}`)

const boundOf = ({ holds, whenFull }: GraphWire): string => {
  const words = [
    holds === undefined ? [] : [`${holds.count} ${holds.unit}`],
    whenFull === 'block' ? [] : [whenFull],
  ].flat()
  return words.length === 0 ? '' : `; ${words.join(', ')}`
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
