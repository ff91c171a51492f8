// @ts-check
import { isBuiltin } from 'node:module'
import ts from 'typescript'
import { lineOf } from './read-source.mjs'
import { programs } from './table.mjs'

/** @typedef {import('./read-source.mjs').Source} Source */
/** @typedef {import('./read-source.mjs').Breach} Breach */

const timers = ['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'fetch']
/** Builtins whose functions only compute; a constant may be made with them. */
const pureBuiltins = ['path', 'url', 'util', 'buffer', 'module']

/** @param {ts.Statement} statement */
const isDeclaration = (statement) =>
  ts.isImportDeclaration(statement) ||
  ts.isImportEqualsDeclaration(statement) ||
  ts.isExportDeclaration(statement) ||
  ts.isExportAssignment(statement) ||
  ts.isInterfaceDeclaration(statement) ||
  ts.isTypeAliasDeclaration(statement) ||
  ts.isEnumDeclaration(statement) ||
  ts.isModuleDeclaration(statement) ||
  ts.isFunctionDeclaration(statement) ||
  ts.isClassDeclaration(statement) ||
  ts.isVariableStatement(statement) ||
  statement.kind === ts.SyntaxKind.EmptyStatement ||
  (ts.isExpressionStatement(statement) && ts.isStringLiteral(statement.expression))

/**
 * The local names that come from builtins that do something, such as `readFileSync` of `node:fs`.
 *
 * @param {ts.SourceFile} ast
 */
const effectfulNames = (ast) => {
  const names = new Set(timers)
  for (const statement of ast.statements) {
    if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier)) continue
    const specifier = statement.moduleSpecifier.text
    if (!isBuiltin(specifier) || pureBuiltins.includes(specifier.replace(/^node:/, '').split('/')[0] ?? '')) continue
    const { name, namedBindings } = statement.importClause ?? {}
    if (name) names.add(name.text)
    if (namedBindings && ts.isNamespaceImport(namedBindings)) names.add(namedBindings.name.text)
    if (namedBindings && ts.isNamedImports(namedBindings)) {
      for (const element of namedBindings.elements) names.add(element.name.text)
    }
  }
  return names
}

/**
 * Calls that run when the file is loaded: those outside every function, and not in a class's instance fields.
 *
 * @param {ts.Node} node
 * @param {(node: ts.Node) => void} found
 */
const visitLoadTime = (node, found) => {
  if (ts.isFunctionLike(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return
  const isStatic =
    ts.canHaveModifiers(node) && ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword)
  if (ts.isPropertyDeclaration(node) && !isStatic) return
  found(node)
  ts.forEachChild(node, (child) => visitLoadTime(child, found))
}

/** @param {ts.Expression} callee */
const rootName = (callee) => {
  let root = callee
  while (ts.isPropertyAccessExpression(root)) root = root.expression
  return ts.isIdentifier(root) ? root.text : undefined
}

/**
 * Importing a file does nothing: its top level declares, and no declaration starts, opens or reads anything.
 *
 * @param {ReadonlyArray<Source>} sources
 * @returns {Breach[]}
 */
export const checkEffects = (sources) =>
  sources.flatMap(({ file, ast, imports }) => {
    /** @type {Breach[]} */
    const breaches = []
    /** @type {(line: number, rule: string, what: string) => void} */
    const add = (line, rule, what) => void breaches.push({ file, line, rule, what })

    for (const { target, specifier, line, kind } of imports) {
      if (target !== undefined && programs.includes(target) && kind !== 'type') {
        add(line, 'program', `'${specifier}' is run, not imported; import what it is made of.`)
      }
      if (kind === 'bare')
        add(line, 'effect', `import '${specifier}' is there for its effect only; import a name and call it.`)
    }
    if (programs.includes(file)) return breaches

    const effectful = effectfulNames(ast)
    for (const statement of ast.statements) {
      if (!isDeclaration(statement)) {
        add(lineOf(ast, statement), 'effect', 'A statement runs on import; put it into a function that the user calls.')
        continue
      }
      visitLoadTime(statement, (node) => {
        if (ts.isAwaitExpression(node) || ts.isClassStaticBlockDeclaration(node)) {
          add(lineOf(ast, node), 'effect', 'Code runs on import; put it into a function that the user calls.')
        } else if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
          const name = rootName(node.expression)
          if (name !== undefined && effectful.has(name)) {
            add(lineOf(ast, node), 'effect', `${name}() runs on import; call it in a function, when it is needed.`)
          } else if (node.expression.kind === ts.SyntaxKind.ImportKeyword) {
            add(lineOf(ast, node), 'effect', 'import() runs on import; call it in a function, when it is needed.')
          }
        }
      })
    }
    return breaches
  })
