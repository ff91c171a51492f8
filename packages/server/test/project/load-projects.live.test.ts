import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { readResourceFile } from '../../src/project/check/project-facts.js'
import { loadProjects } from '../../src/project/load-projects.js'
import { nodeCatalog } from '../../../service/src/start/built-ins.js'
import { converse } from '../../../service/test/interop/plain-dataflow-client.js'
import { plainService, startOf, type PlainService } from '../../../service/test/plain-service.js'

const text = `version: 1
inputs: { channels: 2, sampleRatesHz: 8000 }
nodes: { in: entry, split: channel-split, reco: recognizer, out: publisher }
wires:
  - in -> split
  - split.right -> reco
  - reco -> out
`

const folders: string[] = []
const folderOf = async (files: Readonly<Record<string, string>>): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'rxspeech-projects-'))
  folders.push(folder)
  for (const [file, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await writeFile(join(folder, file), content)
  }
  return folder
}
let open: PlainService | undefined
afterEach(async () => {
  await open?.close()
  open = undefined
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true })
})

const load = (...given: readonly string[]) =>
  loadProjects({ folders: given, facts: { nodes: nodeCatalog() }, model: {}, env: {} })

describe('the projects of folders', () => {
  it('are found by their paths, also those with faults, which they report', async () => {
    const folder = await folderOf({
      'Acme/calls/1.yaml': text,
      'Acme/calls/2.yml': text,
      'Acme/calls/notes.txt': 'no project',
      '.git/x/1.yaml': text,
    })
    const loaded = await load(folder)
    expect(loaded.map(({ place: { tenant, name, version } }) => [tenant, name, version])).toEqual([
      ['Acme', 'calls', '1'],
      ['Acme', 'calls', '2'],
    ])
    expect(loaded[0]?.problem).toBeUndefined()
    expect(loaded[1]?.problem).toMatchObject({
      code: 'invalid-project',
      message: expect.stringMatching(
        /^Project Acme\/calls\/2: .*2\.yml:1:10: version is 1, but the name of the file is 2$/,
      ) as unknown,
    })
    await expect(loaded[1]?.project.open({} as never)).rejects.toMatchObject({ code: 'project-denied' })
  })

  it('are refused when the folder does not exist', async () => {
    await expect(load('/nowhere/at/all')).rejects.toMatchObject({ code: 'invalid-options' })
  })
})

describe('a file that a project names', () => {
  it('is read only from the folder of the project, also through a link', async () => {
    const folder = await folderOf({ 'a/words.txt': 'one', 'secret.txt': 'two' })
    await symlink(join(folder, 'secret.txt'), join(folder, 'a/link.txt'))
    const read = readResourceFile(join(folder, 'a'))
    expect(read('words.txt')).toMatchObject({ right: new TextEncoder().encode('one') })
    for (const file of ['../secret.txt', join(folder, 'secret.txt'), 'link.txt', '.', 'words.txt/../../secret.txt']) {
      expect(read(file), file).toMatchObject({ left: expect.stringContaining('not inside the folder') as unknown })
    }
    expect(read('none.txt')).toMatchObject({ left: expect.stringContaining('cannot be read') as unknown })
  })
})

describe('a service with projects', () => {
  it('runs them over gRPC, refuses audio that they do not accept, and hides the faults of invalid ones', async () => {
    const folder = await folderOf({ 'Acme/calls/1.yaml': text, 'Acme/broken/1.yaml': 'version: 1' })
    const service = await plainService({ projectFolders: [folder] })
    open = service
    const transcribe = (ProjectName: string, ChannelCount: number) =>
      converse(service, ({ request, raw, end }) => {
        const Audio = { SampleRate: 8000, ChannelCount, Encoding: 'ulaw' }
        request(startOf(service.token, { Tenant: 'Acme', ProjectName, Audio }))
        if (ProjectName === 'calls' && ChannelCount === 2) {
          raw({ binary_content: new Uint8Array(16_000).fill(0xff), content_type: 0 })
        }
        end()
      })
    const { events, status } = await transcribe('calls', 2)
    expect(events).toMatchObject([{ Name: 'SR Final', EndMsec: 1000 }])
    expect(status).toBe('OK')
    expect((await transcribe('calls', 1)).details).toBe('invalid-field: Audio.ChannelCount must be 2 for this project.')
    expect((await transcribe('broken', 1)).details).toBe(
      'project-denied: The project cannot be used now; tell the operator of the service.',
    )
    expect((await transcribe('transcribe', 1)).status).toBe('OK')
    expect(service.started.projects.problems()).toMatchObject([{ code: 'invalid-project' }])
  })
})
