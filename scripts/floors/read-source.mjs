// @ts-check
import { readFileSync, readdirSync } from 'node:fs'
import { join, posix } from 'node:path'
import ts from 'typescript'

/**
 * @typedef {object} Import
 * @property {string} specifier as written
 * @property {number} line from 1
 * @property {'import' | 'type' | 'lazy' | 'bare'} kind `lazy` is `import()` or `require()`, `bare` is `import 'x'`
 * @property {string | undefined} target the file in src that it names, or undefined for a package
 *
 * @typedef {object} Source
 * @property {string} file relative to src, with `/`
 * @property {ts.SourceFile} ast
 * @property {ReadonlyArray<Import>} imports
 *
 * @typedef {object} Breach
 * @property {string} file
 * @property {number} line
 * @property {string} rule
 * @property {string} what what is wrong, and what to do
 */

/**
 * @param {ts.SourceFile} ast
 * @param {ts.Node} node
 */
export const lineOf = (ast, node) => ast.getLineAndCharacterOfPosition(node.getStart(ast)).line + 1

/**
 * The file of src that a relative specifier names; `a.js` is `a.ts`. It may lead out of src: then it begins with `..`.
 *
 * @param {string} from
 * @param {string} specifier
 */
const resolveTarget = (from, specifier) =>
  /^\.{1,2}(\/|$)/.test(specifier)
    ? posix.normalize(posix.join(posix.dirname(from), specifier)).replace(/\.(m|c)?js$/, '.$1ts')
    : undefined

/**
 * @param {ts.Node} node
 * @returns {{ specifier: ts.Expression, kind: Import['kind'] } | undefined}
 */
const readImport = (node) => {
  if (ts.isImportDeclaration(node)) {
    const { importClause: clause, moduleSpecifier: specifier } = node
    if (!clause) return { specifier, kind: 'bare' }
    const named = clause.namedBindings
    const allTypes =
      !clause.name && named && ts.isNamedImports(named) && named.elements.every((element) => element.isTypeOnly)
    return { specifier, kind: clause.phaseModifier === ts.SyntaxKind.TypeKeyword || allTypes ? 'type' : 'import' }
  }
  if (ts.isExportDeclaration(node) && node.moduleSpecifier) {
    return { specifier: node.moduleSpecifier, kind: node.isTypeOnly ? 'type' : 'import' }
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
    return { specifier: /** @type {ts.Expression} */ (node.argument.literal), kind: 'type' }
  }
  if (ts.isExternalModuleReference(node)) return { specifier: node.expression, kind: 'import' }
  if (ts.isCallExpression(node) && node.arguments[0]) {
    const { expression } = node
    const isImport = expression.kind === ts.SyntaxKind.ImportKeyword
    const isRequire =
      (ts.isIdentifier(expression) && expression.text === 'require') ||
      (ts.isPropertyAccessExpression(expression) &&
        ts.isIdentifier(expression.expression) &&
        expression.expression.text === 'require')
    if (isImport || isRequire) return { specifier: node.arguments[0], kind: 'lazy' }
  }
  return undefined
}

/**
 * @param {string} file
 * @param {ts.SourceFile} ast
 */
const readImports = (file, ast) => {
  /** @type {Import[]} */
  const imports = []
  /** @param {ts.Node} node */
  const visit = (node) => {
    const found = readImport(node)
    if (found && ts.isStringLiteralLike(found.specifier)) {
      const specifier = found.specifier.text
      imports.push({ specifier, line: lineOf(ast, node), kind: found.kind, target: resolveTarget(file, specifier) })
    }
    ts.forEachChild(node, visit)
  }
  visit(ast)
  return imports
}

/**
 * Every TypeScript file of a src folder with its imports, in the order of their names.
 *
 * @param {string} src
 * @returns {Source[]}
 */
export const readSources = (src) =>
  readdirSync(src, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => /\.[cm]?tsx?$/.test(file))
    .sort()
    .map((file) => {
      const ast = ts.createSourceFile(file, readFileSync(join(src, file), 'utf8'), ts.ScriptTarget.Latest, true)
      return { file, ast, imports: readImports(file, ast) }
    })
