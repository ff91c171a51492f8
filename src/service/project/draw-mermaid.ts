import type { GraphNode, ProjectGraph } from './project-graph.js'

/** A text within quotes of Mermaid, where only its own entities are escapes. */
const quoted = (text: string): string =>
  `"${text.replace(/[^\w .,:>→()-]/gu, (character) => `#${character.codePointAt(0) ?? 0};`)}"`

const shapes: Readonly<Record<string, readonly [string, string]>> = { entry: ['([', '])'], publisher: ['([', '])'] }

/** The graph as a Mermaid flowchart. Nodes are numbered, so that no id is a word of Mermaid's. */
export const drawMermaid = ({ nodes, wires }: ProjectGraph): string => {
  const name = (id: string): string => `n${nodes.findIndex((node) => node.id === id)}`
  const box = ({ id, definition }: GraphNode): string => {
    const [open, close] = shapes[definition.name] ?? ['[', ']']
    return `  ${name(id)}${open}${quoted(id === definition.name ? id : `${id}: ${definition.name}`)}${close}`
  }
  const arrows = wires.map(({ from, to }) => {
    const label = from.port === to.port ? from.port : `${from.port} → ${to.port}`
    return `  ${name(from.node)} -->|${quoted(label)}| ${name(to.node)}`
  })
  return ['flowchart LR', ...nodes.map(box), ...arrows].join('\n')
}
