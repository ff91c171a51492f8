import { either } from 'fp-ts'
import { ProjectFaults, type ProjectFault, type Span } from '../format/project-fault.js'
import type { ProjectFile, ResourceEntry } from '../format/project-file.js'
import type { ProjectGraph } from '../format/project-graph.js'
import { maxProjectBytes } from '../format/project-keys.js'
import { readProject } from '../format/read-project.js'
import type { ReadYaml } from '../format/read-yaml.js'
import { checkFormats } from './audio-formats.js'
import { checkNodes, type CheckedNode } from './check-nodes.js'
import { checkShape } from './check-shape.js'
import { checkWires } from './check-wires.js'
import type { ProjectFacts } from './project-facts.js'
import type { ModelName, Resource } from '../../nodes/core/node.js'
import { pathTo } from '../format/tree-table.js'

/** The result of a check. */
export interface ProjectCheck {
  /** The graph of a project that can run. */
  readonly graph?: ProjectGraph | undefined
  /** Errors and warnings in the order of the file. Without a graph there is at least one error. */
  readonly faults: readonly ProjectFault[]
}

/** Checks the text of a project file and finds all faults at once. Pure, except for the facts. */
export const checkProject = (text: string, readYaml: ReadYaml, facts: ProjectFacts): ProjectCheck => {
  const faults = new ProjectFaults()
  if (Buffer.byteLength(text) > maxProjectBytes) {
    faults.add({ from: 0, to: 0 }, '', `must not be longer than ${maxProjectBytes} bytes`)
    return { faults: faults.inOrder }
  }
  const tree = readYaml(text, faults)
  if (tree === undefined) return { faults: faults.inOrder }
  const file = readProject(tree, faults)
  checkPlace(file, facts, faults)
  const nodes = checkNodes(file, facts, faults)
  const resources = checkResources(file, nodes, facts, faults)
  const wires = checkWires(file, nodes, faults)
  const ordered = checkShape(file, nodes, wires, faults)
  if (either.isRight(ordered)) checkFormats(ordered.right, wires, file.inputs, faults)
  if (faults.hasErrors || either.isLeft(ordered) || file.version === undefined) return { faults: faults.inOrder }
  const { inputs, limits, version, model } = file
  return {
    faults: faults.inOrder,
    graph: {
      version: version.value,
      inputs,
      limits,
      resources,
      nodes: ordered.right.map(({ entry: _entry, ...node }) => node),
      wires: wires.map(({ entry: _entry, ...wire }) => wire),
      model: model?.value,
    },
  }
}

/** The version and the name in the file must be those of its path. */
const checkPlace = ({ version, name }: ProjectFile, facts: ProjectFacts, faults: ProjectFaults): void => {
  const report = facts.isHere ? faults.add.bind(faults) : faults.warn.bind(faults)
  const { versionOfFile, nameOfFile } = facts
  if (version !== undefined && versionOfFile !== undefined && version.value !== versionOfFile) {
    report(version.span, 'version', `is ${version.value}, but the name of the file is ${versionOfFile}`)
  }
  if (name !== undefined && nameOfFile !== undefined && name.value !== nameOfFile) {
    report(name.span, 'name', `is ${name.value}, but the folder of the file is ${nameOfFile}`)
  }
}

/** Loads the resources. A missing one is a fault, one that no node uses a warning. */
const checkResources = (
  file: ProjectFile,
  nodes: readonly CheckedNode[],
  facts: ProjectFacts,
  faults: ProjectFaults,
): ReadonlyMap<string, Resource> => {
  const used = new Set(nodes.flatMap(({ configured }) => configured.uses.map(({ resource }) => resource)))
  // A node with a fault may be the one that uses a resource.
  const allKnown = nodes.length === file.nodes.length
  for (const { name, path, span } of file.resources) {
    if (allKnown && !used.has(name)) faults.warn(span, path, 'is not used by any node')
  }
  if (file.model !== undefined) checkModel(file.model.value, 'model', file.model.span, facts, faults)
  return new Map(
    file.resources.flatMap((entry) => {
      const resource = loadResource(entry, facts, faults)
      return resource === undefined ? [] : [[entry.name, resource] as const]
    }),
  )
}

const loadResource = (entry: ResourceEntry, facts: ProjectFacts, faults: ProjectFaults): Resource | undefined => {
  const { source, path, span } = entry
  switch (source.kind) {
    case 'model':
      checkModel(source.model, pathTo(path, 'model'), span, facts, faults)
      return source
    case 'file': {
      const bytes = facts.readFile(source.file)
      if (either.isRight(bytes)) return { kind: 'file', fileName: source.file, bytes: bytes.right }
      faults.add(span, pathTo(path, 'file'), bytes.left)
      return undefined
    }
    case 'secret': {
      const value = facts.secret(source.env)
      const message = `names ${source.env}, which is not set in the environment`
      if (value === undefined || value === '') {
        const report = facts.isHere ? faults.add.bind(faults) : faults.warn.bind(faults)
        report(span, pathTo(path, 'secret.env'), message)
      }
      return { kind: 'secret', reveal: () => value ?? '' }
    }
  }
}

const checkModel = (model: ModelName, path: string, span: Span, facts: ProjectFacts, faults: ProjectFaults): void => {
  if (facts.hasModel === undefined || facts.hasModel(model)) return
  const { tenant = '', name = '', version = '' } = model
  const label = [tenant, name, version].filter((part) => part !== '').join('/')
  faults.add(span, path, `names ${label}, which is not among the models here`)
}
