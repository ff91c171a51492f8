// @ts-check
// Assembles the two published packages in dist/packages, from the sources and the build: `rxspeech`, with few and small dependencies,
// and `rxspeech-service`, which has no code but a bin: it depends on what the service and the command need.
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

/** The service runs without these, which have a binary for each platform. */
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
 * Names the output file of a source file; null for an entry point or a program, which are files of their own.
 *
 * @typedef {(file: string) => string | null} NameOutput
 */

/** @type {(folders: RegExp) => NameOutput} */
const byFolder = (folders) => (file) => {
  if (!file.includes('/') || programs.includes(file)) return null
  const [folder] = folders.exec(file) ?? []
  return folder?.replace('/', '-') ?? file.replace(/\.ts$/, '')
}

/** Makes `browser.ts`, which is no file of src. */
const browserPlugin = {
  name: 'browser-entry-point',
  resolveId: (/** @type {string} */ id) => (id === browserFile ? id : undefined),
  load: async (/** @type {string} */ id) =>
    id === browserFile ? browserEntryPoint(await readFile(join(source, 'index.ts'), 'utf8')) : undefined,
}

/**
 * Bundles source files. A file of 1 kB takes as much space on a disk as one of 4 kB, so one file for each folder halves the size.
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
    // Entry points only re-export, so that no other file imports them and they get no exports of other names.
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
    // Of the sources, for `AsyncDisposable`; the plugin drops it.
    banner: '/// <reference lib="esnext.disposable" preserve="true" />',
  })
  await build.close()
}

const { optionalDependencies, ...rootManifest } = await readJson('package.json')
const ofCheckout = ['private', 'scripts', 'bin', 'devDependencies']
/** @type {any} */
const manifest = Object.fromEntries(Object.entries(rootManifest).filter(([field]) => !ofCheckout.includes(field)))
/** The entry points that are ES modules too; the ES modules of the others re-export the CommonJS ones. */
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
// The files of the other folders stay apart: a page loads some with its first session only, and bundlers drop codecs only with their file.
await bundle([...dual, 'browser'].map(withExtension), byFolder(/^operators(?=\/)/), {
  dir: join(client, 'dist/esm'),
  format: 'esm',
})
await bundleDeclarations(entryPoints)
for (const name of entryPoints) {
  const line = `export * from '../cjs/${name}.js'\n`
  await writeFile(join(client, `dist/esm/${name}.d.ts`), line)
  if (!dual.includes(name)) await writeFile(join(client, `dist/esm/${name}.js`), line)
}
await copy(['dist/esm/package.json', 'LICENSE', 'README.md', 'docs', 'proto'], client)
await writeManifest(client, {
  ...manifest,
  // Where packages see only what they declare, the service's are found through this one.
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
  description: 'The speech service and the command of rxspeech, with all that they need.',
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
