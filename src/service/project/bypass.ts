import { isSameFormat, type NodeFormats } from './graph-formats.js'
import type { AnyNodeDefinition, PortKind } from '../nodes/core/node.js'

const firstOf = (ports: Readonly<Record<string, PortKind>>, fits: (port: string) => boolean): string | undefined =>
  Object.keys(ports).find(fits)

/**
 * Where each input goes while a node is left out: every output gets what comes to the first input of its kind, audio
 * where the formats are the same. An input that leads nowhere runs off.
 */
export const bypassOf = (
  { inputs, outputs }: Pick<AnyNodeDefinition, 'inputs' | 'outputs'>,
  formats: NodeFormats,
): ReadonlyMap<string, readonly string[]> => {
  const pairs = Object.entries(outputs).flatMap(([output, kind]) => {
    const input = firstOf(
      inputs,
      (port) =>
        inputs[port] === kind && (kind === 'event' || isSameFormat(formats.inputs[port], formats.outputs[output])),
    )
    return input === undefined ? [] : [{ input, output }]
  })
  return new Map(
    Object.keys(inputs).map((port) => [port, pairs.filter(({ input }) => input === port).map(({ output }) => output)]),
  )
}
