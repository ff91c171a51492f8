import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'

type Tree = Readonly<Record<string, string>>

const checkout = join(__dirname, '../..')
const roots: string[] = []
afterAll(() => roots.forEach((root) => rmSync(root, { recursive: true })))

const manifest = {
  dependencies: { '@grpc/grpc-js': '1', 'fp-ts': '2', 'io-ts': '2', 'isomorphic-ws': '5', ws: '8', commander: '14' },
  peerDependencies: { rxjs: '7' },
  optionalDependencies: { pino: '10' },
  devDependencies: { vitest: '4' },
}

/** A source tree that keeps all rules. */
const sound: Tree = {
  'src/errors/speech-error.ts': 'export class SpeechError extends Error {}',
  'src/audio/format.ts': `import type { SpeechError } from '../errors/speech-error.js'\nexport type Format = SpeechError`,
  'src/protocol/messages.ts': `import * as t from 'io-ts'\nexport const codec = t.type({ rate: t.number })`,
  'src/operators/chunk.ts': `import { map } from 'rxjs'\nimport type { Format } from '../audio/format.js'\nexport const chunk = (_: Format) => map(String)`,
  'src/transport/link.ts': `import WebSocket from 'isomorphic-ws'\nexport const open = (url: string) => new WebSocket(url)`,
  'src/auth/token.ts': 'export const token = 1',
  'src/client/recognize.ts': `import { open } from '../transport/link.js'\nimport { chunk } from '../operators/chunk.js'\nexport const recognize = [open, chunk]`,
  'src/testing/faults.ts': `import { SpeechError } from '../errors/speech-error.js'\nexport const faults = [SpeechError]`,
  'src/index.ts': `export { recognize } from './client/recognize.js'`,
  'src/client/recognize-in-browser.ts': `export { recognize } from './recognize.js'`,
  'packages/engines/src/pool/engine.ts': `import type { Logger } from 'pino'\nexport const load = (): Promise<{ pino: () => Logger }> => import('pino')`,
  'packages/server/src/recognition/segments.ts': `import { load } from '../../../engines/src/pool/engine.js'\nexport const segments = load`,
  'packages/service/src/start/service.ts': `import { segments } from '../../../server/src/recognition/segments.js'\nexport const service = segments`,
  'packages/service/src/cli/main.ts': `import { program } from 'commander'\nimport { service } from '../start/service.js'\nprogram.parse()\nvoid service`,
}

/** Files that break one rule each, and the rule; empty for a file that another breach needs. */
const breaches: readonly (readonly [file: string, text: string, rule: string])[] = [
  ['src/audio/wav.ts', `import { chunk } from '../operators/chunk.js'\nexport const wav = chunk`, 'layer-audio'],
  [
    'src/auth/type.ts',
    `import type { faults } from '../testing/faults.js'\nexport type T = typeof faults`,
    'layer-auth',
  ],
  ['src/auth/lazy.ts', `export const load = () => import('../testing/faults.js')`, 'layer-auth'],
  ['src/auth/exported.ts', `export { faults } from '../testing/faults.js'`, 'layer-auth'],
  ['src/operators/pace.ts', `import { token } from '../auth/token.js'\nexport const pace = token`, 'layer-operators'],
  [
    'src/kernel/upward.ts',
    `import { load } from '../../packages/engines/src/pool/engine.js'\nexport const upward = load`,
    'package-rxspeech',
  ],
  [
    'packages/nodes/src/events/borrowed.ts',
    `import { load } from '../../../engines/src/pool/engine.js'\nexport const borrowed = load`,
    'package-nodes',
  ],
  [
    'packages/server/src/monitor/monitor.ts',
    `import { segments } from '../recognition/segments.js'\nexport const monitor = segments`,
    'server-monitor',
  ],
  ['src/transport/grpc/one.ts', `import { two } from './two.js'\nexport const one = () => two`, 'no-cycle'],
  ['src/transport/grpc/two.ts', `import { one } from './one.js'\nexport const two = () => one`, ''],
  [
    'packages/service/src/cli/serve.ts',
    `import { recognize } from '../../../../src/index.js'\nexport const serve = recognize`,
    'entry-point',
  ],
  ['packages/service/src/cli/again.ts', `export const again = () => import('./main.js')`, 'program'],
  ['src/helpers/pad.ts', `import { token } from '../auth/token.js'\nexport const pad = token`, 'known-folder'],
  [
    'packages/server/src/extras/pad.ts',
    `import { segments } from '../recognition/segments.js'\nexport const pad = segments`,
    'known-folder',
  ],
  ['src/client/outside.ts', `import { version } from '../../test/version.js'\nexport const v = version`, 'outside'],
  ['src/client/missing.ts', `import { nothing } from './nothing.js'\nexport const none = nothing`, 'unresolvable'],
  ['src/audio/stream.ts', `import { map } from 'rxjs'\nexport const stream = map`, 'no-package'],
  [
    'packages/engines/src/models/undeclared.ts',
    `import fc from 'fast-check'\nexport const u = fc`,
    'undeclared-package',
  ],
  ['packages/engines/src/models/dev.ts', `import { vi } from 'vitest'\nexport const d = vi`, 'undeclared-package'],
  [
    'packages/engines/src/models/log.ts',
    `import { pino } from 'pino'\nexport const log = () => pino()`,
    'optional-package',
  ],
  ['src/transport/grpc/channel.ts', `import { Client } from '@grpc/grpc-js'\nexport const channel = Client`, ''],
]

const plant = (tree: Tree): string => {
  const root = mkdtempSync(join(tmpdir(), 'rxspeech-dependencies-'))
  roots.push(root)
  symlinkSync(join(checkout, 'node_modules'), join(root, 'node_modules'))
  for (const name of ['tsconfig.json', 'tsconfig.base.json']) symlinkSync(join(checkout, name), join(root, name))
  writeFileSync(join(root, 'package.json'), JSON.stringify(manifest))
  for (const [file, text] of Object.entries({ 'test/version.ts': 'export const version = 1', ...tree })) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), text)
  }
  return root
}

interface Violation {
  readonly from: string
  readonly rule: { readonly name: string }
}

const violationsOf = (tree: Tree): readonly string[] => {
  const config = join(checkout, 'scripts/dependency-rules.mjs')
  const depcruise = join(checkout, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs')
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--preserve-symlinks', depcruise, '--config', config, '--output-type', 'json', 'src', 'packages'],
    { cwd: plant(tree), encoding: 'utf8', maxBuffer: 2 ** 26 },
  )
  if (stdout === '') throw new Error(stderr)
  const { summary } = JSON.parse(stdout) as { readonly summary: { readonly violations: readonly Violation[] } }
  return summary.violations.map(({ from, rule }) => `${from} ${rule.name}`)
}

describe('the dependency rules', () => {
  it('accept a tree that keeps them', () => {
    expect(violationsOf(sound)).toEqual([])
  })

  it('find each planted breach', () => {
    const planted = Object.fromEntries(breaches.map(([file, text]) => [file, text]))
    const browser = `export { channel } from '../transport/grpc/channel.js'`
    const violations = violationsOf({ ...sound, ...planted, 'src/client/recognize-in-browser.ts': browser })
    // Of two files in a cycle the first one is named, and a layer breach can also be a cycle of folders.
    const expected = breaches.flatMap(([file, , rule]) => (rule === '' ? [] : [`${file} ${rule}`]))
    const folders = ['src/audio no-folder-cycle', 'src/operators no-folder-cycle']
    expect(violations.toSorted()).toEqual(
      [...expected, ...folders, 'src/client/recognize-in-browser.ts browser'].toSorted(),
    )
  })
})
