import { either } from 'fp-ts'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { unreadableFolder } from 'rxspeech-engines/models/model-folders'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { decodeText } from 'rxspeech-engines/models/decode-text'
import type { ModelName } from '../nodes/core/node.js'
import { checkProject, type ProjectCheck } from './check/check-project.js'
import { readResourceFile, type ProjectFacts } from './check/project-facts.js'
import { faultLine } from './format/project-fault.js'
import { maxProjectBytes } from './format/project-keys.js'
import { loadYaml, type ReadYaml } from './format/read-yaml.js'
import { graphProject, type Project, type ProjectName } from './project.js'

export interface TextProjectOptions {
  readonly facts: Pick<ProjectFacts, 'nodes' | 'hasModel' | 'recordings'>
  /** The model of a project that names none. */
  readonly model: ModelName
  readonly env: Readonly<Record<string, string | undefined>>
}

export interface LoadProjectsOptions extends TextProjectOptions {
  /** Folders of the form `<tenant>/<name>/<version>.yaml`. */
  readonly folders: readonly string[]
}

/** A project file with the names that its path gives it. */
interface ProjectPlace extends ProjectName {
  readonly file: string
}

export interface LoadedProject {
  readonly place: ProjectPlace
  readonly project: Project
  readonly check: ProjectCheck
  readonly problem?: SpeechError | undefined
}

/**
 * Reads and checks all projects of the folders once. A project with faults is loaded too and refuses every session.
 * Rejects with `invalid-options` for a folder that cannot be read, and with `missing-dependency`.
 */
export const loadProjects = async (options: LoadProjectsOptions): Promise<readonly LoadedProject[]> => {
  const places = options.folders.flatMap(projectPlaces)
  if (places.length === 0) return []
  const readYaml = await loadYaml()
  return places.map((place) => loadProject(place, readYaml, options))
}

const namesIn = (folder: string): readonly string[] =>
  readdirSync(folder)
    .filter((name) => !name.startsWith('.'))
    .toSorted()

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

const projectPlaces = (folder: string): readonly ProjectPlace[] => {
  const root = resolve(folder)
  const foldersIn = (path: string): readonly string[] => namesIn(path).filter((name) => isFolder(join(path, name)))
  try {
    return foldersIn(root).flatMap((tenant) =>
      foldersIn(join(root, tenant)).flatMap((name) =>
        namesIn(join(root, tenant, name)).flatMap((file): readonly ProjectPlace[] => {
          const [, version] = /^(.+)\.ya?ml$/.exec(file) ?? []
          return version === undefined ? [] : [{ tenant, name, version, file: join(root, tenant, name, file) }]
        }),
      ),
    )
  } catch (cause) {
    throw unreadableFolder('projects', folder, cause)
  }
}

const loadProject = (place: ProjectPlace, readYaml: ReadYaml, options: LoadProjectsOptions): LoadedProject => {
  const { tenant, name, version, file } = place
  const label = `${tenant}/${name}/${version}`
  const text = readText(file)
  const check: ProjectCheck =
    text === undefined
      ? {
          faults: [
            {
              severity: 'error',
              path: '',
              message: `cannot be read, or is longer than ${maxProjectBytes} bytes`,
              span: { from: 0, to: 0 },
            },
          ],
        }
      : checkProject(text, readYaml, {
          ...options.facts,
          readFile: readResourceFile(dirname(file)),
          secret: (env) => options.env[env],
          versionOfFile: version,
          nameOfFile: name,
          isHere: true,
        })
  if (check.graph !== undefined) return { place, check, project: graphProject(place, check.graph, options.model) }
  const lines = check.faults.map((fault) => faultLine(file, text ?? '', fault))
  const problem = new SpeechError('invalid-project', `Project ${label}: ${lines.join('; ')}`)
  return { place, check, problem, project: brokenProject(place, problem) }
}

/** A project with faults. The client does not get the fault; the operator finds it in the log. */
const brokenProject = (place: ProjectName, problem: SpeechError): Project => ({
  tenant: place.tenant,
  name: place.name,
  version: place.version,
  open: () => {
    const text = 'The project cannot be used now; tell the operator of the service.'
    return Promise.reject(new SpeechError('project-denied', text, { cause: problem }))
  },
})

const readText = (file: string): string | undefined => {
  try {
    return statSync(file).size > maxProjectBytes ? undefined : decodeText(readFileSync(file))
  } catch {
    return undefined
  }
}

/**
 * A project from a text, which is checked when its first session starts. For services in tests: the refusal,
 * `project-denied`, names the faults. Without a folder it has no file resources.
 */
export const textProject = (name: ProjectName, text: string, { facts, model, env }: TextProjectOptions): Project => {
  let loading: Promise<Project> | undefined
  const load = async (): Promise<Project> => {
    const { graph, faults } = checkProject(text, await loadYaml(), {
      ...facts,
      readFile: () => either.left('names a file, and a project given as text has none'),
      secret: (variable) => env[variable],
      isHere: true,
    })
    if (graph !== undefined) return graphProject(name, graph, model)
    const lines = faults.map((fault) => faultLine(`${name.name}.yaml`, text, fault))
    throw new SpeechError('project-denied', `The project ${name.name} is broken: ${lines.join('; ')}`)
  }
  return {
    ...name,
    open: async (session) => (await (loading ??= load())).open(session),
  }
}
