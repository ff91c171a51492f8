import { recognizer } from '../nodes/speech/recognizer.js'
import { lineGraph } from './line-graph.js'
import { graphProject, type Project } from './project.js'

/** The project that comes with the service. */
export const transcribeName = 'transcribe'

/** The project `transcribe`, once for each tenant: entry, recognizer, publisher. `model` is for sessions that name none. */
export const transcribeProjects = (tenants: readonly string[], model: string): readonly Project[] => {
  const graph = lineGraph(recognizer)
  return tenants.map((tenant) => graphProject({ tenant, name: transcribeName, version: '1' }, graph, { name: model }))
}
