import { either } from 'fp-ts'
import type { AudioFormat } from '../../audio/format.js'
import type { PortFormats } from '../nodes/core/node.js'
import type { GraphNode, GraphWire } from './project-graph.js'

/** The formats of the audio ports of one node. */
export interface NodeFormats {
  readonly inputs: PortFormats
  readonly outputs: PortFormats
}

export interface GraphFormats {
  readonly byNode: ReadonlyMap<string, NodeFormats>
  /** The nodes that refuse what they would get, with what would fit. What comes after them is left out. */
  readonly refusals: readonly { readonly node: string; readonly message: string }[]
}

/** The name of the node that a session's audio comes in by. */
export const entryName = 'entry'
/** The name of the nodes whose input goes to the client. */
export const publisherName = 'publisher'

/** Which format every port has in a session of this format. `nodes` in order, each after those it gets something from. */
export const graphFormats = (
  nodes: readonly Pick<GraphNode, 'id' | 'definition' | 'configured'>[],
  wires: readonly GraphWire[],
  session: AudioFormat,
): GraphFormats => {
  const byNode = new Map<string, NodeFormats>()
  const refusals: { node: string; message: string }[] = []
  for (const { id, definition, configured } of nodes) {
    const audio = wires.filter((wire) => wire.to.node === id && wire.kind === 'audio')
    const known = audio.flatMap(({ from, to }) => {
      const format = byNode.get(from.node)?.outputs[from.port]
      return format === undefined ? [] : [[to.port, format] as const]
    })
    if (known.length < audio.length) continue
    const inputs = Object.fromEntries(known)
    if (definition.name === entryName) byNode.set(id, { inputs, outputs: { audio: session } })
    else {
      const outputs = configured.formats(inputs)
      if (either.isRight(outputs)) byNode.set(id, { inputs, outputs: outputs.right })
      else refusals.push({ node: id, message: outputs.left })
    }
  }
  return { byNode, refusals }
}

/** A format in words, as in "ulaw 8000 Hz stereo". */
export const formatWords = ({ encoding, sampleRateHz, channels }: AudioFormat): string =>
  `${encoding} ${sampleRateHz} Hz ${channels === 1 ? 'mono' : 'stereo'}`

export const isSameFormat = (one: AudioFormat | undefined, other: AudioFormat | undefined): boolean =>
  one !== undefined && other !== undefined && formatWords(one) === formatWords(other)
