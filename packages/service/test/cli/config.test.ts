import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { callBeginning, callSamples, cards, firstLine } from './command.js'
import { runInProcess, startInProcess } from './in-process.js'
import { folderOfTest } from '../../../../test/temporary-folder.js'

let folder: string
let file: string
beforeEach(() => {
  folder = folderOfTest()
  file = join(folder, 'service.yaml')
})

const write = async (name: string, text: string): Promise<void> => {
  await mkdir(dirname(join(folder, name)), { recursive: true })
  await writeFile(join(folder, name), text)
}
const project = 'version: 1\nnodes: { in: entry, reco: recognizer, out: publisher }\nwires: [in -> reco, reco -> out]\n'
const check = () =>
  runInProcess(['serve', '--config', file, '--check'], { env: { SECRET: 'a secret of enough characters' } })

/** The files of a folder with what is in them. */
const filesOf = async (folder: string): Promise<readonly string[]> => {
  const files = await readdir(folder, { recursive: true, withFileTypes: true })
  const contents = files
    .filter((one) => one.isFile())
    .map(async ({ parentPath, name }) => `${name} ${await readFile(join(parentPath, name), 'utf8')}`)
  return (await Promise.all(contents)).toSorted()
}

describe('rxspeech serve --config', () => {
  it('runs the service of the file, and drains it', async () => {
    await write('projects/Acme/calls/1.yaml', project)
    await write(
      'service.yaml',
      `operations: 127.0.0.1:0
stateFolder: state
projects: { folders: [projects] }
models: { defaultModel: call }
subscriptions:
  - { clientId: acme, secret: { env: SECRET }, tenants: [Acme], tokenLifetimeSeconds: 120 }
log: { level: warn }
`,
    )
    const env = { SECRET: 'a secret of enough characters' }
    const served = startInProcess(['serve', '--config', file], { env })
    const access = JSON.parse(await firstLine(served)) as Readonly<Record<string, string>>
    expect(access).toMatchObject({ clientId: 'acme', model: 'call', ca: null })
    expect(JSON.stringify(access)).not.toContain(env.SECRET)
    expect((await fetch(`${access['operations'] ?? ''}/livez`)).status).toBe(200)
    const client = ['--auth-url', access['authUrl'] ?? '', '--client-id', 'acme', '--plaintext']
    const token = await runInProcess(['token', ...client.slice(0, 4), '--json'], {
      env: { RXSPEECH_CLIENT_SECRET: env.SECRET },
    })
    expect(JSON.parse(token.stdout)).toMatchObject({ expires_in: 120 })
    const raw = ['-', '--encoding', 'ulaw', '--rate', '8000', '--channels', '2']
    const outcome = await runInProcess(
      ['transcribe', ...raw, '--grpc', access['grpc'] ?? '', ...client, '--tenant', 'Acme', '--project', 'calls'],
      { env: { RXSPEECH_CLIENT_SECRET: env.SECRET }, stdin: callSamples(3500) },
    )
    expect(outcome).toMatchObject({ code: 0, stdout: expect.stringContaining(`left: ${callBeginning.left}`) })
    served.kill('SIGTERM')
    // At the log level of the file nothing is logged.
    expect(await served.end).toMatchObject({ code: 0, stderr: '' })
  })

  it('warns of folders without a model, which may get some before a reload', async () => {
    await mkdir(join(folder, 'models'))
    await write('service.yaml', 'stateFolder: state\nmodels: { folders: [models] }\nlog: { level: warn }\n')
    const served = startInProcess(['serve', '--config', file])
    await firstLine(served)
    served.kill('SIGTERM')
    const { code, stderr } = await served.end
    expect([code, stderr]).toEqual([0, expect.stringContaining('There is no model, so that no session can begin; ')])
  })

  it('warns once, in the log, that Node is out of support', async () => {
    await write('service.yaml', 'stateFolder: state\nlog: { format: json }\n')
    const served = startInProcess(['serve', '--config', file], { nodeVersion: '20.19.6' })
    JSON.parse(await firstLine(served))
    served.kill('SIGTERM')
    const lines = (await served.end).stderr.split('\n').filter((line) => line.includes('Use Node 24 or 26.'))
    expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject([{ level: 'warn' }])
  })

  it('starts nothing for a file with faults, and reports each with its position', async () => {
    await write('service.yaml', 'limits:\n  sesions: 3\n')
    const { code, stdout, stderr } = await runInProcess(['serve', '--config', file])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toBe(
      `${file}:2:3: limits.sesions: there is no such key; did you mean sessions?\n` +
        `rxspeech: ${file} has a fault; nothing was started.\n`,
    )
  })

  it('rejects another flag together with it by name', async () => {
    await write('service.yaml', '')
    const { code, stderr } = await runInProcess(['serve', '--config', file, '--recordings', 'r'])
    expect([code, stderr]).toEqual([2, expect.stringContaining('omit --recordings')])
  })
})

