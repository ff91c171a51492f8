import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import * as rxjs from 'rxjs'
import ts from 'typescript'
import { entryPoints } from '../../scripts/dependency-rules.mjs'
import { checkout } from './run-program.js'

/** A name that users import, with its declaration. */
export interface PublicName {
  /** What users import, such as `rxspeech/testing`. */
  readonly entryPoint: string
  readonly name: string
  /** Where it is declared, such as `src/audio/format.ts:12`. */
  readonly place: string
  /** Whether it exists at run time: a function, a class or a constant, and not a type. */
  readonly isValue: boolean
  readonly docstring: string
  /** The code of its `@example` tags. */
  readonly examples: readonly string[]
  /** The members of a class, an interface or an object type. */
  readonly members: readonly Member[]
}

interface Member {
  readonly name: string
  readonly isOptional: boolean
  /** A tag such as `readonly type: 'gap'`, which says everything itself. */
  readonly isLiteral: boolean
  readonly docstring: string
  readonly hasDefault: boolean
}

const files = new Map<string, ts.SourceFile>()

const parse = (path: string): ts.SourceFile => {
  const known = files.get(path)
  if (known !== undefined) return known
  const file = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.ES2022, true)
  files.set(path, file)
  return file
}

const importedFile = (from: ts.SourceFile, { text }: ts.StringLiteral): string => {
  if (text.startsWith('.')) return join(dirname(from.fileName), text.replace(/\.js$/, '.ts'))
  const [, name, path = ''] = /^rxspeech(?:\/internal|-(\w+))\/(.*)$/.exec(text) ?? []
  return join(checkout, name === undefined ? 'src' : `packages/${name}/src`, `${path}.ts`)
}

type Declaration =
  | ts.ClassDeclaration
  | ts.FunctionDeclaration
  | ts.InterfaceDeclaration
  | ts.TypeAliasDeclaration
  | ts.VariableDeclaration

/** What a statement takes from another file, to use it or to export it. */
const namesFrom = (statement: ts.Statement): ts.NamedImports | ts.NamedExports | undefined => {
  if (ts.isImportDeclaration(statement)) {
    const { namedBindings } = statement.importClause ?? {}
    return namedBindings !== undefined && ts.isNamedImports(namedBindings) ? namedBindings : undefined
  }
  if (!ts.isExportDeclaration(statement) || statement.moduleSpecifier === undefined) return undefined
  const { exportClause } = statement
  return exportClause !== undefined && ts.isNamedExports(exportClause) ? exportClause : undefined
}

/** Finds a declaration, also behind imports and re-exports. */
const declarationOf = (path: string, name: string): Declaration => {
  const file = parse(path)
  for (const statement of file.statements) {
    if (ts.isVariableStatement(statement)) {
      const found = statement.declarationList.declarations.find((each) => each.name.getText() === name)
      if (found !== undefined) return found
    }
    if (
      (ts.isClassDeclaration(statement) ||
        ts.isFunctionDeclaration(statement) ||
        ts.isInterfaceDeclaration(statement) ||
        ts.isTypeAliasDeclaration(statement)) &&
      statement.name?.text === name
    ) {
      return statement
    }
    const names = namesFrom(statement)
    const found = names?.elements.find((each) => each.name.text === name)
    if (found !== undefined) {
      const { moduleSpecifier } = statement as ts.ImportDeclaration
      return declarationOf(
        importedFile(file, moduleSpecifier as ts.StringLiteral),
        (found.propertyName ?? found.name).getText(),
      )
    }
  }
  throw new Error(`${relative(checkout, path)} does not declare ${name}.`)
}

const docstringOf = (node: ts.Node): string =>
  ts
    .getJSDocCommentsAndTags(node)
    .filter(ts.isJSDoc)
    .map(({ comment }) => ts.getTextOfJSDocComment(comment) ?? '')
    .join('\n')

const tagsOf = (node: ts.Node, name: string): readonly string[] =>
  ts
    .getJSDocTags(node)
    .filter(({ tagName }) => tagName.text === name)
    .map(({ comment }) => ts.getTextOfJSDocComment(comment) ?? '')

