// @ts-check
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { consumerOf, tarballOf } from './pack-context.mjs'
import { mustRun, runCommand } from './run-command.mjs'

/** @typedef {import('./pack-context.mjs').Check} Check */
/** @typedef {import('./pack-context.mjs').PackContext} PackContext */

const npmFlags = ['--prefer-offline', '--no-audit', '--no-fund', '--no-progress', '--loglevel=error']

/**
 * Writes a project that finds the installed package in the folder above it.
 *
 * @param {string} folder
 * @param {Readonly<Record<string, string | object>>} files
 */
const writeProject = async (folder, files) => {
  await mkdir(folder, { recursive: true })
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content, null, 2))
  }
}

/** Without the optional packages: every door must load in the smallest install. @type {Check} */
const install = {
  name: 'install without optionals',
  run: async (context) => {
    const { scratch, manifest } = context
    const version = (/** @type {string} */ name) => manifest.devDependencies[name] ?? '*'
    await writeProject(scratch, {
      'package.json': {
        name: 'rxspeech-consumer',
        private: true,
        dependencies: {
          [manifest.name]: `file:${tarballOf(context)}`,
          rxjs: version('rxjs'),
          '@types/node': version('@types/node'),
          'ts-node': version('ts-node'),
          typescript: version('typescript'),
          'typescript-5': version('typescript-5'),
        },
      },
    })
    await mustRun('npm', ['install', '--omit=optional', '--ignore-scripts', ...npmFlags], { cwd: scratch })
    context.installed = true
    return `with rxjs ${version('rxjs')}`
  },
}

/** Prints the names behind each door as JSON. */
const printNames = `const names = Object.fromEntries(
  Object.entries(doors).map(([door, module]) => [
    door,
    Object.keys(module).filter((name) => name !== 'default' && name !== 'module.exports' && name !== '__esModule').sort(),
  ]),
)
console.log(JSON.stringify(names))
`

/** Each door has names, and the same ones for `import` and `require`. @type {Check} */
const importAndRequire = {
  name: 'import and require',
  run: async (context) => {
    const consumer = consumerOf(context)
    const { doors } = context
    const imports = doors.map(({ specifier }, index) => `import * as door${index} from '${specifier}'\n`).join('')
    const pairs = doors.map(({ specifier }, index) => `'${specifier}': door${index}`).join(', ')
    const requires = doors.map(({ specifier }) => `'${specifier}': require('${specifier}')`).join(', ')
    const [esm, cjs] = [join(consumer, 'esm'), join(consumer, 'cjs')]
    await writeProject(esm, {
      'package.json': { type: 'module' },
      'main.js': `${imports}const doors = { ${pairs} }\n${printNames}`,
    })
    await writeProject(cjs, {
      'package.json': { type: 'commonjs' },
      'main.js': `const doors = { ${requires} }\n${printNames}`,
    })
    const imported = (await mustRun(process.execPath, ['main.js'], { cwd: esm })).trim()
    const required = (await mustRun(process.execPath, ['main.js'], { cwd: cjs })).trim()
    if (imported !== required) throw new Error(`import and require give other names:\n${imported}\n${required}`)
    const names = Object.entries(/** @type {Record<string, string[]>} */ (JSON.parse(imported)))
    const empty = names.filter(([, list]) => list.length === 0).map(([door]) => door)
    if (empty.length > 0) throw new Error(`Nothing is exported from ${empty.join(', ')}`)
    return names.map(([door, list]) => `${door} ${list.length}`).join(', ') + ' names'
  },
}

/**
 * A program that imports the doors and fails to compile where a door has no types.
 *
 * @param {ReadonlyArray<{ specifier: string }>} doors
 */
const typedProgram = (doors) =>
  doors.map(({ specifier }, index) => `import * as door${index} from '${specifier}'\n`).join('') +
  `type IsAny<T> = 0 extends 1 & T ? true : false\n` +
  doors.map((_, index) => `const typed${index}: IsAny<typeof door${index}> = false\n`).join('') +
  `export const names = [${doors.map((_, index) => `typed${index}, ...Object.keys(door${index})`).join(', ')}]\n`

const strict = {
  strict: true,
  exactOptionalPropertyTypes: true,
  target: 'es2022',
  types: ['node'],
  noEmit: true,
  skipLibCheck: false,
}

/**
 * @param {string} compiler the folder of the compiler in node_modules
 * @param {string} kind
 * @param {object} compilerOptions
 * @param {{ extension?: string, isBrowser?: boolean }} [options]
 * @returns {Check}
 */
