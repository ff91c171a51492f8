// @ts-check
// npm run pack: packs all packages as for publishing, and uses them in new projects. With an argument, such as "Node
// 24", it makes the checks of that name only.
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { glob } from 'tinyglobby'
import { build } from 'vite'
import { brokenLinks } from './pack/broken-links.mjs'
import { runService } from './pack/run-service.mjs'

const maxPackages = 45
const maxMegabytes = 40
/** The lines of Node that the packages support, each with its npm; npm 12 does not run on Node 20. */
const lines = /** @type {const} */ ([
  { node: '20.19', npm: '11' },
  { node: '22', npm: '12' },
  { node: '24', npm: '12' },
  { node: '26', npm: '12' },
])

const root = join(import.meta.dirname, '..')
const scratch = await realpath(await mkdtemp(join(tmpdir(), 'rxspeech-pack-')))
/** First has what a developer of a page installs, later also the tools of the checks. */
const clientProject = join(scratch, 'client')
const linesProject = join(scratch, 'lines')
const toolsProject = join(scratch, 'tools')
/** They and what they depend on are a tenth of the packages of a checkout, which nothing else needs. */
const packageCheckers = ['@arethetypeswrong/cli@0.18.5', 'publint@0.3.25']

/** @returns {Promise<any>} */
const readJson = async (/** @type {string} */ file) => JSON.parse(await readFile(file, 'utf8'))
const manifest = await readJson(join(root, 'package.json'))
const specifiers = Object.keys(manifest.exports)
  .filter((key) => !/\*|\.json$/.test(key))
  .map((key) => key.replace('.', manifest.name))
/** Those that browsers have, too. */
const browserSpecifiers = Object.entries(manifest.exports)
  .filter(([, conditions]) => conditions.browser !== undefined)
  .map(([key]) => key.replace('.', manifest.name))

const execute = promisify(execFile)
/**
 * Runs a program. If it fails, the error contains the end of its output.
 *
 * @param {string} command @param {ReadonlyArray<string>} args @param {string} cwd
 */
const run = async (command, args, cwd) => {
  const options = { cwd, timeout: 180_000, maxBuffer: 2 ** 26 }
  const { stdout } = await execute(command, [...args], options).catch((error) => {
    const output = `${error.stdout}\n${error.stderr}`.trim().split('\n').slice(-25).join('\n')
    throw new Error(`${[command, ...args].join(' ')} failed\n${output}`)
  })
  return stdout
}
/** @param {ReadonlyArray<string>} args @param {string} cwd */
const node = (args, cwd) => run(process.execPath, args, cwd)
/** @param {string} folder @param {string[]} args */
const npmInstall = async (folder, ...args) => {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{ "private": true }', { flag: 'wx' }).catch(() => undefined)
  return run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', ...args], folder)
}
/** The path of a development dependency's program. */
const tool = (/** @type {string} */ file) => join(root, 'node_modules', file)

/** The tarball of a package, and the folder in which it is unpacked. @param {string} folder @returns {Promise<{ file: string, folder: string, files: string[] }>} */
const pack = async (folder) => {
  // The build, which the library would make before it is packed, is there.
  const options = folder === root ? ['--ignore-scripts'] : []
  const packed = JSON.parse(await run('npm', ['pack', '--json', ...options, '--pack-destination', scratch], folder))
  const [{ filename, files }] = Object.values(packed)
  const unpacked = join(scratch, 'unpacked', filename)
  await mkdir(unpacked, { recursive: true })
  await run('tar', ['-xzf', join(scratch, filename), '--strip-components=1'], unpacked)
  return {
    file: join(scratch, filename),
    folder: unpacked,
    files: files.map((/** @type {{ path: string }} */ file) => file.path),
  }
}

/** Writes a project inside the one with the installed package, and returns its folder. @param {string} name @param {Record<string, string | object>} files */
const project = async (name, files) => {
  const folder = join(clientProject, name)
  await mkdir(folder, { recursive: true })
  for (const [file, content] of Object.entries(files)) {
    await writeFile(join(folder, file), typeof content === 'string' ? content : JSON.stringify(content))
  }
  return folder
}

const compilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  target: 'es2022',
  types: ['node'],
  noEmit: true,
  skipLibCheck: false,
}
const bundler = { module: 'esnext', moduleResolution: 'bundler' }
const browser = { ...bundler, types: [], lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'] }

/** A program that does not compile if an entry point has no types. @param {ReadonlyArray<string>} names */
const typedProgram = (names) => `
${names.map((name, index) => `import * as entry${index} from '${name}'`).join('\n')}
type IsAny<T> = 0 extends 1 & T ? true : false
${names.map((_, index) => `const typed${index}: IsAny<typeof entry${index}> = false`).join('\n')}
export const all = [${names.map((_, index) => `typed${index}, ...Object.keys(entry${index})`).join(', ')}]
`

/** @typedef {readonly [name: string, check: () => Promise<string>]} Check */

/** @param {string} name @param {'typescript' | 'typescript-5' | 'typescript-7'} compiler @param {object} options @returns {Check} */
const compiles = (name, compiler, options) => [
  name,
  async () => {
    const isBrowser = 'lib' in options
    const extension = 'module' in options && options.module === 'nodenext' ? 'mts' : 'ts'
    const folder = await project(name.replaceAll(/\W+/g, '-'), {
      'tsconfig.json': { compilerOptions: { ...compilerOptions, ...options }, files: [`main.${extension}`] },
      [`main.${extension}`]: typedProgram(isBrowser ? browserSpecifiers : specifiers),
    })
    const listed = await node([join(clientProject, 'node_modules', compiler, 'bin/tsc'), '--listFilesOnly'], folder)
    if (isBrowser && listed.includes('/@types/node/')) throw new Error('The types for browsers need @types/node')
    await node([join(clientProject, 'node_modules', compiler, 'bin/tsc')], folder)
    return 'skipLibCheck' in options ? 'compiles' : 'compiles, with checked declarations'
  },
]

/** @param {'typescript' | 'typescript-5'} compiler @returns {Check} */
const runsInTsNode = (compiler) => [
  `ts-node with ${compiler}`,
  async () => {
    const options = { ...compilerOptions, module: 'commonjs', esModuleInterop: true, noEmit: false, skipLibCheck: true }
    const folder = await project(`ts-node-${compiler}`, {
      'package.json': { private: true },
      'tsconfig.json': { compilerOptions: options, 'ts-node': { compiler } },
      'main.ts': typedProgram(specifiers) + 'console.log(all.length)',
      'wrong.ts': `import * as entry from '${manifest.name}'\nexport const wrong: number = entry`,
    })
    const count = (await node(['--require', 'ts-node/register', 'main.ts'], folder)).trim()
    const wrong = await node(['--require', 'ts-node/register', 'wrong.ts'], folder).catch(String)
    if (!wrong.includes('TS2322')) throw new Error(`A wrong type was accepted: ${wrong}`)
    return `${count} names, types checked`
  },
]

/** @param {typeof lines[number]} line @returns {Check} */
const runsOnLine = ({ node, npm }) => [
  `Node ${node} with npm ${npm}`,
  async () => {
    await installedLines
    const program = join(linesProject, `node_modules/node-${node}/bin/node`)
    const folder = join(scratch, `line-${node}`)
    await mkdir(folder)
    await writeFile(join(folder, 'package.json'), '{ "private": true }')
    // npm 12 runs no install scripts unless a project names their packages.
    const withoutScripts = npm === '11' ? ['--ignore-scripts'] : []
    const install = ['install', ...withoutScripts, '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
    const npmProgram = join(linesProject, `node_modules/npm-${npm}/bin/npm-cli.js`)
    await run(program, [npmProgram, ...install, client.file, ...others.map(({ file }) => file), 'rxjs'], folder)
    await cp(join(import.meta.dirname, 'pack/client.mjs'), join(clientProject, 'client.mjs'))
    const version = (await run(program, ['client.mjs'], clientProject)).trim()
    await runService(folder, program)
    return `${version}, without install scripts: sessions, subscription create, serve, token, transcribe`
  },
]

/** Compressed, without RxJS. */
const pageLimit = { name: 'a session', path: 'dist/*.js', limit: '40 kB', gzip: true }
/** Modules that must not be in a page. Vite replaces a builtin of Node by an empty module. */
const foreign = /@grpc\/|\/protobufjs\/|\/node_modules\/ws\/|__vite-browser-external|\/dist\/cjs\//

/** A program of a page that uses all of these entry points. @param {ReadonlyArray<string>} names */
const importAll = (names) => `
${names.map((name, index) => `import * as entry${index} from '${name}'`).join('\n')}
globalThis.all = [${names.map((_, index) => `entry${index}`).join(', ')}]
`

/** @param {string} name @param {string} program */
const buildPage = async (name, program) => {
  const folder = await project(name, { 'main.mjs': program })
  const input = join(folder, 'main.mjs')
  const built = await build({
    root: folder,
    configFile: false,
    logLevel: 'silent',
    build: {
      modulePreload: false,
      assetsDir: '',
      rolldownOptions: { input, external: ['rxjs'] },
    },
  })
  if (!('output' in built)) throw new Error('Vite gave no single output')
  return { folder, ids: built.output.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : [])) }
}

