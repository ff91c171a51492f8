import { once } from 'node:events'
import { chmod, mkdir, readdir, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { answerOf, askReload, openControlOrWarn, type Control } from '../../src/cli/service/control.js'
import { folderOfTest } from '../../../../test/temporary-folder.js'

let state: string
let control: string
const opened: Control[] = []
const warnings: string[] = []
beforeEach(() => {
  state = folderOfTest()
  control = join(state, 'control')
})
afterEach(async () => {
  warnings.length = 0
  for (const one of opened.splice(0)) await one.close()
})

const open = async (): Promise<Control | undefined> => {
  const answer = () => Promise.resolve(answerOf({ isReloaded: false, problems: [] }))
  const logger = { log: (_level: string, message: string) => void warnings.push(message) }
  const found = await openControlOrWarn(state, answer, logger)
  if (found !== undefined) opened.push(found)
  return found
}

describe.skipIf(process.platform === 'win32')('the folder of the sockets for reloads', () => {
  it('loses what killed processes have left when the next one starts, and nothing of those that run', async () => {
    await open()
    const kept = await readdir(control)
    const address = join(control, 'dead.sock')
    // Its socket stays, as after a kill.
    const server = createServer().listen(join(control, 'gone.sock'))
    await once(server, 'listening')
    await writeFile(address, '')
    await writeFile(join(control, 'dead.json'), JSON.stringify({ address }))
    await writeFile(join(control, 'cut.json.1.new'), '{"addr')
    await utimes(join(control, 'cut.json.1.new'), 0, 0)
    await writeFile(join(control, 'fresh.json.2.new'), '{"addr')
    await writeFile(join(control, 'alone.sock'), '')
    await open()
    expect(await readdir(control)).toEqual(expect.arrayContaining([...kept, 'fresh.json.2.new', 'gone.sock']))
    expect(await readdir(control)).toHaveLength(kept.length + 4)
    expect(await askReload(state, new AbortController().signal)).toHaveLength(2)
    server.close()
  })

  it('keeps what it cannot examine or remove, and serves', async () => {
    await mkdir(control, { mode: 0o700 })
    await writeFile(join(state, 'file'), '')
    await writeFile(join(control, 'a.json'), JSON.stringify({ address: join(state, 'file', 'x.sock') }))
    await symlink(join(control, 'b.sock'), join(control, 'b.sock'))
    await mkdir(join(control, 'c.json'))
    expect(await open()).toBeDefined()
    expect(warnings).toEqual([])
    expect(await readdir(control)).toEqual(expect.arrayContaining(['a.json', 'b.sock', 'c.json']))
  })

  it('removes the file and the socket of a process that is gone when it is asked to reload', async () => {
    await mkdir(control, { mode: 0o700 })
    const address = join(control, 'dead.sock')
    await writeFile(address, '')
    await writeFile(join(control, 'dead.json'), JSON.stringify({ address }))
    await expect(askReload(state, new AbortController().signal)).rejects.toThrow(/No service runs/)
    expect(await readdir(control)).toEqual([])
  })

  it('removes no socket that a file names elsewhere', async () => {
    await mkdir(control, { mode: 0o700 })
    const elsewhere = join(state, 'precious')
    await writeFile(elsewhere, '')
    await writeFile(join(control, 'dead.json'), JSON.stringify({ address: elsewhere }))
    await open()
    expect(await readdir(state)).toContain('precious')
  })

  it('that is a link is not used, and what it leads to keeps its mode', async () => {
    const elsewhere = join(state, 'elsewhere')
    await mkdir(elsewhere)
    await chmod(elsewhere, 0o755)
    await symlink(elsewhere, control)
    expect(await open()).toBeUndefined()
    expect(warnings).toHaveLength(1)
    expect((await stat(elsewhere)).mode & 0o777).toBe(0o755)
    expect(await readdir(elsewhere)).toEqual([])
    await writeFile(join(elsewhere, 'planted.json'), JSON.stringify({ address: join(elsewhere, 'x.sock') }))
    await expect(askReload(state, new AbortController().signal)).rejects.toThrow(/is a link/)
  })
})
