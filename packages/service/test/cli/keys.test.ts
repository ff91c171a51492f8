import { spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { firstLine, main, run } from './command.js'
import { runInProcess, startInProcess } from './in-process.js'
import { longIt } from '../../../../test/thorough.js'
import { folderOfTest } from '../../../../test/temporary-folder.js'

let folder: string
let state: string
beforeEach(() => {
  folder = folderOfTest()
  state = join(folder, 'state')
})
const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const env = { RXSPEECH_CLIENT_SECRET: 'a secret of enough characters' }

interface KeyFile {
  readonly keys: readonly { readonly jwk: { readonly kid: string } }[]
}
const kidsIn = (file: string): readonly string[] => (JSON.parse(file) as KeyFile).keys.map(({ jwk }) => jwk.kid)
const stored = async (): Promise<readonly string[]> => kidsIn(await readFile(join(state, 'signing-keys.json'), 'utf8'))

/** A service of the state folder, with a client registration. */
const serving = async () => {
  const served = startInProcess(['serve', '--state', state, '--client-id', 'acme'], { env })
  const { authUrl = '' } = JSON.parse(await firstLine(served)) as Readonly<Record<string, string>>
  const token = async (): Promise<string> =>
    (await runInProcess(['token', '--auth-url', authUrl, '--client-id', 'acme'], { env })).stdout.trim()
  const published = async (): Promise<readonly string[]> => {
    const { keys } = (await (await fetch(`${authUrl}/jwks`)).json()) as { readonly keys: readonly { kid: string }[] }
    return keys.map(({ kid }) => kid)
  }
  const close = async (): Promise<void> => {
    served.kill('SIGTERM')
    await served.end
  }
  closing.push(close)
  return { token, published }
}
const kidOf = (token: string): string =>
  (JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as { readonly kid: string }).kid

describe('rxspeech keys rotate', () => {
  it('creates a key in addition to the others, which the running service publishes and does not sign with yet', async () => {
    const service = await serving()
    const before = kidOf(await service.token())
    const { code, stdout, stderr } = await run(['keys', 'rotate', '--state', state])
    const [, made = ''] = /^The key (\S+) is used in 10 minutes; earlier tokens stay valid\.\n$/.exec(stdout) ?? []
    expect([code, stderr, await stored()]).toEqual([0, '', [made, before]])
    expect(kidOf(await service.token())).toBe(before)
    expect([...(await service.published())].sort()).toEqual([before, made].sort())
  })

  longIt('removes all others with --alone, and the running service signs with the new key immediately', async () => {
    const service = await serving()
    const before = kidOf(await service.token())
    const { code, stdout, stderr } = await run(['keys', 'rotate', '--alone', '--state', state])
    const [, made = ''] = /^The key (\S+) is the only one; earlier tokens are no longer valid\.\n$/.exec(stdout) ?? []
    expect([code, stderr, await stored(), made === before]).toEqual([0, '', [made], false])
    expect([kidOf(await service.token()), await service.published()]).toEqual([made, [made]])
  })

  it('creates no folder and no key if there are none', async () => {
    const { code, stdout, stderr } = await run(['keys', 'rotate', '--state', state])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^rxspeech: \/.*state does not exist; set the state folder of the service with --state\.\n$/)
    await expect(stored()).rejects.toThrow('ENOENT')
  })
})

describe('rxspeech keys rotate --file', () => {
  it('creates the file, and adds a key to it later', async () => {
    const file = join(folder, 'keys.json')
    const made = await runInProcess(['keys', 'rotate', '--file', file])
    expect([made.code, made.stderr]).toEqual([0, ''])
    const [first = ''] = kidsIn(await readFile(file, 'utf8'))
    expect(made.stdout).toBe(`${file} is new; its key ${first} is used at once.\n`)
    const added = await runInProcess(['keys', 'rotate', '--file', file])
    const [second = '', ...others] = kidsIn(await readFile(file, 'utf8'))
    expect(added.stdout).toBe(`The key ${second} is used in 10 minutes; earlier tokens stay valid.\n`)
    expect(others).toEqual([first])
    const alone = await runInProcess(['keys', 'rotate', '--alone', '--file', file])
    expect(kidsIn(await readFile(file, 'utf8'))).toHaveLength(1)
    expect(alone.stdout).toMatch(/is the only one; earlier tokens are no longer valid\.\n$/)
    const again = await runInProcess(['keys', 'rotate', '--alone', '--file', file, '--json'])
    expect(JSON.parse(again.stdout)).toEqual({ kid: kidsIn(await readFile(file, 'utf8'))[0], isOnly: true })
  })

  it('is refused together with --state', async () => {
    const { code, stderr } = await runInProcess([
      'keys',
      'rotate',
      '--file',
      join(folder, 'keys.json'),
      '--state',
      state,
    ])
    expect([code, stderr]).toEqual([2, 'rxspeech: Set either --file or --state.\n'])
  })
})

/** A separate mount namespace, in which this user may mount a small disk. */
const inNamespace = ['-rm', 'sh', '-c'] as const
const mayMount = spawnSync('unshare', [...inNamespace, 'mount -t tmpfs tmpfs /mnt']).status === 0

describe('rxspeech keys rotate on a full disk', () => {
  it.skipIf(!mayMount)('reports that in a sentence, exits with 1, and leaves the old key', () => {
    const script = [
      'mount -t tmpfs -o size=64k tmpfs "$1"',
      'mkdir "$1/state" && cp "$4" "$1/state/signing-keys.json"',
      'dd if=/dev/zero of="$1/full" bs=1k 2>/dev/null',
      'sum=$(cksum <"$1/state/signing-keys.json")',
      '"$2" "$3" keys rotate --state "$1/state"; echo "exit $?"',
      '[ "$sum" = "$(cksum <"$1/state/signing-keys.json")" ] && ls "$1/state"',
    ].join('\n')
    const keys = join(tmpdir(), `keys-${process.pid}.json`)
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const jwk = { ...privateKey.export({ format: 'jwk' }), kid: 'old' }
    writeFileSync(keys, JSON.stringify({ keys: [{ createdAtMs: 0, jwk }] }))
    const { stdout, stderr } = spawnSync(
      'unshare',
      [...inNamespace, script, 'sh', folder, process.execPath, main, keys],
      {
        encoding: 'utf8',
      },
    )
    rmSync(keys)
    expect(stderr).toBe(
      'rxspeech: The disk of the state folder is full, so signing-keys.json was not changed; free some space and try again.\n',
    )
    expect(stdout).toBe('exit 1\nsigning-keys.json\n')
  })
})
