// @ts-check
// Assembles the two published packages in dist/packages, from the sources and the build: `rxspeech`, with few and small dependencies,
// and `rxspeech-service`, which contains only a bin and depends on the packages that the service and the command need.
import { chmod, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { rolldown } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'
import { browserEntryPoint } from './browser-entry-point.mjs'
import { programs } from './dependency-rules.mjs'

const root = join(import.meta.dirname, '..')
const source = join(root, 'src')
const browserFile = join(source, 'browser.ts')
const client = join(root, 'dist/packages/rxspeech')
const service = join(root, 'dist/packages/rxspeech-service')

/** Packages with native binaries, without which the service runs too. */
const nativePackages = ['better-sqlite3', 'koffi', 'sherpa-onnx-node']

/** @param {string} file @returns {Promise<any>} */
const readJson = async (file) => JSON.parse(await readFile(join(root, file), 'utf8'))

/** @param {string} folder @param {object} manifest */
const writeManifest = (folder, manifest) =>
  writeFile(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)

/** @param {ReadonlyArray<string>} paths from the root @param {string} folder */
const copy = async (paths, folder) => {
  for (const path of paths) await cp(join(root, path), join(folder, path), { recursive: true })
}

/** @param {string} id */
const isPackage = (id) => !id.startsWith('.') && !id.startsWith('/')

/**
 * Names the output file of a source file; null for entry points and programs, which have separate output files.
 *
 * @typedef {(file: string) => string | null} NameOutput
 */

/** @type {NameOutput} */
const byFile = (file) => (!file.includes('/') || programs.includes(file) ? null : file.replace(/\.ts$/, ''))

/** @type {(folders: RegExp) => NameOutput} */
const byFolder = (folders) => (file) => {
  const [folder] = folders.exec(file) ?? []
  return byFile(file) && (folder?.replace('/', '-') ?? byFile(file))
}

/** Generates `browser.ts`, which does not exist in src. */
const browserPlugin = {
  name: 'browser-entry-point',
  resolveId: (/** @type {string} */ id) => (id === browserFile ? id : undefined),
  load: async (/** @type {string} */ id) =>
    id === browserFile ? browserEntryPoint(await readFile(join(source, 'index.ts'), 'utf8')) : undefined,
}

/**
 * Bundles source files into one file for each folder. This halves the installed size, because a file of 1 kB takes 4 kB on a disk.
 *
 * @param {ReadonlyArray<string>} files in src
 * @param {NameOutput} nameOutput
 * @param {import('rolldown').OutputOptions} output
 */
const bundle = async (files, nameOutput, output) => {
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(files.map((file) => [file.replace(/\.ts$/, ''), join(source, file)])),
    external: isPackage,
    plugins: [browserPlugin],
    platform: output.format === 'cjs' ? 'node' : 'neutral',
    resolve: { extensionAlias: { '.js': ['.ts'] } },
    transform: { target: 'es2022' },
    // Entry points only re-export, so no other file imports them and they get no additional exports.
    preserveEntrySignatures: 'allow-extension',
    checks: { ineffectiveDynamicImport: false },
  })
  await build.write({
    entryFileNames: '[name].js',
    chunkFileNames: '[name].js',
    comments: { jsdoc: false },
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [{ debugName: output.format ?? '', name: (id) => nameOutput(relative(source, id)) }],
    },
    ...output,
  })
  await build.close()
}

/** Bundles the declarations of the entry points. @param {ReadonlyArray<string>} names */
const bundleDeclarations = async (names) => {
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(names.map((name) => [name, join(root, 'dist/cjs', `${name}.d.ts`)])),
    external: isPackage,
    plugins: [dts({ dtsInput: true, tsconfig: false })],
    checks: { pluginTimings: false },
  })
  await build.write({
    dir: join(client, 'dist/cjs'),
    format: 'es',
    chunkFileNames: 'types/[name].d.ts',
    // The sources have this reference for `AsyncDisposable`; the plugin removes it.
    banner: '/// <reference lib="esnext.disposable" preserve="true" />',
  })
  await build.close()
}

const { optionalDependencies, ...rootManifest } = await readJson('package.json')
const checkoutOnly = ['private', 'scripts', 'bin', 'devDependencies']
/** @type {any} */
const manifest = Object.fromEntries(Object.entries(rootManifest).filter(([field]) => !checkoutOnly.includes(field)))
/** The entry points that are built as ES modules too; the ES modules of the others re-export the CommonJS ones. */
const dual = ['index']
const required = Object.values(manifest.exports).flatMap((conditions) => conditions.require?.default ?? [])
const entryPoints = required.map((file) => basename(file, '.js'))
const withExtension = (/** @type {string} */ name) => `${name}.ts`

await rm(dirname(client), { recursive: true, force: true })
await mkdir(join(client, 'dist/esm'), { recursive: true })
await bundle(
  [...entryPoints.map(withExtension), ...programs],
  byFolder(/^(service\/[^/]+|transport\/grpc|client\/dataflow|[^/]+)(?=\/)/),
  { dir: join(client, 'dist/cjs'), format: 'cjs', exports: 'named' },
)
// The files stay apart: a page loads some with its first session only, and bundlers drop codecs only with their file.
await bundle([...dual, 'browser'].map(withExtension), byFile, { dir: join(client, 'dist/esm'), format: 'esm' })
await bundleDeclarations(entryPoints)
for (const name of entryPoints) {
  const line = `export * from '../cjs/${name}.js'\n`
  await writeFile(join(client, `dist/esm/${name}.d.ts`), line)
  if (!dual.includes(name)) await writeFile(join(client, `dist/esm/${name}.js`), line)
}
await copy(['dist/esm/package.json', 'LICENSE', 'README.md', 'docs', 'proto'], client)
await writeManifest(client, {
  ...manifest,
  // Package managers that hide undeclared packages resolve those of the service through this one.
  peerDependencies: { ...manifest.peerDependencies, 'rxspeech-service': manifest.version },
  peerDependenciesMeta: { 'rxspeech-service': { optional: true } },
})

const needed = Object.entries(optionalDependencies)
const isNative = (/** @type {[string, unknown]} */ [name]) => nativePackages.includes(name)
await cp(join(root, 'packages/rxspeech-service'), service, { recursive: true })
await chmod(join(service, 'rxspeech.js'), 0o755)
await copy(['LICENSE', 'samples'], service)
await writeManifest(service, {
  name: 'rxspeech-service',
  version: manifest.version,
  description: 'The speech service and the command of rxspeech, with all their dependencies.',
  keywords: manifest.keywords,
  license: manifest.license,
  type: 'commonjs',
  engines: manifest.engines,
  bin: { rxspeech: 'rxspeech.js', 'rxspeech-service': 'rxspeech.js' },
  files: ['rxspeech.js', 'samples', '!samples/*.ts'],
  dependencies: {
    [manifest.name]: manifest.version,
    ...manifest.peerDependencies,
    ...Object.fromEntries(needed.filter((entry) => !isNative(entry))),
  },
  optionalDependencies: Object.fromEntries(needed.filter(isNative)),
})
