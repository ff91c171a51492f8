import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { checkFlags, checkProjectFile, listFlags, listProjects } from '../../src/cli/commands/project.js'
import { readFlags, type TypedFlags } from '../../src/cli/parsing/flags.js'
import type { Host } from '../../src/cli/process/host.js'
import type { Output } from '../../src/cli/process/output.js'

const sample = join(__dirname, '../../../../samples/projects/Acme/calls/1.yaml')
const folders: string[] = []
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true })
})

const fileOf = async (text: string): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'rxspeech-project-'))
  folders.push(folder)
  await writeFile(join(folder, '1.yaml'), text)
  return join(folder, '1.yaml')
}

/** The output of a command, and its exit code. */
const outcome = async (
  run: (output: Output) => Promise<void>,
): Promise<{ readonly text: string; readonly code: unknown }> => {
  let text = ''
  const output = { write: (more: string) => (text += more) } as unknown as Output
  const code = await run(output).then(
    () => 0,
    (error: unknown) =>
      (error as { exitCode?: unknown; code?: unknown }).exitCode ?? (error as { code?: unknown }).code,
  )
  return { text, code }
}
const check = (argument: string, typed: TypedFlags = {}, env: Host['env'] = {}) =>
  outcome((output) => checkProjectFile({ argument, flags: readFlags(checkFlags, typed), host: { env }, output }))
const list = (typed: TypedFlags) =>
  outcome((output) =>
    listProjects({ argument: undefined, flags: readFlags(listFlags, typed), host: { env: {} }, output }),
  )

describe('rxspeech project check', () => {
  it('draws the graph of a valid project', async () => {
    const { text, code } = await check(sample)
    expect(code).toBe(0)
    expect(text).toContain('version 1, takes pcm or ulaw, 8000 or 16000 Hz, stereo')
    expect(text).toContain('   │  └─ events ─▶ out ')
    expect(
      Math.max(
        ...text
          .split('\n')
          .slice(1)
          .map((line) => line.length),
      ),
    ).toBeLessThanOrEqual(80)
    expect((await check(sample, { mermaid: true })).text).toMatch(/^flowchart LR\n/)
  })

  it('reads secrets from the environment of the command', async () => {
    const file = await fileOf(
      'version: 1\nresources: { key: { secret: { env: HOOK_KEY } } }\nnodes: { in: entry }\nwires: []\n',
    )
    const unset = 'resources.key.secret.env names HOOK_KEY, which is not set'
    expect((await check(file)).text).toContain(unset)
    expect((await check(file, {}, { HOOK_KEY: 'a secret' })).text).not.toContain(unset)
  })

  it('shows every fault with its line and a caret, and exits with 3', async () => {
    const file = await fileOf('version: 1\nnodes: { in: entri }\nwires: []\n')
    const { text, code } = await check(file)
    expect(code).toBe(3)
    expect(text).toContain(
      `${file}:2:14: nodes.in.node names "entri", which is not a node; did you mean entry?\n  nodes: { in: entri }\n               ^^^^^\n`,
    )
    expect(text).not.toContain('must have one node entry')
    expect(text).toMatch(/\n2 faults\n$/)
  })

  it('prints the same as JSON', async () => {
    const file = await fileOf('version: 1\nnodes: { in: entri }\nwires: []\n')
    const { text, code } = await check(file, { json: true })
    expect(code).toBe(3)
    const { ok, faults } = JSON.parse(text) as { readonly ok: boolean; readonly faults: readonly unknown[] }
    expect(ok).toBe(false)
    expect(faults).toContainEqual({
      severity: 'error',
      path: 'nodes.in.node',
      message: 'names "entri", which is not a node; did you mean entry?',
      line: 2,
      column: 14,
    })
    expect(JSON.parse((await check(sample, { json: true })).text)).toMatchObject({ ok: true, version: '1', faults: [] })
  })

  it('checks models against the existing ones', async () => {
    const file = await fileOf(
      'version: 1\nmodel: best\nnodes: { in: entry, out: publisher }\nwires: [in.audio -> out.audio]\n',
    )
    expect((await check(file)).code).toBe(0)
    const { text } = await check(file, { models: [join(__dirname, 'fixtures')] })
    expect(text).toContain('model names best, which is not among the models here')
  })

  it('explains what to do about a missing file', async () => {
    expect((await check('/nowhere/1.yaml')).code).toBe('source-failed')
  })
})

describe('rxspeech project list', () => {
  it('lists the projects, and needs a folder', async () => {
    const projects = [join(__dirname, '../../../../samples/projects')]
    expect(await list({ projects })).toEqual({ text: 'Acme/calls/1\n', code: 0 })
    expect((await list({})).code).toBe('invalid-options')
    const folder = join(__dirname, '../../../../samples/models/Default')
    const text = `There is no project in ${folder}, as <tenant>/<name>/<version>.yaml.\n`
    expect(await list({ projects: [folder] })).toEqual({ text, code: 0 })
  })

  it('shows each fault of a broken project in a line', async () => {
    const folder = dirname(await fileOf('version: 1\nnodes: { in: nothing }\nwires: [a]\n'))
    await mkdir(join(folder, 'Acme/calls'), { recursive: true })
    await rename(join(folder, '1.yaml'), join(folder, 'Acme/calls/1.yaml'))
    const { text, code } = await list({ projects: [folder] })
    expect(code).toBe(3)
    const [first, second, ...faults] = text.trimEnd().split('\n')
    expect([first, second]).toEqual(['Acme/calls/1  broken', 'Project Acme/calls/1'])
    expect(faults.length).toBeGreaterThan(1)
    for (const fault of faults) expect(fault).toMatch(/^ {2}\S+1\.yaml:\d+:\d+: (?!.*1\.yaml:\d)/)
  })
})