const isPublic = (member: ts.ClassElement | ts.TypeElement): boolean =>
  member.name !== undefined &&
  !ts.isPrivateIdentifier(member.name) &&
  tagsOf(member, 'internal').length === 0 &&
  !(ts.canHaveModifiers(member) && ts.getModifiers(member)?.some(({ kind }) => kind === ts.SyntaxKind.OverrideKeyword))

const isLiteral = (member: ts.Node): boolean => {
  if (!ts.isPropertySignature(member) || member.type === undefined) return false
  return ts.isLiteralTypeNode(member.type)
}

/** The interfaces of the same file that a declaration extends. */
const basesOf = (declaration: ts.Node): readonly ts.InterfaceDeclaration[] => {
  if (!ts.isInterfaceDeclaration(declaration)) return []
  const names = (declaration.heritageClauses ?? []).flatMap(({ types }) =>
    types.map(({ expression }) => expression.getText()),
  )
  return declaration
    .getSourceFile()
    .statements.filter(ts.isInterfaceDeclaration)
    .filter(({ name }) => names.includes(name.text))
}

/** The properties of tables of the same file, such as `typeof rows` in `OptionsOf<typeof rows>`: optional options. */
const rowsOf = (declaration: ts.Node): readonly Member[] => {
  if (!ts.isInterfaceDeclaration(declaration)) return []
  const tables = (declaration.heritageClauses ?? []).flatMap(({ types }) =>
    types.flatMap(({ typeArguments = [] }) => [...typeArguments].filter(ts.isTypeQueryNode)),
  )
  return tables
    .map(({ exprName }) => declarationOf(declaration.getSourceFile().fileName, exprName.getText()))
    .flatMap((table) =>
      ts.isVariableDeclaration(table) && table.initializer && ts.isObjectLiteralExpression(table.initializer)
        ? [...table.initializer.properties]
        : [],
    )
    .map((row) => ({
      name: row.name?.getText() ?? '',
      isOptional: true,
      isLiteral: false,
      docstring: docstringOf(row),
      hasDefault: tagsOf(row, 'default').length > 0,
    }))
}

const membersOf = (declaration: ts.Node): readonly Member[] => {
  const type = ts.isTypeAliasDeclaration(declaration) ? declaration.type : declaration
  if (!ts.isClassDeclaration(type) && !ts.isInterfaceDeclaration(type) && !ts.isTypeLiteralNode(type)) return []
  const own = [...type.members].filter(isPublic).map((member) => ({
    name: member.name?.getText() ?? '',
    isOptional: (member as ts.PropertySignature).questionToken !== undefined,
    isLiteral: isLiteral(member),
    docstring: docstringOf(member),
    hasDefault: tagsOf(member, 'default').length > 0,
  }))
  return [...own, ...rowsOf(type), ...basesOf(type).flatMap(membersOf)]
}

const exportedNames = (entryPoint: string, statement: ts.Statement): readonly string[] => {
  if (ts.isVariableStatement(statement)) {
    const isExported = statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
    return isExported === true ? statement.declarationList.declarations.map(({ name }) => name.getText()) : []
  }
  if (!ts.isExportDeclaration(statement) || statement.exportClause === undefined) return []
  if (!ts.isNamedExports(statement.exportClause)) throw new Error(`${entryPoint} must name what it exports.`)
  return statement.exportClause.elements.map(({ name }) => name.text)
}

/** The names of all entry points, read from the sources without checking types. */
export const publicNames = (): readonly PublicName[] =>
  entryPoints.flatMap((entryPoint) => {
    const path = join(checkout, entryPoint)
    return parse(path).statements.flatMap((statement) => {
      return exportedNames(entryPoint, statement).map((name) => {
        const declaration = declarationOf(path, name)
        const file = declaration.getSourceFile()
        const { line } = file.getLineAndCharacterOfPosition(declaration.getStart())
        return {
          entryPoint: moduleOf(entryPoint),
          name,
          place: `${relative(checkout, file.fileName)}:${String(line + 1)}`,
          isValue: !ts.isInterfaceDeclaration(declaration) && !ts.isTypeAliasDeclaration(declaration),
          docstring: docstringOf(declaration),
          examples: tagsOf(declaration, 'example'),
          members: membersOf(declaration),
        }
      })
    })
  })

