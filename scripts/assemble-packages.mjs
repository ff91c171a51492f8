// @ts-check
// Assembles the two published packages in dist/packages, from the sources and the build: `rxspeech`, with few and small dependencies,
// and `rxspeech-service`, which contains the command and depends on the packages that it and the service need.
import { chmod, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { rolldown } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'
import { browserEntryPoint, browserEntryPoints, workletSource } from './browser-entry-point.mjs'
import { programs } from './dependency-rules.mjs'

const root = join(import.meta.dirname, '..')
const source = join(root, 'src')
const client = join(root, 'dist/packages/rxspeech')
const service = join(root, 'dist/packages/rxspeech-service')

/** Packages with native binaries, without which the service runs too. */
const nativePackages = ['better-sqlite3', 'sherpa-onnx-node']

/** @param {string} file @returns {Promise<any>} */
const readJson = async (file) => JSON.parse(await readFile(join(root, file), 'utf8'))

/** Indented by one space, so that it takes one block of a disk. @param {string} folder @param {object} manifest */
const writeManifest = (folder, manifest) =>
  writeFile(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 1)}\n`)

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

/** The lists that name files, and what each has not found. @type {{ list: string, unused: Set<string> }[]} */
const checkedLists = []

/**
 * Finds the first of the listed folders, which end in `/`, and files, without the extension, that a file is in or is. One
 * that no bundle contains is an error at the end, because a moved file would silently change what a page loads.
 *
 * @param {string} list its name in this script
 * @param {ReadonlyArray<string>} names in src
 * @returns {(file: string) => string | undefined}
 */
const finder = (list, names) => {
  const unused = new Set(names)
  checkedLists.push({ list, unused })
  return (file) => {
    const found = names.find((name) => (name.endsWith('/') ? file.startsWith(name) : file === `${name}.ts`))
    if (found !== undefined) unused.delete(found)
    return found
  }
}

const worklet = 'dist/esm/microphone/worklet.js'
/** The texts of files that are made from others. @type {ReadonlyMap<string, () => Promise<string>>} */
const generated = new Map([
  ...Object.entries(browserEntryPoints).map(
    ([entryPoint, { name, platformFiles }]) =>
      /** @type {const} */ ([
        join(source, `${name}.ts`),
        async () => browserEntryPoint(await readFile(join(source, `${entryPoint}.ts`), 'utf8'), platformFiles),
      ]),
  ),
  [
    join(source, 'microphone/worklet-source.ts'),
    async () => workletSource(await readFile(join(root, worklet), 'utf8')),
  ],
])

const findGenerated = finder(
  'generated',
  [...generated.keys()].map((id) => relative(source, id).replace(/\.ts$/, '')),
)
const generatedFiles = {
  name: 'generated-files',
  resolveId: (/** @type {string} */ id) => (generated.has(id) ? id : undefined),
  load: async (/** @type {string} */ id) => {
    findGenerated(relative(source, id))
    return generated.get(id)?.()
  },
}

/** Comments with the names of files that are not in the package. */
const withoutFileNames = /** @type {const} */ ({ attachDebugInfo: 'none' })

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
    plugins: [generatedFiles],
    platform: output.format === 'cjs' ? 'node' : 'neutral',
    resolve: { extensionAlias: { '.js': ['.ts'] } },
    transform: { target: 'es2022' },
    // Entry points only re-export, so no other file imports them and they get no additional exports.
    preserveEntrySignatures: 'allow-extension',
    checks: { ineffectiveDynamicImport: false },
    experimental: withoutFileNames,
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

/**
 * Folders and files whose declarations are in one file, because each file takes a block of a disk: those that several entry points
 * share, without the types of Node, which a page does not have.
 */
const commonDeclarations = [
  ...['audio/', 'errors/', 'operators/', 'protocol/'],
  ...['auth/token-fetch', 'client/failover/', 'client/session.d', 'microphone/microphone-'],
  ...['listen-address', 'audio-intake', 'request-limit', 'session-context'].map((name) => `service/\\w+/${name}`),
]

/** Bundles the declarations of the entry points. @param {ReadonlyArray<string>} names */
const bundleDeclarations = async (names) => {
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(names.map((name) => [name, join(root, 'dist/cjs', `${name}.d.ts`)])),
    external: isPackage,
    plugins: [dts({ dtsInput: true, tsconfig: false })],
    preserveEntrySignatures: 'allow-extension',
    experimental: withoutFileNames,
    checks: { pluginTimings: false },
  })
  await build.write({
    dir: join(client, 'dist/cjs'),
    format: 'es',
    chunkFileNames: 'types/[name].d.ts',
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [{ name: 'common', test: new RegExp(`/dist/cjs/(?:${commonDeclarations.join('|')})`) }],
    },
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
const checkoutOnly = ['private', 'scripts', 'bin', 'devDependencies']
/** @type {any} */
const manifest = Object.fromEntries(Object.entries(rootManifest).filter(([field]) => !checkoutOnly.includes(field)))
const required = Object.values(manifest.exports).flatMap((conditions) => conditions.default ?? [])
const entryPoints = required.map((file) => basename(file, '.js'))
const withExtension = (/** @type {string} */ name) => `${name}.ts`

await rm(dirname(client), { recursive: true, force: true })
await mkdir(join(client, 'dist/esm'), { recursive: true })
const findFolder = finder('folders of CommonJS', ['transport/grpc/', 'client/dataflow/'])
/** Too small for a file of its own. */
const findOfAuth = finder('files of auth', ['tracing/'])
/** Small folders of the service, which take fewer blocks together. */
const findJoined = finder('joined folders of CommonJS', ['service/monitor/', 'service/nats/'])
/** What only the command uses. */
const findOfCommand = finder('files of the command', [
  'service/configuration/',
  'service/engines/lint/',
  ...['add-model', 'slot-types'].map((name) => `service/engines/models/${name}`),
  'service/engines/nats/list-engines',
  'service/engines/sherpa-onnx/find-model',
  'service/identity/shared/migrate',
  'service/project/draw-graph',
])
/** What is loaded with the identity, and too small for a file of its own. */
const findOfIdentity = finder('files of the identity', ['service/machines/'])
/** The files that are a part of their entry points, as CommonJS and as ES modules. */
const inEntryPoint = ['react/', 'speech-recognition/']
const findInEntryPoint = finder('inEntryPoint', inEntryPoint)
/** The files of one entry point or program alone, where they take fewer blocks. */
const findAlone = finder('files of one program', [
  'microphone/command-microphone',
  'testing/',
  'service/engines/models/near-words',
  'service/engines/soundswallower/worker-grammars',
])
await bundle(
  [...entryPoints.map(withExtension), ...programs],
  (file) => {
    if (byFile(file) === null || findInEntryPoint(file) !== undefined || findAlone(file) !== undefined) return null
    if (findOfCommand(file) !== undefined) return 'cli'
    if (findOfIdentity(file) !== undefined) return 'service-identity'
    if (findJoined(file) !== undefined) return 'service-shared'
    if (findOfAuth(file) !== undefined) return 'auth'
    const folder = findFolder(file) ?? /^(?:service\/)?[^/]+\//.exec(file)?.[0]
    return folder?.slice(0, -1).replace('/', '-') ?? null
  },
  { dir: join(client, 'dist/cjs'), format: 'cjs', exports: 'named' },
)

const browserNames = Object.values(browserEntryPoints).map(({ name }) => name)
/**
 * The files that share one file as ES modules. The others stay apart, because bundlers drop codecs only with their file.
 *
 * @type {readonly (readonly [output: string | null, files: readonly string[]])[]}
 */
const moduleGroups = [
  // What a page loads with its first session, except for the dynamic import itself.
  [
    'session',
    [
      ...['protocol', 'session-parts'].map((name) => `client/${name}`),
      ...['rate-limiter', 'inactivity-monitor'].map((name) => `client/audio/${name}`),
      ...['present-token', 'protocol', 'request'].map((name) => `client/recognizer/${name}`),
      ...['timeline', 'channel-results', 'channel-text'].map((name) => `client/results/${name}`),
      ...['connection-errors', 'refusal', 'secret-mask'].map((name) => `errors/${name}`),
      ...['event-name', 'message-codec', 'operation-result', 'parse-json', 'recognizer-messages'].map(
        (name) => `protocol/${name}`,
      ),
      ...['inbox', 'drain'].map((name) => `transport/${name}`),
      ...['browser-client', 'dial', 'errors', 'link', 'socket'].map((name) => `transport/websocket/${name}`),
    ],
  ],
  // What `import()` loads has a file that exports it: from a named one it would be an object of getters.
  [null, ['client/recognizer/browser-parts', 'microphone/worklet-source']],
  ['client/recognize-in-browser', ['client/recognizer/recognize-in-browser']],
  // What a page with several services loads at first, beside what each page with sessions does.
  ['client/failover', ['client/failover/']],
  // What each page with sessions loads at first.
  [
    'client/machine',
    ['deadlines', 'endings', 'handover', 'lifetimes', 'machine', 'retries'].map((name) => `client/${name}`),
  ],
  ['client/client', ['client/', 'protocol/loopback', 'transport/limits']],
  // What few pages use, and files of functions and classes alone, which bundlers drop by name.
  ['protocol/validation', ['protocol/json-object', 'protocol/nearest-name', 'protocol/validation']],
  ['errors/speech-error', ['errors/error-code', 'errors/speech-error']],
  ['kernel', ['kernel/']],
  ['audio/wav', ['audio/frame-aligner', 'audio/read-wav', 'audio/wav-header', 'audio/wav-samples']],
  ['audio/pcm', ['audio/channels', 'audio/pcm']],
  ['audio/sound-check', ['audio/sound-check/']],
  ['audio/codec', ['audio/codec', 'audio/g711', 'audio/silence']],
  ['operators/audio', ['operators/audio/']],
  ['operators/captions', ['operators/captions/']],
  ['operators/metrics', ['operators/metrics/']],
  ['operators/pull', ['operators/interop/pull']],
  ['operators/interop', ['operators/interop/']],
  ['operators/results', ['operators/emit-at-end', 'operators/results/', 'protocol/unspaced-script']],
  ['microphone/microphone', ['microphone/']],
  [null, inEntryPoint],
]
const findModules = moduleGroups.map(([output, files], index) => {
  const find = finder(`moduleGroups, ${output ?? index}`, files)
  return /** @type {const} */ ([output, find])
})
/** @type {NameOutput} */
const nameModule = (file) => {
  if (byFile(file) === null) return null
  const group = findModules.find(([, find]) => find(file) !== undefined)
  return group === undefined ? byFile(file) : group[0]
}
await bundle(browserNames.map(withExtension), nameModule, {
  dir: join(client, 'dist/esm'),
  format: 'esm',
})
for (const { list, unused } of checkedLists) {
  if (unused.size > 0) throw new Error(`No bundle contains these files (${list}): ${[...unused].join(', ')}`)
}
await bundleDeclarations(entryPoints)
for (const name of Object.keys(browserEntryPoints)) {
  await writeFile(join(client, `dist/esm/${name}.d.ts`), `export * from '../cjs/${name}.js'\n`)
}
await copy(['dist/esm/package.json', worklet, 'LICENSE', 'README.md', 'docs', 'proto'], client)
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

/**
 * Moves a file of the command from `rxspeech`, which cannot run it, to `rxspeech-service`. What it requires of the library
 * stays there, behind no entry point.
 *
 * @param {string} file in dist/cjs
 */
const moveToService = async (file) => {
  const from = join(client, 'dist/cjs', file)
  const text = (await readFile(from, 'utf8')).replace(/\brequire\("\.{1,2}\/([\w-]+\.js)"\)/g, (call, name) =>
    commandFiles.includes(name) ? call : `require(libraryFile("${name}"))`,
  )
  for (const [, name = ''] of text.matchAll(/\brequire\("([^."][^"]*)"\)/g))
    if (!isBuiltin(name)) commandPackages.add(name)
  const libraryFile =
    'const libraryFile = (name) => require("node:path").join(require.resolve("rxspeech/package.json"), "../dist/cjs", name);\n'
  const [first = '', ...lines] = text.split(/(?<=\n)/)
  const moved = first.startsWith('#!') ? [first, libraryFile, ...lines] : [libraryFile, first, ...lines]
  await mkdir(dirname(join(service, 'dist/cjs', file)), { recursive: true })
  await writeFile(join(service, 'dist/cjs', file), moved.join(''))
  await rm(from)
}
const commandFiles = ['cli.js', 'cli/main.js']
/** The packages that these require. @type {Set<string>} */
const commandPackages = new Set()
const command = 'dist/cjs/cli/main.js'

const needed = Object.entries(optionalDependencies)

/** @param {string} name of a package that the library and the command need */
const versionOf = (name) => {
  const version = manifest.dependencies[name] ?? manifest.peerDependencies[name]
  if (version === undefined) throw new Error(`The command requires ${name}, which is no dependency of rxspeech.`)
  return version
}

const isNative = (/** @type {[string, unknown]} */ [name]) => nativePackages.includes(name)
await cp(join(root, 'packages/rxspeech-service'), service, { recursive: true })
for (const file of commandFiles) await moveToService(file)
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
    ...Object.fromEntries(needed.filter((entry) => !isNative(entry))),
  },
  optionalDependencies: Object.fromEntries(needed.filter(isNative)),
})
