import { either } from 'fp-ts'
import { ProjectFaults, type ProjectFault } from '../format/project-fault.js'
import type { ProjectFile } from '../format/project-file.js'
import type { ProjectGraph } from '../format/project-graph.js'
import { maxProjectBytes } from '../format/project-keys.js'
import { readProject } from '../format/read-project.js'
import type { ReadYaml } from '../format/read-yaml.js'
import { checkFormats } from './audio-formats.js'
import { checkNodes } from './check-nodes.js'
import { checkResources } from './check-resources.js'
import { checkShape } from './check-shape.js'
import { checkWires } from './check-wires.js'
import type { ProjectFacts } from './project-facts.js'

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