/** How users import a file, such as `src/testing.ts`. */
const moduleOf = (file: string): string =>
  file
    .replace(/^packages\/(\w+)\/src/, 'rxspeech-$1')
    .replace(/^src/, 'rxspeech')
    .replace(/(?:\/index)?\.ts$/, '')

/** What examples use without declaring it. */
const preamble = `import type { Writable } from 'node:stream'
import type { Observable } from 'rxjs'
import type { AudioFormat, RecognizeOptions, SessionEvent, Token } from 'rxspeech'
import type { Cassette } from 'rxspeech/cassette'
import type { ClientStore } from 'rxspeech-service'

export declare const audio$: Observable<Uint8Array>
export declare const microphone$: Observable<Uint8Array>
export declare const telephone$: Observable<Uint8Array>
export declare const stereo$: Observable<Uint8Array>
export declare const agent$: Observable<Uint8Array>
export declare const customer$: Observable<Uint8Array>
export declare const format: AudioFormat
export declare const session$: Observable<SessionEvent>
export declare const options: RecognizeOptions
export declare const url: string
export declare const token: Observable<Token>
export declare const authUrl: string
export declare const clientId: string
export declare const clientSecret: string
export declare const clients: ClientStore
export declare const cassette: Cassette
export declare const file: Writable
`

const preambleNames = [...preamble.matchAll(/const ([\w$]+)/g)].map(([, name = '']) => name)

/** Where an example of an entry point gets a name from, unless it declares the name itself. */
const homesOf = (entryPoint: string, names: readonly PublicName[]): ReadonlyMap<string, string> => {
  const own = names.filter((each) => each.entryPoint === entryPoint)
  return new Map(
    [
      ...[...own, ...names].map((each) => [each.name, each.entryPoint] as const),
      ...preambleNames.map((name) => [name, '../preamble.js'] as const),
      ...Object.keys(rxjs).map((name) => [name, 'rxjs'] as const),
      ...['createReadStream', 'readFileSync', 'writeFileSync'].map((name) => [name, 'node:fs'] as const),
    ].reverse(),
  )
}

const isImport = (line: string): boolean => line.startsWith('import ')

/** The identifiers of a program, except for those behind a dot. */
const identifiersOf = (code: string): ReadonlySet<string> =>
  new Set([...code.matchAll(/(?<=\.\.\.|[^.\w$]|^)[A-Za-z_$][\w$]*/g)].map(([word]) => word))

/**
 * The modules of all examples, by file name. An example has the names of the preamble, of the entry points, of RxJS and
 * of files without importing them, and may `await`.
 */
export const exampleModules = (names: readonly PublicName[]): ReadonlyMap<string, string> => {
  const modules = new Map([['preamble.ts', preamble]])
  for (const { entryPoint, name, examples } of names) {
    if (examples.length === 0) continue
    const homes = homesOf(entryPoint, names)
    const lines = examples.map((text) => text.split('\n').filter((line) => !line.startsWith('```')))
    const bodies = lines.map((each) => each.filter((line) => !isImport(line)).join('\n'))
    const imports = [...identifiersOf(bodies.join('\n'))].flatMap((word) => {
      const home = homes.get(word)
      return home === undefined ? [] : [`import { ${word} } from '${home}'`]
    })
    modules.set(
      `${entryPoint.replaceAll('/', '-')}/${name}.ts`,
      [
        ...imports,
        ...lines.flat().filter(isImport),
        ...bodies.map((body, index) => `export const example${String(index + 1)} = async () => {\n${body}\n}`),
        '',
      ].join('\n'),
    )
  }
  return modules
}
