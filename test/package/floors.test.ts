import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { checkTree } from '../../scripts/floors/check-tree.mjs'

type Tree = Readonly<Record<string, string>>

const manifest = {
  dependencies: { '@grpc/grpc-js': '1', 'fp-ts': '2', 'io-ts': '2', 'isomorphic-ws': '5', ws: '8' },
  peerDependencies: { rxjs: '7' },
  optionalDependencies: { pino: '10', commander: '14' },
}

/** A small house in order: one file a folder, imports that all go down, and five doors. */
const sound: Tree = {
  'errors/speech-error.ts': 'export class SpeechError extends Error {}',
  'audio/format.ts': `import type { SpeechError } from '../errors/speech-error.js'\nexport type Format = SpeechError`,
  'protocol/codec.ts': `import * as t from 'io-ts'\nexport const codec = t.type({ rate: t.number })`,
  'operators/chunk.ts': `import { map } from 'rxjs'\nimport type { Format } from '../audio/format.js'\nexport const chunk = (_: Format) => map(String)`,
  'transport/link.ts': `import WebSocket from 'isomorphic-ws'\nexport const open = (url: string) => new WebSocket(url)`,
  'auth/token.ts': 'export const token = 1',
  'client/recognize.ts': `import { open } from '../transport/link.js'\nimport { chunk } from '../operators/chunk.js'\nexport const recognize = [open, chunk]`,
  'service/engine/engine.ts': `export const load = () => import('pino')`,
  'service/recognition/segments.ts': `import { load } from '../engine/engine.js'\nexport const segments = load`,
  'service/nodes/node.ts': `import { segments } from '../recognition/segments.js'\nexport const node = segments`,
  'service/project/graph.ts': `import { node } from '../nodes/node.js'\nexport const graph = node`,
  'service/identity/grants.ts': `import { createHash } from 'node:crypto'\nexport const grants = () => createHash('sha256')`,
  'service/dataflow/talk.ts': `import { graph } from '../project/graph.js'\nexport const talk = graph`,
  'service/listen/socket.ts': `import { talk } from '../dataflow/talk.js'\nimport { grants } from '../identity/grants.js'\nexport const socket = [talk, grants]`,
  'service/service.ts': `import { socket } from './listen/socket.js'\nexport const service = socket`,
  'testing/faults.ts': `import { service } from '../service/service.js'\nexport const faults = service`,
  'cli/main.ts': `#!/usr/bin/env node\nimport { program } from 'commander'\nimport { service } from '../service/service.js'\nprogram.parse()\nvoid service`,
  'web/page.ts': 'export const page = 1',
  'index.ts': `export { recognize } from './client/recognize.js'`,
  'browser.ts': `export { recognize } from './client/recognize.js'`,
  'grpc.ts': `export { service } from './service/service.js'`,
  'service/index.ts': `export { service } from './service.js'`,
  'testing/index.ts': `export { faults } from './faults.js'`,
}

const roots: string[] = []

const plant = (changes: Tree): string => {
  const root = mkdtempSync(join(tmpdir(), 'rxspeech-floors-'))
  roots.push(root)
  writeFileSync(join(root, 'package.json'), JSON.stringify(manifest))
  for (const [file, text] of Object.entries({ ...sound, ...changes })) {
    const path = join(root, 'src', file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  return root
}

const breachesOf = (changes: Tree) =>
  checkTree(plant(changes)).breaches.map(({ file, line, rule }) => `${file}:${String(line)} ${rule}`)

afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true })
})

