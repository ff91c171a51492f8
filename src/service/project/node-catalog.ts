import { SpeechError } from '../../errors/speech-error.js'
import { builtInNodes } from '../nodes/built-in-nodes.js'
import type { AnyNodeDefinition } from '../nodes/core/node.js'

/** The nodes that projects may use: those that come with the service, and more. Throws `invalid-options` for a name that is there twice. */
export const nodeCatalog = (more: readonly AnyNodeDefinition[] = []): readonly AnyNodeDefinition[] => {
  const nodes = [...builtInNodes, ...more]
  const names = nodes.map(({ name }) => name)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice === undefined) return nodes
  throw new SpeechError('invalid-options', `There are two nodes of the name ${twice}; give one of them another.`)
}
