// @ts-check
import { posix } from 'node:path'

/** @typedef {import('./read-source.mjs').Source} Source */
/** @typedef {import('./read-source.mjs').Breach} Breach */
/** @typedef {{ readonly file: string, readonly line: number }} Where */

/**
 * Which folder imports from which, with the first import that does it.
 *
 * @param {ReadonlyArray<Source>} sources
 */
const folderGraph = (sources) => {
  /** @type {Map<string, Map<string, Where>>} */
  const graph = new Map()
  for (const { file, imports } of sources) {
    const from = posix.dirname(file)
    const edges = graph.get(from) ?? new Map()
    graph.set(from, edges)
    for (const { target, line } of imports) {
      if (target === undefined || target.startsWith('..')) continue
      const to = posix.dirname(target)
      if (to !== from && !edges.has(to)) edges.set(to, { file, line })
    }
  }
  return graph
}

/**
 * The shortest way from one folder back to itself, without the repeated end.
 *
 * @param {ReadonlyMap<string, ReadonlyMap<string, Where>>} graph
 * @param {string} start
 */
const shortestCircle = (graph, start) => {
  /** @type {string[][]} */
  let paths = [[start]]
  const seen = new Set()
  while (paths.length > 0) {
    /** @type {string[][]} */
    const longer = []
    for (const path of paths) {
      for (const next of graph.get(path.at(-1) ?? start)?.keys() ?? []) {
        if (next === start) return path
        if (seen.has(next)) continue
        seen.add(next)
        longer.push([...path, next])
      }
    }
    paths = longer
  }
  return undefined
}

/**
 * Folders that import each other in a circle, though their files may not. Each circle is told once.
 *
 * @param {ReadonlyArray<Source>} sources
 * @returns {Breach[]}
 */
export const checkCircles = (sources) => {
  const graph = folderGraph(sources)
  const told = new Set()
  return [...graph.keys()].sort().flatMap((start) => {
    const circle = shortestCircle(graph, start)
    if (!circle) return []
    const key = [...circle].sort().join(' ')
    if (told.has(key)) return []
    told.add(key)
    const steps = circle.map((from, index) => ({ from, where: graph.get(from)?.get(circle[index + 1] ?? start) }))
    const [first] = steps
    const imports = steps.map(({ where }) => (where ? `${where.file}:${where.line}` : '?')).join(', ')
    return [
      {
        file: first?.where?.file ?? start,
        line: first?.where?.line ?? 1,
        rule: 'circle',
        what: `Folders import each other: ${[...circle, start].join(' → ')} (${imports}). Move what they share into one of them.`,
      },
    ]
  })
}
