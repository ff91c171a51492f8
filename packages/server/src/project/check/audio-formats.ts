import { either } from 'fp-ts'
import type { AudioFormat } from 'rxspeech/internal/audio/format'
import type { PortFormats } from '../../nodes/core/node.js'
import type { ProjectFaults } from '../format/project-fault.js'
import type { GraphNode, GraphWire, ProjectInputs } from '../format/project-graph.js'
import type { CheckedNode } from './check-nodes.js'

/** The name of the node that receives a session's audio. */
export const entryName = 'entry'
/** The name of the nodes whose input goes to the client. */
export const publisherName = 'publisher'

/** The formats of the audio ports of one node. */
export interface NodeFormats {
  readonly inputs: PortFormats
  readonly outputs: PortFormats
}

export interface GraphFormats {
  readonly byNode: ReadonlyMap<string, NodeFormats>
  /** The nodes that refuse their input, with what they accept. The nodes behind them have no formats. */
  readonly refusals: readonly { readonly node: string; readonly message: string }[]
}

/** The format of every port in a session of this format. `nodes` are in order, each after its sources. */
export const graphFormats = (
  nodes: readonly Pick<GraphNode, 'id' | 'definition' | 'configured'>[],
  wires: readonly GraphWire[],
  session: AudioFormat,
): GraphFormats => {
  const byNode = new Map<string, NodeFormats>()
  const refusals: { node: string; message: string }[] = []
  for (const { id, definition, configured } of nodes) {
    const audioWires = wires.filter(({ to, kind }) => to.node === id && kind === 'audio')
    const known = audioWires.flatMap(({ from, to }) => {
      const format = byNode.get(from.node)?.outputs[from.port]
      return format === undefined ? [] : [[to.port, format] as const]
    })
    if (known.length < audioWires.length) continue
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

/** Follows every format that the project accepts through the graph; a node that refuses one of them is a fault. */
export const checkFormats = (
  nodes: readonly CheckedNode[],
  wires: readonly GraphWire[],
  inputs: ProjectInputs,
  faults: ProjectFaults,
): void => {
  const formats = acceptedFormats(inputs)
  const refused = new Map<string, { readonly node: string; readonly message: string; readonly by: AudioFormat[] }>()
  for (const format of formats) {
    for (const { node, message } of graphFormats(nodes, wires, format).refusals) {
      const key = JSON.stringify([node, message])
      const known = refused.get(key) ?? { node, message, by: [] }
      known.by.push(format)
      refused.set(key, known)
    }
  }
  for (const { node, message, by } of refused.values()) {
    const entry = nodes.find(({ id }) => id === node)?.entry
    const [first] = by
    if (entry === undefined || first === undefined) continue
    const others = by.length === 1 ? '' : ` and ${by.length - 1} other formats`
    const which = by.length === formats.length ? 'the audio that the project accepts' : `${formatText(first)}${others}`
    faults.add(entry.idSpan, entry.path, `does not fit ${which}: ${message}`)
  }
}

/** The rates that are checked for a project that accepts every one. */
const commonRatesHz = [8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000]

const acceptedFormats = ({
  encodings,
  sampleRatesHz = commonRatesHz,
  channels,
}: ProjectInputs): readonly AudioFormat[] =>
  encodings.flatMap((encoding) =>
    sampleRatesHz.flatMap((sampleRateHz) =>
      channels.map((count): AudioFormat => ({ encoding, sampleRateHz, channels: count })),
    ),
  )

/** A format as text, such as "ulaw 8000 Hz stereo". */
export const formatText = ({ encoding, sampleRateHz, channels }: AudioFormat): string =>
  `${encoding} ${sampleRateHz} Hz ${channels === 1 ? 'mono' : 'stereo'}`

export const isSameFormat = (a: AudioFormat | undefined, b: AudioFormat | undefined): boolean =>
  a !== undefined && b !== undefined && formatText(a) === formatText(b)
