import { readFile } from 'node:fs/promises'
import { basename, dirname, extname, resolve } from 'node:path'
import type { Command } from 'commander'
import { createModelRegistry } from 'rxspeech-engines/models/model-registry'
import { soundswallower } from 'rxspeech-engines/soundswallower/soundswallower'
import { checkProject, type ProjectCheck } from 'rxspeech-server/project/check/check-project'
import { type ProjectFacts, readResourceFile } from 'rxspeech-server/project/check/project-facts'
import { drawGraph, drawMermaid, inputText } from 'rxspeech-server/project/draw-graph'
import { excerptOf, faultLine, positionOf } from 'rxspeech-server/project/format/project-fault'
import type { ProjectGraph } from 'rxspeech-server/project/format/project-graph'
import { loadYaml } from 'rxspeech-server/project/format/read-yaml'
import { loadProjects } from 'rxspeech-server/project/load-projects'
import { decodeText } from 'rxspeech-engines/models/decode-text'
import { allNodes, hasModelIn } from '../../start/models-and-projects.js'
import { unreadable, unusable } from '../input/byte-source.js'
import { defineCommand, type CommandCall, type CommandContext } from '../parsing/command.js'
import { repeatedFlag, switchFlag, type FlagValues } from '../parsing/flags.js'
import { customNodes, text } from '../parsing/values.js'
import { exitCode, SilentExit, usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'

export const checkFlags = {
  models: repeatedFlag('<dir>', 'models that it may name; without them, names of models are not checked', text),
  nodes: repeatedFlag('<file or package>', 'custom nodes that it may name; may be repeated', customNodes),
  mermaid: switchFlag('print only the graph, as a Mermaid flowchart'),
  json: switchFlag('print the result as JSON'),
}

export const listFlags = {
  projects: repeatedFlag('<dir>', 'a folder of projects; may be repeated', text),
  models: repeatedFlag('<dir>', 'models that they may name', text),
  nodes: repeatedFlag('<file or package>', 'custom nodes that they may name; may be repeated', customNodes),
  json: switchFlag('print the list as JSON'),
}

/** `rxspeech project`. */
export const addProject = (command: Command, context: CommandContext): void => {
  command
    .helpCommand(false)
    .description('Checks and lists projects: YAML files that define the nodes that process a session.')
  defineCommand(command.command('check').summary('check a project file and draw its graph'), context, {
    description: 'Checks a project file, prints every fault with its position, and draws the graph if there is none.',
    argument: ['<file>', 'the project file, YAML'],
    flags: checkFlags,
    examples: [['rxspeech project check projects/Acme/calls/1.yaml', 'show its faults or its graph']],
    run: checkProjectFile,
  })
  defineCommand(command.command('list').summary('list the projects of folders'), context, {
    description:
      'Lists the projects of folders with the layout <tenant>/<name>/<version>.yaml, one per line, and marks broken ones.',
    flags: listFlags,
    run: listProjects,
  })
}

type Call<F extends typeof checkFlags | typeof listFlags, Argument> = Pick<
  CommandCall<F, Argument>,
  'argument' | 'flags' | 'output'
> & { readonly host: Pick<Host, 'env'> }

/** The graph of a project without faults, or all of its faults and exit code 3. */
export const checkProjectFile = async ({
  argument: file,
  flags,
  host,
  output,
}: Call<typeof checkFlags, string>): Promise<void> => {
  const bytes = await readFile(file).catch((error: unknown) => {
    throw unreadable(file, error)
  })
  const source = decodeText(bytes)
  if (source === undefined) throw unusable(file, 'is not text in UTF-8; pass a project file.')
  const folder = dirname(resolve(file))
  const check = checkProject(source, await loadYaml(), {
    ...(await factsOf(flags)),
    readFile: readResourceFile(folder),
    secret: (name) => host.env[name],
    versionOfFile: basename(file, extname(file)),
    nameOfFile: basename(folder),
    isHere: false,
  })
  if (flags.json) output.write(`${JSON.stringify(jsonOf(source, check))}\n`)
  else if (flags.mermaid && check.graph !== undefined) output.write(`${drawMermaid(check.graph)}\n`)
  else output.write(report(file, source, check))
  if (check.graph === undefined) throw new SilentExit(exitCode.unreadable)
}

/** Tenant, name, version of each project and whether it is broken; exit code 3 if one is. */
export const listProjects = async ({ flags, host, output }: Call<typeof listFlags, undefined>): Promise<void> => {
  const { projects: folders } = flags
  if (folders.length === 0) throw usageError('There is nothing to list; set --projects DIR.')
  const loaded = await loadProjects({ folders, facts: await factsOf(flags), model: {}, env: host.env })
  const rows = loaded.map(({ place: { tenant, name, version }, problem }) => ({
    tenant,
    name,
    version,
    isSound: problem === undefined,
  }))
  if (flags.json) output.write(`${JSON.stringify(rows)}\n`)
  else {
    for (const { tenant, name, version, isSound } of rows)
      output.write(`${tenant}/${name}/${version}${isSound ? '' : '  broken'}\n`)
    for (const { problem } of loaded) if (problem !== undefined) output.write(`${faultPerLine(problem.message)}\n`)
    if (rows.length === 0) {
      output.write(`There is no project in ${folders.join(', ')}, as <tenant>/<name>/<version>.yaml.\n`)
    }
  }
  if (rows.some(({ isSound }) => !isSound)) throw new SilentExit(exitCode.unreadable)
}

/** The faults of a project, each with its position, below its name. */
const faultPerLine = (message: string): string => message.replaceAll(/[:;] (?=\S+:\d+:\d+: )/g, '\n  ')

const factsOf = async ({
  models: folders,
  nodes: custom,
}: Pick<FlagValues<typeof checkFlags>, 'models' | 'nodes'>): Promise<Pick<ProjectFacts, 'nodes' | 'hasModel'>> => {
  const nodes = await allNodes({ customNodes: custom })
  if (folders.length === 0) return { nodes }
  const models = createModelRegistry({ folders, kinds: [soundswallower()] })
  // Found by their folders alone: no engine is started.
  await models.close()
  return { nodes, hasModel: hasModelIn(models) }
}

const report = (file: string, source: string, { graph, faults }: ProjectCheck): string => {
  const lines = faults.map((fault) => `${faultLine(file, source, fault)}\n${indented(excerptOf(source, fault.span))}\n`)
  const count = faults.filter(({ severity }) => severity === 'error').length
  const end = graph === undefined ? `${count} ${count === 1 ? 'fault' : 'faults'}\n` : drawing(file, graph)
  return [...lines, end].join('\n')
}

const indented = (excerpt: string): string =>
  excerpt
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n')

const drawing = (file: string, graph: ProjectGraph): string =>
  `OK ${file}: version ${graph.version}, takes ${inputText(graph)}\n\n${drawGraph(graph)}\n`

const jsonOf = (source: string, { graph, faults }: ProjectCheck): unknown => ({
  ok: graph !== undefined,
  faults: faults.map(({ span, ...fault }) => ({ ...fault, ...positionOf(source, span.from) })),
  ...(graph === undefined
    ? {}
    : {
        version: graph.version,
        nodes: graph.nodes.map(({ id, definition }) => ({ id, node: definition.name })),
        wires: graph.wires,
      }),
})