describe('floors', () => {
  it('accepts a tree in order', () => {
    expect(breachesOf({})).toEqual([])
  })

  const planted: readonly (readonly [what: string, changes: Tree, ...breaches: string[]])[] = [
    [
      'an import from a higher floor',
      { 'audio/wav.ts': `\nimport { chunk } from '../operators/chunk.js'\nexport const wav = chunk` },
      'audio/wav.ts:2 circle',
      'audio/wav.ts:2 floor',
    ],
    [
      'a type imported from a higher floor',
      { 'auth/token.ts': `import type { faults } from '../testing/faults.js'\nexport type Token = typeof faults` },
      'auth/token.ts:1 floor',
    ],
    [
      'a type named by import() from a higher floor',
      { 'auth/token.ts': `export type Token = import('../testing/faults.js').faults` },
      'auth/token.ts:1 floor',
    ],
    [
      'a lazy import() from a higher floor',
      { 'auth/token.ts': `export const load = () => import('../testing/faults.js')` },
      'auth/token.ts:1 floor',
    ],
    [
      'a require() from a higher floor',
      { 'auth/token.ts': `export const load = () => require('../testing/faults.js')` },
      'auth/token.ts:1 floor',
    ],
    [
      'a re-export from a higher floor',
      { 'auth/token.ts': `export { faults } from '../testing/faults.js'` },
      'auth/token.ts:1 floor',
    ],
    [
      'an import from a neighbor on the same floor',
      { 'operators/pace.ts': `import { token } from '../auth/token.js'\nexport const pace = token` },
      'operators/pace.ts:1 sideways',
    ],
    [
      'a room of the service that imports against the order',
      { 'service/engine/remote.ts': `import { node } from '../nodes/node.js'\nexport const remote = node` },
      'service/engine/remote.ts:1 circle',
      'service/engine/remote.ts:1 room',
    ],
    [
      'the identity service leaning on another room',
      { 'service/identity/audit.ts': `import { load } from '../engine/engine.js'\nexport const audit = load` },
      'service/identity/audit.ts:1 room',
    ],
    [
      'a listener that reaches past the conversation for an engine',
      { 'service/listen/http.ts': `import { load } from '../engine/engine.js'\nexport const http = load` },
      'service/listen/http.ts:1 room',
    ],
    [
      'a room of the service that imports the files above it',
      { 'service/nodes/all.ts': `import { service } from '../service.js'\nexport const all = service` },
      'service/nodes/all.ts:1 room',
      'service/service.ts:1 circle',
    ],
    [
      'a circle between folders of one subject though no files form one',
      {
        'transport/grpc/channel.ts': `import { open } from '../link.js'\nexport const channel = open`,
        'transport/twins.ts': `import { low } from './grpc/low.js'\nexport const twins = low`,
        'transport/grpc/low.ts': 'export const low = 1',
      },
      'transport/twins.ts:1 circle',
    ],
    [
      'inner code that imports an index.ts',
      { 'cli/serve.ts': `import { service } from '../service/index.js'\nexport const serve = service` },
      'cli/serve.ts:1 index',
    ],
    [
      'inner code that imports a door',
      { 'cli/serve.ts': `import { recognize } from '../index.js'\nexport const serve = recognize` },
      'cli/serve.ts:1 floor',
    ],
    [
      'an index.ts that is no door',
      { 'operators/index.ts': `export { chunk } from './chunk.js'` },
      'operators/index.ts:1 place',
    ],
    ['a folder without a floor', { 'helpers/pad.ts': 'export const pad = 1' }, 'helpers/pad.ts:1 place'],
    ['a room without a place', { 'service/extras/pad.ts': 'export const pad = 1' }, 'service/extras/pad.ts:1 place'],
    ['a file directly in src that is no door', { 'pad.ts': 'export const pad = 1' }, 'pad.ts:1 place'],
    [
      'a command that imports the tools for tests',
      { 'cli/serve.ts': `import { faults } from '../testing/faults.js'\nexport const serve = faults` },
      'cli/serve.ts:1 sideways',
    ],
    [
      'an import that leads out of src',
      { 'cli/version.ts': `import { version } from '../../package.json'\nexport const v = version` },
      'cli/version.ts:1 outside',
    ],
    [
      'an import that names no file',
      { 'cli/serve.ts': `import { nothing } from '../service/nothing.js'\nexport const serve = nothing` },
      'cli/serve.ts:1 missing',
    ],
    [
      'a package in the folders of pure functions',
      { 'audio/stream.ts': `import { map } from 'rxjs'\nexport const stream = map` },
      'audio/stream.ts:1 packages',
    ],
    [
      'a package that is not declared',
      { 'service/service.ts': `import lodash from 'lodash'\nexport const service = lodash` },
      'service/service.ts:1 undeclared',
    ],
    [
      'an optional package that is loaded with the service',
      { 'service/log.ts': `import { pino } from 'pino'\nexport const log = () => pino()` },
      'service/log.ts:1 optional',
    ],
    [
      'a Node builtin within reach of the browser',
      {
        'transport/link.ts': `import { connect } from 'node:net'\nexport const open = (port: number) => connect(port)`,
      },
      'transport/link.ts:1 browser',
    ],
    [
      'a builtin without the node: prefix within reach of the browser',
      { 'transport/link.ts': `import { join } from 'path'\nexport const open = () => join('a')` },
      'transport/link.ts:1 browser',
    ],
    [
      'gRPC within reach of the browser, by its type alone',
      { 'transport/link.ts': `import type { Channel } from '@grpc/grpc-js'\nexport const open = (c: Channel) => c` },
      'transport/link.ts:1 browser',
    ],
    [
      'a name that only Node has within reach of the browser',
      { 'transport/link.ts': `export const open = (text: string) => Buffer.from(text)` },
      'transport/link.ts:1 browser',
    ],
    [
      'a statement that runs on import',
      { 'client/recognize.ts': `export const recognize = 1\nconsole.log(recognize)` },
      'client/recognize.ts:2 effect',
    ],
    [
      'a condition that runs on import',
      { 'client/recognize.ts': `export const recognize = 1\nif (recognize) throw new Error()` },
      'client/recognize.ts:2 effect',
    ],
    [
      'a bare import',
      { 'service/service.ts': `import 'rxjs'\nexport const service = 1` },
      'service/service.ts:1 effect',
    ],
    [
      'a constant that reads a file on import',
      { 'service/read.ts': `import { readFileSync } from 'node:fs'\nexport const text = readFileSync('a')` },
      'service/read.ts:2 effect',
    ],
    [
      'a timer that starts on import',
      { 'client/beat.ts': `export const beat = setInterval(() => undefined, 10)` },
      'client/beat.ts:1 effect',
    ],
    [
      'a static field that opens something on import',
      {
        'service/pool.ts': `import * as net from 'node:net'\nexport class Pool {\n  static server = net.createServer()\n}`,
      },
      'service/pool.ts:3 effect',
    ],
    [
      'a file that is run but not on the list of programs',
      {
        'service/engine/decode-worker.ts': `import { parentPort } from 'node:worker_threads'\nparentPort?.on('message', String)`,
      },
      'service/engine/decode-worker.ts:2 effect',
    ],
    [
      'an import of a program',
      { 'cli/again.ts': `export const again = () => import('./main.js')` },
      'cli/again.ts:1 program',
    ],
  ]

  it.each(planted.map(([what, changes, ...breaches]) => ({ what, changes, breaches })))(
    'refuses $what',
    ({ changes, breaches }) => {
      expect(breachesOf(changes)).toEqual(breaches)
    },
  )

  const allowed: readonly (readonly [what: string, changes: Tree])[] = [
    [
      'a worker that runs on import',
      {
        'service/engine/soundswallower/soundswallower-worker.ts': `import { parentPort } from 'node:worker_threads'\nparentPort?.on('message', String)`,
      },
    ],
    [
      "a builtin's type within reach of the browser",
      {
        'transport/link.ts': `import type { IncomingMessage } from 'node:http'\nexport const open = (m: IncomingMessage) => m.url`,
      },
    ],
    [
      'a Node name that the file asks for first',
      { 'transport/link.ts': `export const open = typeof process === 'undefined' ? 'browser' : process.version` },
    ],
    [
      'a Node name as a key or a parameter',
      { 'transport/link.ts': `export const open = (process: number) => ({ Buffer: 1, global: 2 }).Buffer` },
    ],
    [
      'an optional package by its types alone',
      { 'service/log.ts': `import type { Logger } from 'pino'\nexport type Log = Logger` },
    ],
    [
      'a call inside a function, an instance field or a codec',
      {
        'service/read.ts': `import { readFileSync } from 'node:fs'\nexport const read = () => readFileSync('a')\nexport class Reader {\n  text = readFileSync('a')\n}`,
      },
    ],
    [
      'an import written in a string or a comment',
      { 'auth/token.ts': `// import '../testing/faults.js'\nexport const a = "import('../web/page.js')"` },
    ],
  ]

  it.each(allowed)('accepts %s', (_what, changes) => {
    expect(breachesOf(changes)).toEqual([])
  })
})

