import { formatText } from './check/audio-formats.js'
import type { GraphNode, GraphWire, ProjectGraph } from './format/project-graph.js'

/**
 * The graph as a tree: below each node the nodes that its outputs lead to. A node that several wires lead to is drawn
 * once in full and then as `(above)`. Policies and capacities that are not the default stand behind a node.
 */
export const drawGraph = (graph: ProjectGraph): string => {
  const seen = new Set<string>()
  const lines: { readonly left: string; readonly right: string }[] = []
  const draw = (node: GraphNode, wireLabel: string, prefix: string, indent: string): void => {
    const isRepeated = seen.has(node.id)
    seen.add(node.id)
    lines.push({ left: `${prefix}${node.id}`, right: `${isRepeated ? '(above)' : nodeLabel(node)}${wireLabel}` })
    if (isRepeated) return
    const wires = graph.wires.filter(({ from }) => from.node === node.id)
    for (const [index, wire] of wires.entries()) {
      const [corner, line] = index === wires.length - 1 ? ['└', ' '] : ['├', '│']
      const next = graph.nodes.find(({ id }) => id === wire.to.node)
      if (next === undefined) continue
      draw(next, boundsLabel(wire), `${indent}${corner}─ ${portLabel(wire)} ─▶ `, `${indent}${line}  `)
    }
  }
  for (const node of graph.nodes) {
    if (!graph.wires.some(({ to }) => to.node === node.id)) draw(node, '', '', '')
  }
  const width = Math.max(...lines.map(({ left }) => left.length))
  return lines.map(({ left, right }) => `${left.padEnd(width)}  ${right}`).join('\n')
}

const nodeLabel = ({ definition, onFault }: GraphNode): string => {
  const policy = typeof onFault === 'string' ? onFault : `restart(${onFault.restarts})`
  return policy === 'fail' ? definition.name : `${definition.name}, ${policy}`
}

const portLabel = ({ from, to }: Pick<GraphWire, 'from' | 'to'>): string =>
  from.port === to.port ? from.port : `${from.port} → ${to.port}`

const boundsLabel = ({ capacity, whenFull }: GraphWire): string => {
  const bounds = [
    capacity === undefined ? [] : [`${capacity.count} ${capacity.unit}`],
    whenFull === 'block' ? [] : [whenFull],
  ].flat()
  return bounds.length === 0 ? '' : `; ${bounds.join(', ')}`
}

/** The audio that the project accepts, as text. */
export const inputText = ({ inputs: { encodings, sampleRatesHz, channels } }: ProjectGraph): string => {
  if (encodings.length === 1 && sampleRatesHz?.length === 1 && channels.length === 1) {
    const [[encoding], [sampleRateHz], [count]] = [encodings, sampleRatesHz, channels]
    if (encoding !== undefined && sampleRateHz !== undefined && count !== undefined) {
      return formatText({ encoding, sampleRateHz, channels: count })
    }
  }
  const rates = sampleRatesHz === undefined ? 'any rate' : `${sampleRatesHz.join(' or ')} Hz`
  const counts = channels.length === 2 ? 'mono or stereo' : channels[0] === 1 ? 'mono' : 'stereo'
  return `${encodings.join(' or ')}, ${rates}, ${counts}`
}

/** A quoted text for Mermaid, which supports only its own entities as escapes. */
const quoted = (text: string): string =>
  `"${text.replace(/[^\w .,:>→()-]/gu, (character) => `#${character.codePointAt(0) ?? 0};`)}"`

const shapes: Readonly<Record<string, readonly [string, string]>> = { entry: ['([', '])'], publisher: ['([', '])'] }

/** The graph as a Mermaid flowchart. Nodes get numbers as names, because an id can be a reserved word of Mermaid. */
export const drawMermaid = ({ nodes, wires }: ProjectGraph): string => {
  const name = (id: string): string => `n${nodes.findIndex((node) => node.id === id)}`
  const box = ({ id, definition }: GraphNode): string => {
    const [open, close] = shapes[definition.name] ?? ['[', ']']
    return `  ${name(id)}${open}${quoted(id === definition.name ? id : `${id}: ${definition.name}`)}${close}`
  }
  const arrows = wires.map(
    ({ from, to }) => `  ${name(from.node)} -->|${quoted(portLabel({ from, to }))}| ${name(to.node)}`,
  )
  return ['flowchart LR', ...nodes.map(box), ...arrows].join('\n')
}
