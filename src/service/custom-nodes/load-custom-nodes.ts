import { createRequire } from 'node:module'
import { isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { SpeechError } from '../../errors/speech-error.js'
import type { AnyNodeDefinition } from '../nodes/core/node.js'
import { resolveCustomNodeOptions, type CustomNodeSource } from './custom-node-source.js'
import { nodeDefinitionsIn } from './node-definitions.js'
import { createNodeWorkerStarter } from './node-worker.js'
import { runInWorker } from './run-in-worker.js'

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
 * Loads the custom nodes of a service. The modules are imported on this thread too, for their options and ports. Rejects
 * with `invalid-options` that names a source which cannot be found or loaded, exports no node, or exports one whose name
 * is among `taken`.
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
