import { encodings, maxSampleRateHz, minSampleRateHz } from '../../audio/format.js'
import type { FaultPolicy, ModelName } from '../nodes/core/node.js'
import type { NodeEntry, ProjectFile, ResourceEntry, ResourceSource } from './project-file.js'
import type { ProjectInputs, ProjectLimits } from './project-graph.js'
import type { ProjectFaults } from './project-fault.js'
import { limitRanges, maxNodes, maxResources, projectKeys } from './project-keys.js'
import type { YamlNode } from './read-yaml.js'
import { readWires } from './read-wires.js'
import { listIn, numberIn, pathTo, textOf, TreeTable, versionOf, wordIn } from './tree-table.js'

const idPattern = /^[a-zA-Z][\w-]{0,63}$/
const idWords = 'must be a name of letters, digits, _ and - that begins with a letter'

/** Reads the tree of a project file; what does not fit is a fault and left out. */
export const readProject = (root: YamlNode, faults: ProjectFaults): ProjectFile => {
  const table = new TreeTable(root, '', faults, projectKeys.project)
  const version = table.value('version', 'a version such as 1 or 1.2', placed(versionOf), true)
  const name = table.value('name', 'a text that is not empty', placed(textOf))
  const modelPart = table.at('model')
  const model = modelPart === undefined ? undefined : readModel(modelPart, 'model', faults)
  return {
    ...(version === undefined ? {} : { version }),
    ...(name === undefined ? {} : { name }),
    ...(model === undefined || modelPart === undefined ? {} : { model: { value: model, span: modelPart.span } }),
    inputs: readInputs(table.at('inputs'), faults),
    resources: readResources(table.at('resources'), faults),
    nodes: readNodes(table, faults),
    wires: readWires(table, faults),
    limits: readLimits(table.at('limits'), faults),
  }
}

const placed =
  <A>(read: (node: YamlNode) => A | undefined) =>
  (node: YamlNode) => {
    const value = read(node)
    return value === undefined ? undefined : { value, span: node.span }
  }

/** A name alone, or a table of tenant, name and version. */
const readModel = (node: YamlNode, path: string, faults: ProjectFaults): ModelName | undefined => {
  const alone = textOf(node)
  if (alone !== undefined) return { name: alone }
  const table = new TreeTable(node, path, faults, projectKeys.model)
  if (node.kind !== 'map') return undefined
  const name = table.value('name', 'the name of a model', textOf, true)
  const tenant = table.value('tenant', 'a text that is not empty', textOf)
  const version = table.value('version', 'a version such as 1 or 1.2', versionOf)
  if (name === undefined) return undefined
  return { name, ...(tenant === undefined ? {} : { tenant }), ...(version === undefined ? {} : { version }) }
}

const readInputs = (node: YamlNode | undefined, faults: ProjectFaults): ProjectInputs => {
  const all: ProjectInputs = { encodings, channels: [1, 2] }
  if (node === undefined) return all
  const table = new TreeTable(node, 'inputs', faults, projectKeys.inputs)
  const rate = numberIn(minSampleRateHz, maxSampleRateHz)
  const sampleRatesHz = table.value(
    'sampleRatesHz',
    `whole numbers from ${minSampleRateHz} to ${maxSampleRateHz}`,
    listIn(rate),
  )
  const channel = (part: YamlNode): 1 | 2 | undefined =>
    part.kind === 'scalar' && (part.value === 1 || part.value === 2) ? part.value : undefined
  return {
    encodings: table.value('encodings', `of ${encodings.join(', ')}`, listIn(wordIn(encodings))) ?? all.encodings,
    channels: table.value('channels', '1, 2 or both', listIn(channel)) ?? all.channels,
    ...(sampleRatesHz === undefined ? {} : { sampleRatesHz }),
  }
}

