import { either } from 'fp-ts'
import { encodings } from '../../audio/format.js'
import { SpeechError } from '../../errors/speech-error.js'
import { entry } from '../nodes/core/entry.js'
import type { AnyNodeDefinition } from '../nodes/core/node.js'
import { publisher } from '../nodes/core/publisher.js'
import type { GraphNode, GraphWire, ProjectGraph } from './project-graph.js'

/** A project in code: the client's audio to one node, and what that tells to the client. */
export const lineGraph = (definition: AnyNodeDefinition): ProjectGraph => {
  const nodes = [entry, definition, publisher].map(plainNode)
  const to = (port: string) => ({ node: publisher.name, port })
  const wires = Object.entries(definition.outputs).map(([port, kind]): GraphWire => ({
    from: { node: definition.name, port },
    to: to(kind === 'audio' ? 'audio' : 'events'),
    kind,
    whenFull: 'block',
  }))
  const input: GraphWire = {
    from: { node: entry.name, port: 'audio' },
    to: { node: definition.name, port: 'audio' },
    kind: 'audio',
    whenFull: 'block',
  }
  return {
    version: '1',
    inputs: { encodings, channels: [1, 2] },
    resources: new Map(),
    limits: {},
    nodes,
    wires: [input, ...wires],
  }
}

const plainNode = (definition: AnyNodeDefinition): GraphNode => {
  const configured = definition.configure({})
  if (either.isLeft(configured))
    throw new SpeechError('internal', `The node ${definition.name} has no options of its own.`)
  return { id: definition.name, definition, configured: configured.right, onFault: definition.onFault ?? 'fail' }
}
