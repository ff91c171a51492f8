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
  dependencies: { '@grpc/grpc-js': '1', 'fp-ts': '2', 'io-ts': '2', 'isomorphic-ws': '5', ws: '8' },
  peerDependencies: { rxjs: '7' },
  optionalDependencies: { pino: '10', commander: '14' },
  devDependencies: { vitest: '4' },
}

/** A source tree that keeps all rules. */
const sound: Tree = {
  'errors/speech-error.ts': 'export class SpeechError extends Error {}',
  'audio/format.ts': `import type { SpeechError } from '../errors/speech-error.js'\nexport type Format = SpeechError`,
  'protocol/messages.ts': `import * as t from 'io-ts'\nexport const codec = t.type({ rate: t.number })`,
  'operators/chunk.ts': `import { map } from 'rxjs'\nimport type { Format } from '../audio/format.js'\nexport const chunk = (_: Format) => map(String)`,
  'transport/link.ts': `import WebSocket from 'isomorphic-ws'\nexport const open = (url: string) => new WebSocket(url)`,
  'auth/token.ts': 'export const token = 1',
  'client/recognize.ts': `import { open } from '../transport/link.js'\nimport { chunk } from '../operators/chunk.js'\nexport const recognize = [open, chunk]`,
  'service/engines/engine.ts': `import type { Logger } from 'pino'\nexport const load = (): Promise<{ pino: () => Logger }> => import('pino')`,
  'service/recognition/segments.ts': `import { load } from '../engines/engine.js'\nexport const segments = load`,
  'service/start/service.ts': `import { segments } from '../recognition/segments.js'\nexport const service = segments`,
  'testing/faults.ts': `import { service } from '../service/start/service.js'\nexport const faults = service`,
  'cli/main.ts': `import { program } from 'commander'\nimport { service } from '../service/start/service.js'\nprogram.parse()\nvoid service`,
  'index.ts': `export { recognize } from './client/recognize.js'`,
  'client/recognize-in-browser.ts': `export { recognize } from './recognize.js'`,
}

/** Files that break one rule each, and the rule; empty for a file that another breach needs. */
const breaches: readonly (readonly [file: string, text: string, rule: string])[] = [
  ['audio/wav.ts', `import { chunk } from '../operators/chunk.js'\nexport const wav = chunk`, 'layer-audio'],
  ['auth/type.ts', `import type { faults } from '../testing/faults.js'\nexport type T = typeof faults`, 'layer-auth'],
  ['auth/lazy.ts', `export const load = () => import('../testing/faults.js')`, 'layer-auth'],
  ['auth/exported.ts', `export { faults } from '../testing/faults.js'`, 'layer-auth'],
  ['operators/pace.ts', `import { token } from '../auth/token.js'\nexport const pace = token`, 'layer-operators'],
  [
    'service/monitor/monitor.ts',
    `import { load } from '../engines/engine.js'\nexport const monitor = load`,
    'service-monitor',
  ],
  [
    'service/identity/all.ts',
    `import { service } from '../start/service.js'\nexport const all = service`,
    'service-identity',
  ],
  ['transport/grpc/one.ts', `import { two } from './two.js'\nexport const one = () => two`, 'no-cycle'],
  ['transport/grpc/two.ts', `import { one } from './one.js'\nexport const two = () => one`, ''],
  ['cli/serve.ts', `import { recognize } from '../index.js'\nexport const serve = recognize`, 'entry-point'],
  ['cli/borrowed.ts', `import { faults } from '../testing/faults.js'\nexport const borrowed = faults`, 'layer-cli'],
  ['cli/again.ts', `export const again = () => import('./main.js')`, 'program'],
  ['helpers/pad.ts', `import { token } from '../auth/token.js'\nexport const pad = token`, 'known-folder'],
  ['service/extras/pad.ts', `import { load } from '../engines/engine.js'\nexport const pad = load`, 'known-folder'],
  ['cli/outside.ts', `import { version } from '../../test/version.js'\nexport const v = version`, 'outside'],
  ['cli/missing.ts', `import { nothing } from './nothing.js'\nexport const none = nothing`, 'unresolvable'],
  ['audio/stream.ts', `import { map } from 'rxjs'\nexport const stream = map`, 'no-package'],
  ['service/engines/undeclared.ts', `import fc from 'fast-check'\nexport const u = fc`, 'undeclared-package'],
  ['service/engines/dev.ts', `import { vi } from 'vitest'\nexport const d = vi`, 'undeclared-package'],
  ['service/engines/log.ts', `import { pino } from 'pino'\nexport const log = () => pino()`, 'optional-package'],
  ['transport/grpc/channel.ts', `import { Client } from '@grpc/grpc-js'\nexport const channel = Client`, ''],
]

const plant = (tree: Tree): string => {
  const root = mkdtempSync(join(tmpdir(), 'rxspeech-dependencies-'))
  roots.push(root)
  symlinkSync(join(checkout, 'node_modules'), join(root, 'node_modules'))
  symlinkSync(join(checkout, 'tsconfig.json'), join(root, 'tsconfig.json'))
  writeFileSync(join(root, 'package.json'), JSON.stringify(manifest))
  for (const [file, text] of Object.entries({ 'test/version.ts': 'export const version = 1', ...prefixed(tree) })) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), text)
  }
  return root
}

const prefixed = (tree: Tree): Tree =>
  Object.fromEntries(Object.entries(tree).map(([file, text]) => [`src/${file}`, text]))

interface Violation {
  readonly from: string
  readonly rule: { readonly name: string }
}

const violationsOf = (tree: Tree): readonly string[] => {
  const config = join(checkout, 'scripts/dependency-rules.mjs')
  const depcruise = join(checkout, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs')
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--preserve-symlinks', depcruise, '--config', config, '--output-type', 'json', 'src'],
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
    const violations = violationsOf({ ...sound, ...planted, 'client/recognize-in-browser.ts': browser })
    // Of two files in a cycle the first one is named, and a layer breach can also be a cycle of folders.
    const expected = breaches.flatMap(([file, , rule]) => (rule === '' ? [] : [`src/${file} ${rule}`]))
    const folders = ['src/audio no-folder-cycle', 'src/operators no-folder-cycle']
    expect(violations.toSorted()).toEqual(
      [...expected, ...folders, 'src/client/recognize-in-browser.ts browser'].toSorted(),
    )
  })
})
