import { either } from 'fp-ts'
import { SpeechError } from '../../errors/speech-error.js'
import type { ModelName } from '../nodes/core/node.js'
import { checkProject } from './check-project.js'
import type { ProjectFacts } from './project-facts.js'
import { faultLine } from './project-fault.js'
import { graphProject, type Project, type ProjectName } from './project.js'
import { loadYaml } from './read-yaml.js'

export interface TextProjectOptions {
  readonly facts: Pick<ProjectFacts, 'nodes' | 'hasModel' | 'recordings'>
  readonly model: ModelName
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * A project from its text, which is read at its first session: for services whose only user is their developer, who is
 * told of its faults by the refusal, `project-denied`. It has no folder, and so no resource that is a file.
 */
export const textProject = (place: ProjectName, text: string, { facts, model, env }: TextProjectOptions): Project => {
  let loading: Promise<Project> | undefined
  const load = async (): Promise<Project> => {
    const { graph, faults } = checkProject(text, await loadYaml(), {
      ...facts,
      readFile: () => either.left('names a file, and a project that is given as text has none'),
      secret: (name) => env[name],
      isHere: true,
    })
    if (graph !== undefined) return graphProject(place, graph, model)
    const lines = faults.map((fault) => faultLine(`${place.name}.yaml`, text, fault))
    throw new SpeechError('project-denied', `The project ${place.name} is broken: ${lines.join('; ')}`)
  }
  return {
    ...place,
    open: async (session) => (await (loading ??= load())).open(session),
  }
}