describe('npm run floors', () => {
  const run = (root: string) =>
    spawnSync(process.execPath, ['scripts/floors.mjs', '--root', root], { encoding: 'utf8' })

  it('prints one line and exits with 0 when nothing is wrong', () => {
    const { status, stdout, stderr } = run(plant({}))
    expect({ status, stdout, stderr }).toEqual({
      status: 0,
      stdout: 'floors: 23 files, 24 imports, no breach\n',
      stderr: '',
    })
  })

  it('names file, line, rule and remedy and exits with 1 when a rule is broken', () => {
    const { status, stderr } = run(plant({ 'auth/token.ts': `export { faults } from '../testing/faults.js'` }))
    expect(status).toBe(1)
    expect(stderr.split('\n')).toEqual([
      'src/auth/token.ts:1  floor  auth (floor 4) imports up, from testing (floor 7). Move what both need down, or hand it in as a parameter.',
      'floors: 1 breach in 23 files',
      '',
    ])
  })

  it('exits with 1 when there is nothing to check', () => {
    const root = mkdtempSync(join(tmpdir(), 'rxspeech-floors-'))
    roots.push(root)
    mkdirSync(join(root, 'src'))
    writeFileSync(join(root, 'package.json'), '{}')
    expect(run(root).status).toBe(1)
  })
})