const compiles = (compiler, kind, compilerOptions, { extension = 'ts', isBrowser = false } = {}) => ({
  name: `tsc ${compiler === 'typescript' ? '6' : '5'}, ${kind}`,
  run: async (context) => {
    const consumer = consumerOf(context)
    const folder = join(consumer, `${compiler}-${kind.replaceAll(' ', '-')}`)
    await writeProject(folder, {
      'package.json': { private: true },
      'tsconfig.json': { compilerOptions: { ...strict, ...compilerOptions }, files: [`main.${extension}`] },
      [`main.${extension}`]: typedProgram(isBrowser ? context.doors.slice(0, 1) : context.doors),
    })
    const tsc = join(consumer, 'node_modules', compiler, 'bin/tsc')
    const { code, stdout } = await runCommand(process.execPath, [tsc, '-p', '.', '--listFiles'], { cwd: folder })
    const errors = stdout.split('\n').filter((line) => line.includes('error TS'))
    if (code !== 0) throw new Error(errors.slice(0, 10).join('\n') || `tsc ended with ${code ?? 'a time-out'}`)
    if (isBrowser && stdout.includes('/@types/node/')) throw new Error('The types of the browser door need @types/node')
    return isBrowser ? 'declarations checked, no @types/node' : 'declarations checked'
  },
})

/**
 * @param {string} compiler
 * @returns {Check}
 */
const runsInTsNode = (compiler) => ({
  name: `ts-node, TypeScript ${compiler === 'typescript' ? '6' : '5'}`,
  run: async (context) => {
    const consumer = consumerOf(context)
    const folder = join(consumer, `ts-node-${compiler}`)
    await writeProject(folder, {
      'package.json': { private: true },
      'tsconfig.json': {
        compilerOptions: { ...strict, noEmit: false, module: 'commonjs', esModuleInterop: true, skipLibCheck: true },
        'ts-node': { compiler },
      },
      'main.ts': `${typedProgram(context.doors)}console.log(names.length)\n`,
      'wrong.ts': `import * as door from '${context.manifest.name}'\nexport const wrong: number = door\n`,
    })
    const register = ['--require', 'ts-node/register']
    const count = (await mustRun(process.execPath, [...register, 'main.ts'], { cwd: folder })).trim()
    const wrong = await mustRun(process.execPath, [...register, 'wrong.ts'], { cwd: folder }).then(
      () => '',
      (/** @type {Error} */ error) => error.message,
    )
    if (!wrong.includes('TS2322')) throw new Error(`ts-node took a wrong type for granted: ${wrong || 'it ran'}`)
    return `types checked, ${count} names`
  },
})

/** With all optional packages, as a user installs it. @type {Check} */
const command = {
  name: 'command',
  run: async (context) => {
    const consumer = consumerOf(context)
    await mustRun('npm', ['install', '--include=optional', '--ignore-scripts', ...npmFlags], { cwd: consumer })
    const [name = context.manifest.name] = Object.keys(context.manifest.bin)
    const version = await mustRun(join(consumer, 'node_modules/.bin', name), ['--version'], {
      cwd: consumer,
      timeoutMs: 20_000,
    })
    if (!version.includes(context.manifest.version))
      throw new Error(`${name} --version says ${version.trim() || 'nothing'}`)
    const help = await mustRun(join(consumer, 'node_modules/.bin', name), ['--help'], {
      cwd: consumer,
      timeoutMs: 20_000,
    })
    if (help.trim() === '') throw new Error(`${name} --help says nothing`)
    return `${name} ${version.trim()}, all optional packages installed`
  },
}

const dom = { types: [], lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'] }
const bundler = { module: 'esnext', moduleResolution: 'bundler' }

export const consumerChecks = [
  install,
  importAndRequire,
  runsInTsNode('typescript'),
  runsInTsNode('typescript-5'),
  compiles('typescript', 'nodenext', { module: 'nodenext' }, { extension: 'mts' }),
  compiles('typescript-5', 'nodenext', { module: 'nodenext' }, { extension: 'mts' }),
  compiles('typescript', 'bundler', bundler),
  compiles('typescript-5', 'node10', { module: 'commonjs', moduleResolution: 'node10' }),
  compiles('typescript', 'browser', { ...bundler, ...dom }, { isBrowser: true }),
  compiles(
    'typescript',
    'browser condition',
    { ...bundler, ...dom, customConditions: ['browser'] },
    { isBrowser: true },
  ),
]
export const commandCheck = command
