import { readFile } from 'node:fs/promises'
import { basename, dirname, extname, resolve } from 'node:path'
import { allNodes, hasModelIn } from '../../service/start/models-and-projects.js'
import { soundswallower } from '../../service/engine/soundswallower/soundswallower.js'
import { createModelRegistry } from '../../service/engine/model-registry.js'
import { checkProject, type ProjectCheck } from '../../service/project/check/check-project.js'
import { drawGraph, drawMermaid, inputText } from '../../service/project/draw-graph.js'
import { loadProjects } from '../../service/project/load-projects.js'
import type { ProjectGraph } from '../../service/project/format/project-graph.js'
import { loadYaml } from '../../service/project/format/read-yaml.js'
import { readResourceFile, type ProjectFacts } from '../../service/project/check/project-facts.js'
import { excerptOf, faultLine, positionOf } from '../../service/project/format/project-fault.js'
import { customNodes } from '../options/custom-node-flags.js'
import { exitCode } from '../process/exit-code.js'
import { unreadable } from '../input/input-error.js'
import { QuietEnd, usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import type { Output } from '../process/output.js'

export interface ProjectCheckFlags {
  readonly models?: readonly string[]
  readonly nodes?: readonly string[]
  readonly mermaid?: boolean
  readonly json?: boolean
}

export interface ProjectListFlags {
  readonly projects?: readonly string[]
  readonly models?: readonly string[]
  readonly nodes?: readonly string[]
  readonly json?: boolean
}

/** `rxspeech project check`: the graph of a project that is sound, or all that is wrong with it and exit code 3. */
export const checkProjectFile = async (
  file: string,
  flags: ProjectCheckFlags,
  { env }: Pick<Host, 'env'>,
  output: Output,
): Promise<void> => {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw unreadable(file, error)
  })
  const folder = dirname(resolve(file))
  const check = checkProject(text, await loadYaml(), {
    ...(await factsOf(flags)),
    readFile: readResourceFile(folder),
    secret: (name) => env[name],
    versionOfFile: basename(file, extname(file)),
    nameOfFile: basename(folder),
    isHere: false,
  })
  if (flags.json === true) output.write(`${JSON.stringify(jsonOf(text, check))}\n`)
  else if (flags.mermaid === true && check.graph !== undefined) output.write(`${drawMermaid(check.graph)}\n`)
  else output.write(report(file, text, check))
  if (check.graph === undefined) throw new QuietEnd(exitCode.unreadable)
}

/** `rxspeech project list`: tenant, name, version and whether it is sound; exit code 3 where one is broken. */
export const listProjects = async (
  flags: ProjectListFlags,
  { env }: Pick<Host, 'env'>,
  output: Output,
): Promise<void> => {
  const folders = flags.projects ?? []
  if (folders.length === 0) throw usageError('There is nothing to list; give --projects DIR.')
  const loaded = await loadProjects({ folders, facts: await factsOf(flags), model: {}, env })
  const rows = loaded.map(({ place: { tenant, name, version }, problem }) => ({
    tenant,
    name,
    version,
    isSound: problem === undefined,
  }))
  if (flags.json === true) output.write(`${JSON.stringify(rows)}\n`)
  else {
    for (const { tenant, name, version, isSound } of rows)
      output.write(`${tenant}/${name}/${version}${isSound ? '' : '  broken'}\n`)
    for (const { problem } of loaded) if (problem !== undefined) output.write(`${problem.message}\n`)
  }
  if (rows.some(({ isSound }) => !isSound)) throw new QuietEnd(exitCode.unreadable)
}

const factsOf = async ({
  models: folders = [],
  nodes: custom,
}: Pick<ProjectCheckFlags, 'models' | 'nodes'>): Promise<Pick<ProjectFacts, 'nodes' | 'hasModel'>> => {
  const nodes = await allNodes({ customNodes: customNodes(custom) })
  if (folders.length === 0) return { nodes }
  const models = createModelRegistry({ folders, kinds: [soundswallower()] })
  // Found by their folders alone: no engine is started.
  await models.close()
  return { nodes, hasModel: hasModelIn(models) }
}

const report = (file: string, text: string, { graph, faults }: ProjectCheck): string => {
  const told = faults.map((fault) => `${faultLine(file, text, fault)}\n${indented(excerptOf(text, fault.span))}\n`)
  const count = faults.filter(({ severity }) => severity === 'error').length
  const end = graph === undefined ? `${count} ${count === 1 ? 'fault' : 'faults'}\n` : drawing(file, graph)
  return [...told, end].join('\n')
}

const indented = (text: string): string =>
  text
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n')

const drawing = (file: string, graph: ProjectGraph): string =>
  `OK ${file}: version ${graph.version}, takes ${inputText(graph)}\n\n${drawGraph(graph)}\n`

const jsonOf = (text: string, { graph, faults }: ProjectCheck): unknown => ({
  ok: graph !== undefined,
  faults: faults.map(({ span, ...fault }) => ({ ...fault, ...positionOf(text, span.from) })),
  ...(graph === undefined
    ? {}
    : {
        version: graph.version,
        nodes: graph.nodes.map(({ id, definition }) => ({ id, node: definition.name })),
        wires: graph.wires,
      }),
})
