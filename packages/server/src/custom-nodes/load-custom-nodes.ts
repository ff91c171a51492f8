import { createRequire } from 'node:module'
import { isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { either } from 'fp-ts'
import { Observable } from 'rxjs'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { AnyNodeDefinition, ConfiguredNode, Node, NodeContext, Resource } from '../nodes/core/node.js'
import {
  resolveCustomNodeOptions,
  type CustomNodeSource,
  type ResolvedCustomNodeOptions,
} from './custom-node-source.js'
import { nodeDefinitionsIn } from './node-definitions.js'
import { createNodeWorkerStarter, type StartNodeWorker } from './node-worker.js'
import type { SentContext, SentResource } from './worker-messages.js'
import { WorkerSession } from './worker-session.js'

const label = (source: CustomNodeSource): string => ('file' in source ? source.file : source.package)

const refusalOf = (source: CustomNodeSource, predicate: string, cause?: unknown): SpeechError =>
  new SpeechError('invalid-options', `nodes: ${JSON.stringify(label(source))} ${predicate}`, { cause })

/** The file of a source. */
const locate = (source: CustomNodeSource): string => {
  const baseFolder = resolve(source.from ?? '.')
  if ('file' in source) return isAbsolute(source.file) ? source.file : resolve(baseFolder, source.file)
  try {
    return createRequire(join(baseFolder, 'package.json')).resolve(source.package)
  } catch (cause) {
    throw refusalOf(source, `is not installed; run npm install ${source.package} there.`, cause)
  }
}

const load = async (source: CustomNodeSource, file: string): Promise<readonly AnyNodeDefinition[]> => {
  const module = (await import(pathToFileURL(file).href).catch((cause: unknown) => {
    throw refusalOf(source, 'cannot be loaded; see the cause. It must be a JavaScript module.', cause)
  })) as unknown
  const definitions = nodeDefinitionsIn(module)
  if (definitions.length > 0) return definitions
  throw refusalOf(source, 'exports no node; export the result of defineNode of rxspeech/nodes.')
}

/**
 * Loads the custom nodes of a service. The modules are imported on this thread too, for their options and ports.
 * Rejects with `invalid-options` that names a source which cannot be found or loaded, exports no node, or exports one
 * whose name is among `taken`.
 */
export const loadCustomNodes = async (
  sources: readonly CustomNodeSource[],
  taken: readonly string[],
): Promise<readonly AnyNodeDefinition[]> => {
  const known = new Set(taken)
  const loaded: AnyNodeDefinition[] = []
  for (const source of sources) {
    const options = resolveCustomNodeOptions(source)
    const file = locate(source)
    const definitions = await load(source, file)
    const start = options.run === 'worker' ? createNodeWorkerStarter(file, options) : undefined
    for (const definition of definitions) {
      if (known.has(definition.name)) throw refusalOf(source, `has a node ${definition.name}, whose name is taken.`)
      known.add(definition.name)
      loaded.push(start === undefined ? definition : runInWorker(definition, start, options))
    }
  }
  return loaded
}

/**
 * The same node, which runs in its own thread in each session. Options, ports and formats are checked here; the factory
 * and the node run in the thread, without access to engines.
 */
const runInWorker = (
  definition: AnyNodeDefinition,
  start: StartNodeWorker,
  nodeOptions: ResolvedCustomNodeOptions,
): AnyNodeDefinition => ({
  ...definition,
  // Items are acknowledged when the thread has processed them.
  manualAck: true,
  configure: (options) =>
    either.map((configured: ConfiguredNode): ConfiguredNode => ({
      ...configured,
      open: async (context) => {
        const session = new WorkerSession(definition, context, start, nodeOptions)
        await session.open({
          type: 'open',
          name: definition.name,
          options,
          context: sentContext(context, configured),
        })
        return nodeOf(session)
      },
    }))(definition.configure(options)),
})

const nodeOf =
  (session: WorkerSession): Node =>
  (input$) =>
    new Observable((subscriber) => {
      subscriber.add(() => session.close())
      session.start(subscriber)
      subscriber.add(
        input$.subscribe({
          next: (item) => session.give(item),
          error: (error: unknown) => subscriber.error(error),
          complete: () => session.finish(),
        }),
      )
    })

const sentContext = (context: NodeContext, { uses }: ConfiguredNode): SentContext => {
  const { node, session, inputs, outputs, language, sessionFormat, audioOutput, recordingsFolder, idleMs, offsetMs } =
    context
  return {
    node,
    session,
    inputs,
    outputs,
    language,
    sessionFormat,
    audioOutput,
    recordingsFolder,
    idleMs,
    offsetMs,
    settings: context.settings(),
    callProperties: context.callProperties(),
    resources: Object.fromEntries(
      uses.map(({ resource }): [string, SentResource] => [
        resource,
        sentResource(context.resource(resource), resource),
      ]),
    ),
  }
}

const sentResource = (resource: Resource | undefined, name: string): SentResource => {
  if (resource === undefined) throw new SpeechError('invalid-options', `The project has no resource ${name}.`)
  return resource.kind === 'secret' ? { kind: 'secret', secret: resource.reveal() } : resource
}
