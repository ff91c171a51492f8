// @ts-check
// Assembles the published packages in dist/packages, from the sources and the build: `rxspeech`, with few and small dependencies,
// `rxspeech-service`, which contains the command and depends on the packages that it and the service need, and the data of a model.
import { chmod, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { rolldown } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'
import { browserEntryPoints } from './browser-entry-point.mjs'

const root = join(import.meta.dirname, '..')
const client = join(root, 'dist/packages/rxspeech')
const service = join(root, 'dist/packages/rxspeech-service')

/** The data of the model that the service has without configuration. */
const modelPackage = 'rxspeech-whisper-tiny-en'

/** Packages with native binaries or data, without which the service runs too. */
const dispensablePackages = ['libsql', modelPackage, 'sherpa-onnx-node']

/** @param {string} file @returns {Promise<any>} */
const readJson = async (file) => JSON.parse(await readFile(join(root, file), 'utf8'))

/** @param {string} folder @param {object} manifest */
const writeManifest = (folder, manifest) =>
  writeFile(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)

/** @param {ReadonlyArray<string>} paths from the root @param {string} folder */
const copy = async (paths, folder) => {
  for (const path of paths) await cp(join(root, path), join(folder, path), { recursive: true })
}

/** Files in a folder of the build. @param {string} folder @param {string} extension @returns {Promise<string[]>} */
const filesIn = async (folder, extension) => {
  const files = await readdir(join(root, folder), { recursive: true })
  return files.filter((file) => file.endsWith(extension)).map((file) => join(folder, file))
}

/** The declarations of the entry points, without types that these do not mention. @param {ReadonlyArray<string>} files */
const bundleDeclarations = async (files) => {
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(files.map((file) => [basename(file, '.d.ts'), join(root, file)])),
    external: (id) => !id.startsWith('.') && !id.startsWith('/'),
    plugins: [dts({ dtsInput: true, tsconfig: false })],
    preserveEntrySignatures: 'allow-extension',
    experimental: { attachDebugInfo: 'none' },
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

/**
 * Removes images that a package does not have, and replaces links to such pages by their text.
 *
 * @param {string} folder of the package
 * @param {readonly string[]} absent names in `docs`
 */
const unlink = async (folder, absent) => {
  const target = `\\((?:\\.\\./|docs/)*(?:${absent.join('|')})(?:#[^)]*)?\\)`
  const image = new RegExp(`!\\[[^\\]]*\\]${target}\\n\\n`, 'g')
  const link = new RegExp(`\\[([^\\]]*)\\]${target}`, 'g')
  const files = await readdir(folder, { recursive: true })
  for (const file of files.filter((name) => name.endsWith('.md')).map((name) => join(folder, name))) {
    const text = await readFile(file, 'utf8')
    await writeFile(file, text.replace(image, '').replace(link, '$1'))
  }
}

const { optionalDependencies, ...rootManifest } = await readJson('package.json')
const checkoutOnly = ['private', 'scripts', 'bin', 'devDependencies', 'workspaces']
/** @type {any} */
const manifest = Object.fromEntries(Object.entries(rootManifest).filter(([field]) => !checkoutOnly.includes(field)))
const entryPoints = Object.values(manifest.exports).flatMap((conditions) => conditions.types ?? [])
const command = 'dist/cjs/cli/main.js'
const commandFolder = 'dist/cjs/cli/'

await rm(dirname(client), { recursive: true, force: true })
const nodeFiles = await filesIn('dist/cjs', '.js')
await copy(
  nodeFiles.filter((file) => !file.startsWith(commandFolder)),
  client,
)
await bundleDeclarations(entryPoints)
await copy(await filesIn('dist/esm', '.js'), client)
for (const name of Object.keys(browserEntryPoints))
  await writeFile(join(client, `dist/esm/${name}.d.ts`), `export * from '../cjs/${name}.js'\n`)
await copy(['dist/esm/package.json', 'LICENSE', 'README.md', 'docs', 'proto'], client)
/** In `docs`, for operators, who install the other package. */
const operatorPages = [
  ...['ACCURACY.md', 'ENGINES.md', 'NODES.md', 'OPERATING.md', 'PROJECTS.md', 'SCALING.md', 'SECURITY.md'],
  ...['deploy', 'openapi.yaml', 'recipes/custom-node.md', 'recipes/hosting.md'],
]
/** In `docs`, for those who work on the sources. */
const sourcePages = ['ARCHITECTURE.md', 'DECISIONS.md', 'notebooks', 'studio.webp']
for (const name of [...operatorPages, ...sourcePages]) await rm(join(client, 'docs', name), { recursive: true })
await unlink(client, [...operatorPages, ...sourcePages])
await writeManifest(client, {
  ...manifest,
  // Package managers that hide undeclared packages resolve those of the service through this one.
  peerDependencies: { ...manifest.peerDependencies, 'rxspeech-service': manifest.version },
  peerDependenciesMeta: { ...manifest.peerDependenciesMeta, 'rxspeech-service': { optional: true } },
})

/** The packages that the command requires. @type {Set<string>} */
const commandPackages = new Set()
const libraryFile =
  'const libraryFile = (name) => require("node:path").join(require.resolve("rxspeech/package.json"), "../dist/cjs", name);\n'

/**
 * Copies a file of the command to `rxspeech-service`. What it loads of the library is in `rxspeech`, behind no entry point.
 *
 * @param {string} file
 */
const copyCommandFile = async (file) => {
  const text = await readFile(join(root, file), 'utf8')
  /** @type {(path: string) => string | undefined} */
  const inLibrary = (path) => {
    const target = join(dirname(file), path)
    return target.startsWith(commandFolder) ? undefined : `require(libraryFile("${target.replace('dist/cjs/', '')}"))`
  }
  const moved = text
    .replace(/\brequire\("(\.[^"]+)"\)/g, (call, path) => inLibrary(path) ?? call)
    .replace(/\bimport\('(\.[^']+)'\)/g, (call, path) => {
      const required = inLibrary(path)
      return required === undefined ? call : `Promise.resolve().then(() => ${required})`
    })
  for (const [, name = ''] of text.matchAll(/\b(?:require|import)\(["']([^."'][^"']*)["']\)/g))
    if (!isBuiltin(name)) commandPackages.add(name)
  const [first = '', ...lines] = moved.split(/(?<=\n)/)
  const isProgram = first.startsWith('#!')
  await mkdir(join(service, dirname(file)), { recursive: true })
  await writeFile(
    join(service, file),
    [...(isProgram ? [first] : []), libraryFile, ...(isProgram ? [] : [first]), ...lines].join(''),
  )
}

const needed = Object.entries(optionalDependencies)

/** @param {string} name of a package that the library and the command need */
const versionOf = (name) => {
  const version = manifest.dependencies[name] ?? manifest.peerDependencies[name]
  if (version === undefined) throw new Error(`The command requires ${name}, which is no dependency of rxspeech.`)
  return version
}

const isDispensable = (/** @type {[string, unknown]} */ [name]) => dispensablePackages.includes(name)
await cp(join(root, 'packages/rxspeech-service'), service, { recursive: true })
for (const file of nodeFiles.filter((name) => name.startsWith(commandFolder))) await copyCommandFile(file)
await chmod(join(service, command), 0o755)
await copy(['LICENSE', 'samples', 'dist/studio', ...operatorPages.map((name) => `docs/${name}`)], service)
const allPages = await readdir(join(root, 'docs'))
await unlink(
  service,
  allPages.filter((name) => !operatorPages.includes(name)),
)
await writeManifest(service, {
  name: 'rxspeech-service',
  version: manifest.version,
  description: 'The speech service and the command of rxspeech, with all their dependencies.',
  keywords: manifest.keywords,
  license: manifest.license,
  type: 'commonjs',
  engines: manifest.engines,
  bin: { rxspeech: command, 'rxspeech-service': command },
  files: ['samples', '!samples/*.ts', 'docs', 'dist'],
  dependencies: {
    [manifest.name]: manifest.version,
    ...Object.fromEntries([...commandPackages].map((name) => [name, versionOf(name)])),
    ...Object.fromEntries(needed.filter((entry) => !isDispensable(entry))),
  },
  optionalDependencies: Object.fromEntries(needed.filter(isDispensable)),
})

await cp(join(root, 'packages', modelPackage), join(root, 'dist/packages', modelPackage), { recursive: true })