const readResources = (node: YamlNode | undefined, faults: ProjectFaults): readonly ResourceEntry[] => {
  if (node === undefined) return []
  const { entries } = new TreeTable(node, 'resources', faults)
  if (entries.length > maxResources) faults.add(node.span, 'resources', `must be at most ${maxResources}`)
  return entries.slice(0, maxResources).flatMap(({ key: name, keySpan: span, value }): readonly ResourceEntry[] => {
    const path = pathTo('resources', name)
    if (!idPattern.test(name)) faults.add(span, path, idWords)
    const source = readSource(value, path, faults)
    return source === undefined ? [] : [{ name, path, span, source }]
  })
}

const readSource = (node: YamlNode, path: string, faults: ProjectFaults): ResourceSource | undefined => {
  const table = new TreeTable(node, path, faults, projectKeys.resource)
  if (node.kind !== 'map') return undefined
  const given = projectKeys.resource.filter((key) => table.has(key))
  if (given.length !== 1) {
    faults.add(node.span, path, `must have one of ${projectKeys.resource.join(', ')}`)
    return undefined
  }
  const [modelPart, secretPart] = [table.at('model'), table.at('secret')]
  if (modelPart !== undefined) {
    const model = readModel(modelPart, pathTo(path, 'model'), faults)
    return model === undefined ? undefined : { kind: 'model', model }
  }
  if (secretPart !== undefined) {
    const secret = new TreeTable(secretPart, pathTo(path, 'secret'), faults, projectKeys.secret)
    const name = (part: YamlNode): string | undefined => /^[A-Za-z_]\w*$/.exec(textOf(part) ?? '')?.[0]
    const env = secret.value('env', 'the name of an environment variable', name, true)
    return env === undefined ? undefined : { kind: 'secret', env }
  }
  const file = table.value('file', 'the path of a file beside this one', textOf)
  return file === undefined ? undefined : { kind: 'file', file }
}

const readNodes = (table: TreeTable, faults: ProjectFaults): readonly NodeEntry[] => {
  const node = table.at('nodes')
  if (node === undefined) {
    faults.add(table.span, 'nodes', 'is missing; it must be a table of nodes')
    return []
  }
  const { entries } = new TreeTable(node, 'nodes', faults)
  if (entries.length > maxNodes) faults.add(node.span, 'nodes', `must be at most ${maxNodes}`)
  return entries.slice(0, maxNodes).map(({ key: id, keySpan: idSpan, value }): NodeEntry => {
    const path = pathTo('nodes', id)
    if (!idPattern.test(id)) faults.add(idSpan, path, idWords)
    const alone = textOf(value)
    if (alone !== undefined) return { id, idSpan, path, kind: { name: alone, span: value.span } }
    const part = new TreeTable(value, path, faults, projectKeys.node)
    const kind = part.value('node', 'the name of a node', placed(textOf), true)
    const options = part.at('options')
    const onFault = part.value('onFault', 'fail, bypass or restart(n), n from 1 to 100', policyOf)
    return {
      id,
      idSpan,
      path,
      ...(kind === undefined ? {} : { kind: { name: kind.value, span: kind.span } }),
      ...(options === undefined ? {} : { options }),
      ...(onFault === undefined ? {} : { onFault }),
    }
  })
}

const policyOf = (node: YamlNode): FaultPolicy | undefined => {
  const text = textOf(node)
  if (text === 'fail' || text === 'bypass') return text
  const restarts = Number(/^restart\((\d{1,3})\)$/.exec(text ?? '')?.[1] ?? 0)
  return restarts >= 1 && restarts <= 100 ? { restarts } : undefined
}

const readLimits = (node: YamlNode | undefined, faults: ProjectFaults): ProjectLimits => {
  if (node === undefined) return {}
  const table = new TreeTable(node, 'limits', faults, projectKeys.limits)
  const limits = projectKeys.limits.flatMap((key) => {
    const [least, most] = limitRanges[key]
    const value = table.value(key, `a whole number from ${least} to ${most}`, numberIn(least, most))
    return value === undefined ? [] : [[key, value] as const]
  })
  return Object.fromEntries(limits)
}