/** @type {Check[]} */
const checks = [
  [
    'publint',
    async () => {
      await installedTools
      for (const { file } of packages)
        await node([join(toolsProject, 'node_modules/publint/src/cli.js'), file, '--strict'], toolsProject)
      return `${packages.length} packages, strict`
    },
  ],
  [
    'types (attw)',
    async () => {
      const options = ['--profile', 'strict', '--exclude-entrypoints', './package.json', './internal/*', '--no-emoji']
      await installedTools
      const checker = join(toolsProject, 'node_modules/@arethetypeswrong/cli/dist/index.js')
      await node([checker, client.file, ...options], toolsProject)
      return `${specifiers.length} entry points, strict`
    },
  ],
  [
    'links',
    async () => {
      const broken = (await Promise.all(packages.map(({ folder, files }) => brokenLinks(folder, files)))).flat()
      if (broken.length > 0) throw new Error(`Broken links: ${broken.join(', ')}`)
      return 'every link leads to a page in the package, and every source map is there'
    },
  ],
  [
    'lock file',
    async () => {
      const lock = await readFile(join(root, 'package-lock.json'), 'utf8')
      if (/"resolved": "https?:/.test(lock)) throw new Error('It contains addresses of a registry')
      return 'no address of a registry'
    },
  ],
  ['size of an installed client', () => installedSize],
  [
    'import, require',
    async () => {
      const names = (/** @type {string} */ load) => `
        const names = []
        for (const specifier of ${JSON.stringify(specifiers)}) {
          const names = Object.keys(${load}).filter((name) => !['default', 'module.exports', '__esModule'].includes(name))
          console.log(specifier, names.length > 0, names.sort().join(' '))
        }`
      const folder = await project('names', {
        'main.mjs': names('await import(specifier)'),
        'main.cjs': names('require(specifier)'),
      })
      const [imported, required] = await Promise.all([node(['main.mjs'], folder), node(['main.cjs'], folder)])
      if (imported !== required || imported.includes(' false '))
        throw new Error(`Different names, or none:\n${imported}\n${required}`)
      return 'the same names'
    },
  ],
  [
    'import without side effects',
    async () => {
      await cp(join(import.meta.dirname, 'pack/side-effects.mjs'), join(clientProject, 'side-effects.mjs'))
      for (const way of ['import', 'require']) {
        for (const specifier of specifiers) {
          const { stdout, stderr } = await execute(process.execPath, ['side-effects.mjs', way, specifier], {
            cwd: clientProject,
            timeout: 10_000,
          })
          if (`${stdout}${stderr}`.trim() !== '') throw new Error(`${way} ${specifier}: ${stdout}${stderr}`)
        }
      }
      return 'prints nothing, opens nothing, leaves no listener or global'
    },
  ],
  ...lines.map(runsOnLine),
  runsInTsNode('typescript'),
  runsInTsNode('typescript-5'),
  compiles('TypeScript 6, nodenext', 'typescript', { module: 'nodenext' }),
  compiles('TypeScript 7, nodenext', 'typescript-7', { module: 'nodenext', skipLibCheck: true }),
  compiles('TypeScript 5, nodenext', 'typescript-5', { module: 'nodenext', skipLibCheck: true }),
  compiles('TypeScript 6, bundler', 'typescript', { ...bundler, skipLibCheck: true }),
  compiles('TypeScript 5, node10', 'typescript-5', { module: 'commonjs', moduleResolution: 'node10' }),
  compiles('TypeScript 6, browser', 'typescript', browser),
  compiles('TypeScript 6, browser condition', 'typescript', {
    ...browser,
    customConditions: ['browser'],
    skipLibCheck: true,
  }),
  [
    'page (Vite, size-limit)',
    async () => {
      const { ids } = await buildPage('all', importAll(browserSpecifiers))
      const unwanted = ids.filter((id) => foreign.test(id))
      if (unwanted.length > 0) throw new Error(`A page loads ${unwanted.join(', ')}`)
      const names = 'transcript, recognize'
      const { folder } = await buildPage(
        'page',
        `import { ${names} } from '${manifest.name}'\nglobalThis.page = [${names}]\n`,
      )
      await project('page', {
        'package.json': { devDependencies: { '@size-limit/file': '*' }, 'size-limit': [pageLimit] },
      })
      const report = await node([tool('size-limit/bin.js')], folder)
      return report.trim().replaceAll(/\s*\n\s*/g, ', ')
    },
  ],
]

const folders = await glob('packages/*/package.json', { cwd: root })
const client = await pack(root)
const others = await Promise.all(folders.map((file) => pack(join(root, dirname(file)))))
const packages = [client, ...others]

const developmentVersions = ['@types/node', 'react', 'ts-node', 'typescript', 'typescript-5', 'typescript-7'].map(
  (name) => `${name}@${manifest.devDependencies[name]}`,
)
/** Measures the size, and builds a page, before the tools of the checks and the optional peers are installed. */
const installedSize = npmInstall(clientProject, client.file, 'rxjs').then(async () => {
  const installed = await readJson(join(clientProject, 'node_modules/.package-lock.json'))
  const count = Object.keys(installed.packages).length
  const kilobytes = Number.parseInt(await run('du', ['-sk', 'node_modules'], clientProject))
  const withoutPeers = browserSpecifiers.filter((name) => name !== `${manifest.name}/react`)
  await buildPage('without-peers', importAll(withoutPeers))
  await npmInstall(clientProject, ...developmentVersions)
  const size = `${count} packages of at most ${maxPackages}, ${(kilobytes / 1024).toFixed(1)} MB of at most ${maxMegabytes}`
  if (count > maxPackages || kilobytes > maxMegabytes * 1024) throw new Error(size)
  return size
})
const installedTools = npmInstall(toolsProject, ...packageCheckers)
const installedLines = npmInstall(
  linesProject,
  ...lines.map(({ node }) => `node-${node}@npm:node-${process.platform}-${process.arch}@${node}`),
  ...['11', '12'].map((npm) => `npm-${npm}@npm:npm@${npm}`),
)
// The check that waits for an installation reports its failure.
for (const installed of [installedTools, installedSize, installedLines]) installed.catch(() => undefined)

let failures = 0
const width = Math.max(...checks.map(([name]) => name.length))
/** @param {Check} check */
const report = async ([name, check]) => {
  const startMs = Date.now()
  const { mark, text } = await check().then(
    (summary) => ({ mark: 'ok  ', text: summary }),
    (error) => ({ mark: 'FAIL', text: error instanceof Error ? error.message : String(error) }),
  )
  if (mark === 'FAIL') failures += 1
  const seconds = ((Date.now() - startMs) / 1000).toFixed(1).padStart(5)
  console.log(`${mark} ${seconds} s  ${name.padEnd(width)}  ${text.replaceAll('\n', `\n${' '.repeat(width + 16)}`)}`)
}
// Two at a time, because most checks use one core.
const [wanted = ''] = process.argv.slice(2)
const chosen = checks.filter(([name]) => name.includes(wanted))
const waiting = [...chosen]
const work = async () => {
  for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
    if (!check[0].match(/^(publint|types|links|lock)/)) await installedSize.catch(() => undefined)
    await report(check)
  }
}
await Promise.all([work(), work()])
await Promise.allSettled([installedTools, installedSize, installedLines])
await rm(scratch, { recursive: true, force: true })
console.log(`pack: ${chosen.length - failures} of ${chosen.length} checks passed`)
process.exitCode = failures === 0 ? 0 : 1
