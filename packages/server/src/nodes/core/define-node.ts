import { either } from 'fp-ts'
import type * as t from 'io-ts'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { isJsonObject } from 'rxspeech/internal/protocol/json-object'
import { issuesOf, unknownKeyProblem, unknownKeysOf } from 'rxspeech/internal/protocol/validation'
import { propertyNames } from './node-options.js'
import type {
  AnyNodeDefinition,
  ConfiguredNode,
  Node,
  NodeDefinition,
  OptionFault,
  PortFormats,
  Ports,
} from './node.js'

const namePattern = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/
const portPattern = /^[a-z][a-zA-Z0-9]*$/

/**
 * Defines a kind of node from a name, ports, an options codec and a factory. Throws `invalid-options` for an invalid
 * name of the node or of a port.
 *
 * @example
 * const loud = defineNode({
 *   name: 'loud',
 *   summary: 'Tags every event.',
 *   inputs: { events: 'event' },
 *   outputs: { events: 'event' },
 *   options: nodeOptions({ tag: nonEmptyText }, {}),
 *   open: ({ tag }) => (input$) =>
 *     input$.pipe(map((item) => (item.type === 'event' ? { ...item, event: { ...item.event, tags: [tag] } } : item))),
 * })
 */
export const defineNode = <Options, Inputs extends Ports, Outputs extends Ports>(
  definition: NodeDefinition<Options, Inputs, Outputs>,
): AnyNodeDefinition => {
  const { options: codec, formats = asFirstInput(definition), uses = () => [], open, ...more } = definition
  const { checkSettings = () => undefined, ...rest } = more
  checkNames(definition)
  const bind = (options: Options): ConfiguredNode => ({
    formats: (inputs) => formats(inputs, options),
    uses: uses(options),
    checkSettings: (next, now) => checkSettings(next, now, options),
    // Its host delivers only items of the declared inputs.
    open: async (context) => (await open(options, context)) as unknown as Node,
  })
  return {
    ...rest,
    configure: (given) => {
      const unknown = unknownNames(codec, given ?? {})
      const decoded = codec.decode(given ?? {})
      if (either.isRight(decoded) && unknown.length === 0) return either.right(bind(decoded.right))
      return either.left([...(either.isLeft(decoded) ? faultsOf(decoded.left) : []), ...unknown])
    },
  }
}

const checkNames = ({ name, inputs, outputs }: Pick<AnyNodeDefinition, 'name' | 'inputs' | 'outputs'>): void => {
  if (!namePattern.test(name)) {
    throw new SpeechError(
      'invalid-options',
      `${JSON.stringify(name)} is not a valid name of a node; write it as my-node.`,
    )
  }
  const port = [...Object.keys(inputs), ...Object.keys(outputs)].find((candidate) => !portPattern.test(candidate))
  if (port === undefined) return
  throw new SpeechError(
    'invalid-options',
    `${JSON.stringify(port)} is not a valid name of a port of ${name}; write it as left.`,
  )
}

/** The format of the first audio input, for every audio output. */
const asFirstInput =
  ({ inputs, outputs, name }: Pick<AnyNodeDefinition, 'name' | 'inputs' | 'outputs'>) =>
  (formats: PortFormats): either.Either<string, PortFormats> => {
    const audioOutputs = Object.keys(outputs).filter((port) => outputs[port] === 'audio')
    const first = Object.keys(inputs).find((port) => inputs[port] === 'audio')
    const format = first === undefined ? undefined : formats[first]
    if (audioOutputs.length === 0) return either.right({})
    if (format === undefined) return either.left(`${name} must define the format of its audio outputs`)
    return either.right(Object.fromEntries(audioOutputs.map((port) => [port, format])))
  }

const faultsOf = (errors: t.Errors): readonly OptionFault[] => {
  const faults = issuesOf(errors).map(({ path, problem }): OptionFault => ({ path, message: problem }))
  // An intersection reports a value that is not an object once for each of its parts.
  return faults.filter((fault, index) => faults.findIndex((earlier) => isSameFault(fault, earlier)) === index)
}

const isSameFault = (left: OptionFault, right: OptionFault): boolean =>
  left.message === right.message && left.path.join('.') === right.path.join('.')

/** The names that a codec of io-ts itself ignores. */
const unknownNames = (codec: t.Any, given: unknown): readonly OptionFault[] => {
  const known = propertyNames(codec)
  if (known === undefined || !isJsonObject(given)) return []
  return unknownKeysOf(given, known).map((name) => ({ path: [name], message: unknownKeyProblem(name, known) }))
}
