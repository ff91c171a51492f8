import { either } from 'fp-ts'
import type { ModelName, Resource } from '../../nodes/core/node.js'
import type { CheckedNode } from './check-nodes.js'
import type { ProjectFile, ResourceEntry } from '../format/project-file.js'
import type { ProjectFacts } from './project-facts.js'
import type { ProjectFaults } from '../format/project-fault.js'
import type { Span } from '../format/project-fault.js'
import { pathTo } from '../format/tree-table.js'

/** Loads the resources. A missing one is a fault, one that no node uses a warning. */
export const checkResources = (
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
