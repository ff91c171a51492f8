import { either } from 'fp-ts'
import { defer, from, mergeMap, of, type Observable } from 'rxjs'
import { bytesOf, samplesOf } from '../../../../src/audio/pcm.js'
import type { AnyNodeDefinition, ConfiguredNode, Node, NodeContext, NodeItem } from '../../src/nodes/core/node.js'

/** A node with its options, which must be valid. */
export const configured = (definition: AnyNodeDefinition, options: unknown = {}): ConfiguredNode => {
  const bound = definition.configure(options)
  if (either.isLeft(bound)) throw new Error(JSON.stringify(bound.left))
  return bound.right
}

/** Opens a node, as a project would once per session. */
export const opened = (definition: AnyNodeDefinition, options: unknown, context: NodeContext): Promise<Node> =>
  configured(definition, options).open(context)

/** 16-bit samples as a chunk of encoded audio. */
export const pcm = (samples: readonly number[] | Int16Array, port?: string): NodeItem => {
  const bytes = bytesOf(Int16Array.from(samples))
  return port === undefined ? { type: 'audio', bytes } : { type: 'audio', bytes, port }
}

/** An item of 16-bit audio in short form: its port and samples; an event as its name, channel, span and data. */
export const brief = (item: NodeItem): string => {
  if (item.type === 'audio') {
    const samples = [...samplesOf(new Uint8Array(item.bytes))].join(' ')
    return item.port === undefined ? samples : `${item.port}: ${samples}`
  }
  const { name, channel, startMs, endMs, data } = item.event
  return `${name} ${String(channel)} ${String(startMs)}-${String(endMs)} ${JSON.stringify(data)}`
}

/** All bytes of one output port, joined. */
export const bytesFrom = (items: readonly NodeItem[], port?: string): Uint8Array =>
  new Uint8Array(
    Buffer.concat(items.flatMap((item) => (item.type === 'audio' && item.port === port ? [item.bytes] : []))),
  )

/** Opens and runs a node on items that arrive at once. */
export const runOver = (
  definition: AnyNodeDefinition,
  options: unknown,
  context: NodeContext,
  items: readonly NodeItem[],
): Observable<NodeItem> =>
  defer(() => opened(definition, options, context)).pipe(
    mergeMap((node) => node(items.length === 0 ? of() : from(items), context)),
  )
