import { encodings, maxSampleRateHz, minSampleRateHz } from 'rxspeech/internal/audio/format'
import type { FaultPolicy, ModelName } from '../../nodes/core/node.js'
import type { ProjectFaults, Span } from './project-fault.js'
import type {
  EndEntry,
  Located,
  NodeEntry,
  ProjectFile,
  ResourceEntry,
  ResourceSource,
  WireEntry,
} from './project-file.js'
import { whenFullPolicies, type Capacity, type ProjectInputs, type ProjectLimits } from './project-graph.js'
import { capacityRanges, limitRanges, maxNodes, maxResources, maxWires, projectKeys } from './project-keys.js'
import type { YamlNode } from './read-yaml.js'
import { listIn, numberIn, pathTo, textOf, TreeTable, versionOf, wordIn } from './tree-table.js'

const idPattern = /^[a-zA-Z][\w-]{0,63}$/
const idWords = 'must be a name of letters, digits, _ and - that begins with a letter'

/** Reads a project file. An invalid part is a fault and omitted. */
export const readProject = (root: YamlNode, faults: ProjectFaults): ProjectFile => {
  const table = new TreeTable(root, '', faults, projectKeys.project)
  const version = table.value('version', 'a version such as 1 or 1.2', located(versionOf), true)
  const name = table.value('name', 'a text that is not empty', located(textOf))
  const modelPart = table.at('model')
  const model = modelPart === undefined ? undefined : readModel(modelPart, 'model', faults)
  return {
    version,
    name,
    model: model === undefined || modelPart === undefined ? undefined : { value: model, span: modelPart.span },
    inputs: readInputs(table.at('inputs'), faults),
    resources: readResources(table.at('resources'), faults),
    nodes: readNodes(table, faults),
    wires: readWires(table, faults),
    limits: readLimits(table.at('limits'), faults),
  }
}

const located =
  <A>(read: (node: YamlNode) => A | undefined) =>
  (node: YamlNode): Located<A> | undefined => {
    const value = read(node)
    return value === undefined ? undefined : { value, span: node.span }
  }

/** A model is a name, or a table of tenant, name and version. */
const readModel = (node: YamlNode, path: string, faults: ProjectFaults): ModelName | undefined => {
  const short = textOf(node)
  if (short !== undefined) return { name: short }
  const table = new TreeTable(node, path, faults, projectKeys.model)
  if (node.kind !== 'map') return undefined
  const name = table.value('name', 'the name of a model', textOf, true)
  const tenant = table.value('tenant', 'a text that is not empty', textOf)
  const version = table.value('version', 'a version such as 1 or 1.2', versionOf)
  if (name === undefined) return undefined
  return { name, tenant, version }
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
    sampleRatesHz,
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
  const file = table.value('file', 'the path of a file in the same folder', textOf)
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
    const short = textOf(value)
    if (short !== undefined) return { id, idSpan, path, kind: { value: short, span: value.span } }
    const part = new TreeTable(value, path, faults, projectKeys.node)
    const kind = part.value('node', 'the name of a node', located(textOf), true)
    const options = part.at('options')
    const onFault = part.value('onFault', 'fail, bypass or restart(n), n from 1 to 100', policyOf)
    return { id, idSpan, path, kind, options, onFault }
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
    const [min, max] = limitRanges[key]
    const value = table.value(key, `a whole number from ${min} to ${max}`, numberIn(min, max))
    return value === undefined ? [] : [[key, value] as const]
  })
  return Object.fromEntries(limits)
}

const endWords = 'a node and its port, such as split.left'

/** A wire is a table or a line `a.port -> b.port`. */
const readWires = (table: TreeTable, faults: ProjectFaults): readonly WireEntry[] => {
  const node = table.at('wires')
  if (node?.kind !== 'list') {
    const message = node === undefined ? 'is missing; it must be a list of wires' : 'must be a list of wires'
    faults.add(node?.span ?? table.span, 'wires', message)
    return []
  }
  if (node.items.length > maxWires) faults.add(node.span, 'wires', `must be at most ${maxWires}`)
  return node.items
    .slice(0, maxWires)
    .flatMap((item, index) => readWire(item, pathTo('wires', String(index)), faults) ?? [])
}

const readWire = (node: YamlNode, path: string, faults: ProjectFaults): WireEntry | undefined => {
  const line = textOf(node)
  if (line !== undefined) return readLine(line, node.span, path, faults)
  const table = new TreeTable(node, path, faults, projectKeys.wire)
  if (node.kind !== 'map') return undefined
  const from = table.value('from', endWords, endOf, true)
  const to = table.value('to', endWords, endOf, true)
  const ranges = Object.entries(capacityRanges).map(([unit, [min, max]]) => `${min} to ${max} ${unit}`)
  const capacity = table.value('capacity', ranges.join(', or '), located(capacityOf))
  const whenFull = table.value('whenFull', `one of ${whenFullPolicies.join(', ')}`, wordIn(whenFullPolicies))
  if (from === undefined || to === undefined) return undefined
  return { path, span: node.span, from, to, capacity, whenFull }
}

const readLine = (line: string, span: Span, path: string, faults: ProjectFaults): WireEntry | undefined => {
  const parts = line.split('->').map((part) => endFrom(part.trim(), span))
  const [from, to] = parts
  if (from !== undefined && to !== undefined && parts.length === 2) return { path, span, from, to }
  faults.add(span, path, 'must be a line such as split.left -> agent.audio')
  return undefined
}

const endOf = (node: YamlNode): EndEntry | undefined => endFrom(textOf(node) ?? '', node.span)

const endFrom = (text: string, span: Span): EndEntry | undefined => {
  const [, node, port] = /^([a-zA-Z][\w-]*)(?:\.([a-zA-Z]\w*))?$/.exec(text) ?? []
  return node === undefined ? undefined : { node, span, port }
}

const capacityOf = (node: YamlNode): Capacity | undefined => {
  const [, digits, unit] = /^(\d{1,6}) ?(ms|items)$/.exec(textOf(node) ?? '') ?? []
  if (unit !== 'ms' && unit !== 'items') return undefined
  const [count, [min, max]] = [Number(digits), capacityRanges[unit]]
  return count >= min && count <= max ? { unit, count } : undefined
}
