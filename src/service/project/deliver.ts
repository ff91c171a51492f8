import type { NodeItem } from '../nodes/core/node.js'
import type { LiveWire } from './live-wires.js'

/** Whether there may be more to take from the wire. */
type Delivered = 'more' | 'nothing'

/** Takes the next item from a wire and gives it to the node that it leads to; the end of its last wire finishes a node. */
export const deliver = (live: LiveWire): Delivered => {
  const { bounded, to, wire } = live
  const { supervisor, opened } = to
  if (!supervisor.takesInput) return 'nothing'
  const item = bounded.take()
  if (item !== undefined) {
    const { port } = wire.to
    const isFirst = supervisor.firstInputs[item.type] === port
    const given = isFirst && item.port === undefined ? item : labeled(item, isFirst ? undefined : port)
    supervisor.give(given, port)
    if (opened.node.definition.tellsConsumption !== true || supervisor.isBypassed)
      bounded.consumed(bounded.countOf(item))
    return 'more'
  }
  if (live.isFinished && bounded.isEmpty) {
    live.isFinished = false
    to.openInputs -= 1
    if (to.openInputs === 0) supervisor.finish()
  }
  return 'nothing'
}

const labeled = (item: NodeItem, port: string | undefined): NodeItem => {
  const { port: _before, ...rest } = item
  return port === undefined ? rest : { ...rest, port }
}
