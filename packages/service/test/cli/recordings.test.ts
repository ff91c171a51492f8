import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { callSamples, firstLine } from './command.js'
import { runInProcess, startInProcess } from './in-process.js'
import { folderOfTest } from '../../../../test/temporary-folder.js'

let folder: string
beforeEach(async () => {
  folder = folderOfTest()
  await mkdir(join(folder, 'projects/Default/kept'), { recursive: true })
  await writeFile(
    join(folder, 'projects/Default/kept/1.yaml'),
    'version: 1\nnodes: { in: entry, reco: recognizer, recs: recorder, out: publisher }\nwires: [in -> reco, in -> recs, reco -> out]\n',
  )
})

const env = { RXSPEECH_CLIENT_SECRET: 'a secret of enough characters' }

/** A second of the call, sent to a project that records. */
const recorded = async (flags: readonly string[]) => {
  const place = ['--state', join(folder, 'state'), '--projects', join(folder, 'projects')]
  const served = startInProcess(['serve', ...place, '--client-id', 'acme', ...flags], { env })
  const { authUrl = '', grpc = '' } = JSON.parse(await firstLine(served)) as Readonly<Record<string, string>>
  const client = ['--auth-url', authUrl, '--client-id', 'acme', '--grpc', grpc, '--plaintext', '--project', 'kept']
  const raw = ['-', '--encoding', 'ulaw', '--rate', '8000', '--channels', '2']
  const outcome = await runInProcess(['transcribe', ...raw, ...client], { env, stdin: callSamples(1_000) })
  served.kill('SIGTERM')
  return { ...outcome, log: (await served.end).stderr }
}

describe('rxspeech serve --recordings', () => {
  it('stores the recordings of projects in that folder', async () => {
    const { code } = await recorded(['--recordings', join(folder, 'recordings')])
    expect(code).toBe(0)
    const files = await readdir(join(folder, 'recordings'), { recursive: true })
    expect(files.filter((name) => name.endsWith('.wav'))).toHaveLength(1)
  })

  it('stores none without it, and reports to the operator why such a project cannot be used', async () => {
    const { code, log } = await recorded([])
    expect(code).toBe(1)
    expect(log).toMatch(/recs.*recordings?/)
    expect((await readdir(folder)).sort()).toEqual(['projects', 'state'])
  })
})
