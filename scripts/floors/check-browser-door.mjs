// @ts-check
import { isBuiltin } from 'node:module'
import ts from 'typescript'
import { lineOf } from './read-source.mjs'
import { browserDoor } from './table.mjs'

/** @typedef {import('./read-source.mjs').Source} Source */
/** @typedef {import('./read-source.mjs').Breach} Breach */

/**
 * The files that the door reaches, each with the way to it.
 *
 * @param {ReadonlyMap<string, Source>} sources
 */
const reach = (sources) => {
  /** @type {Map<string, readonly string[]>} */
  const ways = new Map()
  /** @type {Array<readonly [string, readonly string[]]>} */
  const queue = [[browserDoor.file, []]]
  for (const [file, way] of queue) {
    const source = sources.get(file)
    if (!source || ways.has(file)) continue
    ways.set(file, way)
    for (const { target } of source.imports) if (target !== undefined) queue.push([target, [...way, file]])
  }
  return ways
}

/**
 * Uses of names that only Node has, unless the file asks for them with `typeof` first.
 *
 * @param {Source} source
 */
const nodeGlobalsIn = ({ ast }) => {
  /** @type {Array<{ name: string, line: number }>} */
  const uses = []
  const guarded = new Set()
  /** @param {ts.Node} node */
  const visit = (node) => {
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node)) return
    if (ts.isTypeOfExpression(node) && ts.isIdentifier(node.expression)) guarded.add(node.expression.text)
    if (ts.isPropertyAccessExpression(node)) return visit(node.expression)
    if (ts.isIdentifier(node) && browserDoor.nodeGlobals.includes(node.text) && !isOwnName(node)) {
      uses.push({ name: node.text, line: lineOf(ast, node) })
    }
    ts.forEachChild(node, visit)
  }
  visit(ast)
  return uses.filter(({ name }) => !guarded.has(name))
}

/**
 * Whether the identifier names a thing of the file's own: a key, a parameter, a variable, an import.
 *
 * @param {ts.Identifier} node
 */
const isOwnName = (node) => {
  const { parent } = node
  return (
    ('name' in parent && parent.name === node) ||
    ts.isBindingElement(parent) ||
    ts.isImportSpecifier(parent) ||
    ts.isExportSpecifier(parent)
  )
}

/** @param {string} specifier */
const packageName = (specifier) =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')

/**
 * What the browser's door reaches needs no Node, no gRPC and nothing of the service. The type of a builtin may be named
 * inside; that none comes out with the door's declarations is what `npm run pack` compiles without @types/node.
 *
 * @param {ReadonlyArray<Source>} all
 * @returns {Breach[]}
 */
export const checkBrowserDoor = (all) => {
  const sources = new Map(all.map((source) => [source.file, source]))
  return [...reach(sources)].flatMap(([file, way]) => {
    const source = sources.get(file)
    if (!source) return []
    const by = way.length > 0 ? ` (reached by ${[...way, file].join(' → ')})` : ''
    /** @type {(line: number, what: string) => Breach} */
    const breach = (line, what) => ({ file, line, rule: 'browser', what: `${what}${by}.` })
    const folder = file.split('/').length > 1 ? file.split('/')[0] : undefined
    const misplaced =
      folder !== undefined && !browserDoor.folders.includes(folder)
        ? [breach(1, `src/${folder} must not be reached from src/${browserDoor.file}; export it from another door`)]
        : []
    const imports = source.imports.flatMap(({ specifier, target, line, kind }) => {
      if (target !== undefined) return []
      if (isBuiltin(specifier) && kind === 'type') return []
      if (isBuiltin(specifier)) return [breach(line, `'${specifier}' exists in Node only; keep it behind another door`)]
      if (browserDoor.packages.includes(packageName(specifier))) return []
      return [breach(line, `'${specifier}' is not for the browser's door; keep it behind another door`)]
    })
    const globals = nodeGlobalsIn(source).map(({ name, line }) =>
      breach(line, `${name} exists in Node only; use what browsers have too, or ask typeof ${name} first`),
    )
    return [...misplaced, ...imports, ...globals]
  })
}
