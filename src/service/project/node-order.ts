import type { GraphWire } from './project-graph.js'

type Ends = Pick<GraphWire, 'from' | 'to'>

/** The ids with every one after those it gets something from; or the first circle that is found, its first id once more at the end. */
export const nodeOrder = (
  ids: readonly string[],
  wires: readonly Ends[],
): { readonly order: readonly string[] } | { readonly circle: readonly string[] } => {
  const sources = new Map(
    ids.map((id) => [id, new Set(wires.filter(({ to }) => to.node === id).map(({ from }) => from.node))]),
  )
  const order: string[] = []
  const left = new Set(ids)
  while (left.size > 0) {
    const free = [...left].find((id) => [...(sources.get(id) ?? [])].every((source) => !left.has(source)))
    if (free === undefined) return { circle: circleIn(left, sources) }
    left.delete(free)
    order.push(free)
  }
  return { order }
}

/** Each of them gets something from another of them: going back long enough comes round. */
const circleIn = (left: ReadonlySet<string>, sources: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] => {
  const way: string[] = []
  let at = [...left][0] ?? ''
  while (!way.includes(at)) {
    way.push(at)
    at = [...(sources.get(at) ?? [])].find((source) => left.has(source)) ?? at
  }
  return [at, ...way.slice(way.indexOf(at) + 1).reverse(), at]
}

/** The ids that something reaches that begins at one of the others. */
export const reachedFrom = (starts: readonly string[], wires: readonly Ends[]): ReadonlySet<string> => {
  const reached = new Set(starts)
  // A set is walked in the order in which it grows.
  for (const id of reached) for (const { from, to } of wires) if (from.node === id) reached.add(to.node)
  return reached
}
