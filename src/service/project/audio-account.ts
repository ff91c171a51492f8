import { msForBytes } from '../../audio/format.js'
import type { NodeItem } from '../nodes/core/node.js'
import type { NodeFormats } from './graph-formats.js'

/**
 * How much audio a node was given and how much it gave, by port, so that what a fault has cost can be filled with
 * silence and times stay true behind it.
 */
export class AudioAccount {
  readonly #formats: NodeFormats
  readonly #inputs: readonly string[]
  readonly #outputs: readonly string[]
  readonly #bytesIn = new Map<string, number>()
  readonly #bytesOut = new Map<string, number>()

  constructor(formats: NodeFormats) {
    this.#formats = formats
    this.#inputs = Object.keys(formats.inputs)
    this.#outputs = Object.keys(formats.outputs)
  }

  given(item: NodeItem, port: string): void {
    if (item.type === 'audio') add(this.#bytesIn, port, item.bytes.length)
  }

  said(item: NodeItem, port: string): void {
    if (item.type === 'audio') add(this.#bytesOut, port, item.bytes.length)
  }

  /** How much has come in at the first audio input, in milliseconds. */
  get givenMs(): number {
    const [first] = this.#inputs
    return first === undefined ? 0 : lengthMs(this.#bytesIn, first, this.#formats.inputs)
  }

  /** What each audio output owes to what came in, in milliseconds; nothing where no audio comes in. */
  get owed(): readonly { readonly port: string; readonly owedMs: number }[] {
    if (this.#inputs.length === 0) return []
    const { givenMs } = this
    return this.#outputs.map((port) => ({
      port,
      owedMs: givenMs - lengthMs(this.#bytesOut, port, this.#formats.outputs),
    }))
  }
}

const add = (counts: Map<string, number>, port: string, more: number): void => {
  counts.set(port, (counts.get(port) ?? 0) + more)
}

const lengthMs = (counts: ReadonlyMap<string, number>, port: string, formats: NodeFormats['inputs']): number => {
  const format = formats[port]
  return format === undefined ? 0 : msForBytes(format, counts.get(port) ?? 0)
}
