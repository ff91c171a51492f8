import type { AudioFormat } from '../../audio/format.js'
import type { CheckedNode } from './check-nodes.js'
import { formatWords, graphFormats } from './graph-formats.js'
import type { ProjectFaults } from './project-fault.js'
import type { GraphWire, ProjectInputs } from './project-graph.js'

/** The rates that are tried where a project takes every one. */
const usualRatesHz = [8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000]

/** Every format that a project says it takes. */
export const formatsTaken = ({
  encodings,
  sampleRatesHz = usualRatesHz,
  channels,
}: ProjectInputs): readonly AudioFormat[] =>
  encodings.flatMap((encoding) =>
    sampleRatesHz.flatMap((sampleRateHz) =>
      channels.map((count): AudioFormat => ({ encoding, sampleRateHz, channels: count })),
    ),
  )

/** Follows every format that the project takes through the graph; a node that one of them does not fit is a fault. */
export const checkFormats = (
  nodes: readonly CheckedNode[],
  wires: readonly GraphWire[],
  inputs: ProjectInputs,
  faults: ProjectFaults,
): void => {
  const formats = formatsTaken(inputs)
  const refused = new Map<
    string,
    { readonly node: string; readonly message: string; readonly formats: AudioFormat[] }
  >()
  for (const format of formats) {
    for (const { node, message } of graphFormats(nodes, wires, format).refusals) {
      const key = JSON.stringify([node, message])
      const known = refused.get(key) ?? { node, message, formats: [] }
      known.formats.push(format)
      refused.set(key, known)
    }
  }
  for (const { node, message, formats: ill } of refused.values()) {
    const entry = nodes.find(({ id }) => id === node)?.entry
    const [first] = ill
    if (entry === undefined || first === undefined) continue
    const others = ill.length === 1 ? '' : ` and ${ill.length - 1} other formats`
    const which = ill.length === formats.length ? 'the audio that the project takes' : `${formatWords(first)}${others}`
    faults.add(entry.idSpan, entry.path, `does not fit ${which}: ${message}`)
  }
}