describe('rxspeech serve --config --check', () => {
  it('reports that a file is valid, and its models and projects too', async () => {
    await write('projects/Acme/calls/1.yaml', project)
    await write('service.yaml', `models: { folders: [${JSON.stringify(cards)}] }\nprojects: { folders: [projects] }\n`)
    expect(await check()).toEqual({ code: 0, stdout: `${file} has no faults.\n`, stderr: '' })
  })

  it('reports every model and project with a fault, and exits with 2', async () => {
    await write('models/Default/good/1/model.json', '{"engine":"soundswallower"}')
    await write('models/Default/broken/1/model.json', '{')
    await write('models/Default/strange/1/model.json', '{"engine":"crystal-ball"}')
    await write('projects/Acme/calls/1.yaml', project.replace('recognizer', 'recognizr'))
    await write('service.yaml', 'models: { folders: [models] }\nprojects: { folders: [projects] }\n')
    const { code, stdout, stderr } = await check()
    expect([code, stdout]).toEqual([2, ''])
    const lines = stderr.trimEnd().split('\n')
    expect(lines).toEqual([
      expect.stringContaining('Default/broken/1'),
      expect.stringContaining('crystal-ball'),
      expect.stringMatching(/^Project Acme\/calls\/1: .*1\.yaml:2:\d+: .*recognizr/),
      `rxspeech: ${file} has no faults, but names 3 models or projects with faults; nothing was started.`,
    ])
  })

  it.each([
    ['a folder of models that does not exist', 'models: { folders: [nowhere] }', /nowhere/],
    ['a folder of projects that does not exist', 'projects: { folders: [nowhere] }', /nowhere/],
    ['a default model that does not exist', 'models: { defaultModel: parrot }', /There is no model "parrot"/],
    ['a secret that does not exist', 'subscriptions: [{ clientId: a, secret: { env: NONE } }]', /the variable NONE/],
  ])('rejects %s', async (_what, text, sentence) => {
    await write('service.yaml', text)
    const { code, stdout, stderr } = await check()
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(sentence)
  })

  const certificates = 'tls: { certificateFile: cert.pem, keyFile: key.pem }\n'
  it.each([
    [
      'no folder for the state',
      { state: 'a file' },
      '',
      /stateFolder .* cannot be used as a folder|identity\.db .*ENOTDIR/,
    ],
    [
      'a damaged store',
      { 'state/identity.db': 'no database, but of some length'.repeat(99) },
      '',
      /identity\.db .* damaged/,
    ],
    ['a damaged file of the issuer', { 'state/issuer.db': 'no database'.repeat(99) }, '', /issuer\.db .* damaged/],
    ['damaged keys', { 'state/signing-keys.json': '{}' }, '', /signing-keys\.json .* damaged/],
    ['damaged revocations', { 'state/revoked-tokens.json': '[]' }, '', /revoked-tokens\.json .* damaged/],
    ['a certificate that is none', { 'cert.pem': 'c', 'key.pem': 'k' }, certificates, /contains no certificate in PEM/],
    [
      'a file of keys that is missing',
      {},
      'identity: { keysFile: keys.json, issuer: "https://a.example" }\n',
      /keys\.json/,
    ],
    [
      'a file in place of a folder of recordings',
      { recordings: '' },
      'projects: { recordingsFolder: recordings }\n',
      /recordings .* is a file/,
    ],
  ])('finds what ends a service that starts, and changes nothing: %s', async (_what, files, text, sentence) => {
    for (const [name, content] of Object.entries(files)) await write(name, content)
    await write('service.yaml', `stateFolder: state\n${text}`)
    const before = await filesOf(folder)
    const { code, stdout, stderr } = await check()
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(sentence)])
    expect(await filesOf(folder)).toEqual(before)
    expect(await runInProcess(['serve', '--config', file])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(sentence) as string,
    })
  })

  it.skipIf(process.platform === 'win32')('finds state that others can change, as a service that starts', async () => {
    await write('service.yaml', 'stateFolder: state\n')
    await write('elsewhere/file', '')
    const refused = async (sentence: RegExp): Promise<void> => {
      for (const flags of [['--check'], []]) {
        const { code, stderr } = await runInProcess(['serve', '--config', file, ...flags])
        expect([code, stderr]).toEqual([2, expect.stringMatching(sentence)])
      }
    }
    await symlink(join(folder, 'elsewhere'), join(folder, 'state'))
    await refused(/state is a link; name the folder/)
    await rm(join(folder, 'state'))
    await write('state/identity.db', '')
    await chmod(join(folder, 'state/identity.db'), 0o666)
    await refused(/identity\.db can be written by every user/)
    await rm(join(folder, 'state/identity.db'))
    await symlink(join(folder, 'elsewhere'), join(folder, 'state/control'))
    await refused(/control is a link/)
  })

  it.skipIf(process.platform === 'win32')(
    'names key files that others can read, and does not change them',
    async () => {
      await write('service.yaml', 'stateFolder: state\n')
      const keys = join(folder, 'state/signing-keys.json')
      await write('state/signing-keys.json', '{"keys": []}')
      await chmod(keys, 0o644)
      expect(await check()).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/signing-keys\.json can be read by other users/) as unknown,
      })
      expect((await stat(keys)).mode & 0o777).toBe(0o644)
    },
  )

  it('creates nothing where there is no state yet, and accepts that of a running service', async () => {
    await write('service.yaml', 'stateFolder: above/state\nhttp: 127.0.0.1:0\n')
    expect((await check()).code).toBe(0)
    expect(await readdir(folder)).toEqual(['service.yaml'])
    const served = startInProcess(['serve', '--config', file])
    await firstLine(served)
    expect(await check()).toMatchObject({ code: 0, stderr: '' })
    served.kill('SIGTERM')
    expect((await served.end).code).toBe(0)
  })
})
