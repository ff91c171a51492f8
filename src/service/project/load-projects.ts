import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { SpeechError } from '../../errors/speech-error.js'
import type { ModelName } from '../nodes/core/node.js'
import { checkProject, type ProjectCheck } from './check-project.js'
import type { ProjectFacts } from './project-facts.js'
import { faultLine } from './project-fault.js'
import { maxProjectBytes } from './project-keys.js'
import { graphProject, type Project, type ProjectName } from './project.js'
import { loadYaml, type ReadYaml } from './read-yaml.js'
import { readResourceFile } from './resource-file.js'

export interface LoadProjectsOptions {
  /** Folders of the form `<tenant>/<name>/<version>.yaml`. */
  readonly folders: readonly string[]
  readonly facts: Pick<ProjectFacts, 'nodes' | 'hasModel' | 'recordings'>
  /** The model of a project that names none. */
  readonly model: ModelName
  readonly env: Readonly<Record<string, string | undefined>>
}

/** A project file by its place. */
export interface ProjectPlace extends ProjectName {
  readonly file: string
}

export interface LoadedProject {
  readonly place: ProjectPlace
  readonly project: Project
  readonly check: ProjectCheck
  readonly problem?: SpeechError
}

/**
 * Reads and checks every project of the folders, once, now. A project that is broken is there all the same, and refuses
 * every session. Rejects with `invalid-options` for a folder that can't be read, and `missing-dependency`.
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

/** Every project file of a folder, by its place. */
export const projectPlaces = (folder: string): readonly ProjectPlace[] => {
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
    throw new SpeechError('invalid-options', `The folder of projects ${folder} does not exist or can't be read.`, {
      cause,
    })
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
              message: `can't be read, or is longer than ${maxProjectBytes} bytes`,
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

/** What is wrong is the operator's business. */
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
    return statSync(file).size > maxProjectBytes ? undefined : readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
