import { either } from 'fp-ts'
import { encodings } from 'rxspeech/internal/audio/format'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { entry, publisher } from '../nodes/core/endpoints.js'
import type { AnyNodeDefinition } from '../nodes/core/node.js'
import { recognizer } from '../nodes/speech/recognizer.js'
import type { GraphNode, GraphWire, ProjectGraph } from './format/project-graph.js'
import { graphProject, type Project } from './project.js'

/** The name of the built-in project. */
export const transcribeName = 'transcribe'

/** The project `transcribe` of each tenant: entry, recognizer, publisher. `model`: that of sessions that name none. */
export const transcribeProjects = (tenants: readonly string[], model: string): readonly Project[] => {
  const graph = singleNodeGraph(recognizer)
  return tenants.map((tenant) => graphProject({ tenant, name: transcribeName, version: '1' }, graph, { name: model }))
}

/** A graph of three nodes: the client's audio goes to one node, and the output of that node to the client. */
export const singleNodeGraph = (definition: AnyNodeDefinition): ProjectGraph => {
  const nodes = [entry, definition, publisher].map(withoutOptions)
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

const withoutOptions = (definition: AnyNodeDefinition): GraphNode => {
  const configured = definition.configure({})
  if (either.isLeft(configured))
    throw new SpeechError('internal', `The node ${definition.name} has no options of its own.`)
  return { id: definition.name, definition, configured: configured.right, onFault: definition.onFault ?? 'fail' }
}
