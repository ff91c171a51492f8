import { createRequire } from 'node:module'
import { isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { SpeechError } from '../../errors/speech-error.js'
import type { AnyNodeDefinition } from '../nodes/core/node.js'
import { resolveHostOptions, type CustomNodeSource } from './custom-node-source.js'
import { nodeDefinitionsIn } from './node-definitions.js'
import { nodeWorkerStarter } from './node-worker.js'
import { hostInWorker } from './worker-node.js'

const label = (source: CustomNodeSource): string => ('file' in source ? source.file : source.package)

const refuse = (source: CustomNodeSource, sentence: string, cause?: unknown): SpeechError =>
  new SpeechError('invalid-options', `nodes: ${JSON.stringify(label(source))} ${sentence}`, { cause })

/** The file that a source leads to. */
const locate = (source: CustomNodeSource): string => {
  const baseFolder = resolve(source.from ?? '.')
  if ('file' in source) return isAbsolute(source.file) ? source.file : resolve(baseFolder, source.file)
  try {
    return createRequire(join(baseFolder, 'package.json')).resolve(source.package)
  } catch (cause) {
    throw refuse(source, `is not installed; run npm install ${source.package} there.`, cause)
  }
}

const load = async (source: CustomNodeSource, file: string): Promise<readonly AnyNodeDefinition[]> => {
  const module = (await import(pathToFileURL(file).href).catch((cause: unknown) => {
    throw refuse(source, 'cannot be loaded; see the cause. It must be a JavaScript module.', cause)
  })) as unknown
  const definitions = nodeDefinitionsIn(module)
  if (definitions.length > 0) return definitions
  throw refuse(source, 'exports no node; export what defineNode of rxspeech/nodes returns.')
}

/**
 * Loads the custom nodes of a service. The modules are imported here too, for their options and ports; where they run
 * is their source's option. Rejects with `invalid-options` that names the source which cannot be found or loaded, holds
 * no node, or has one whose name is taken.
 */
export const loadCustomNodes = async (
  sources: readonly CustomNodeSource[],
  taken: readonly string[],
): Promise<readonly AnyNodeDefinition[]> => {
  const known = new Set(taken)
  const loaded: AnyNodeDefinition[] = []
  for (const source of sources) {
    const host = resolveHostOptions(source)
    const file = locate(source)
    const definitions = await load(source, file)
    const start = host.run === 'worker' ? nodeWorkerStarter(file, host) : undefined
    for (const definition of definitions) {
      if (known.has(definition.name)) throw refuse(source, `has a node ${definition.name}, whose name is taken.`)
      known.add(definition.name)
      loaded.push(start === undefined ? definition : hostInWorker(definition, start, host))
    }
  }
  return loaded
}
