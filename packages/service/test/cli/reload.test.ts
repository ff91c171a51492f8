import { cp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { callModels, firstLine } from './command.js'
import { runInProcess, startInProcess, type RunningCommand } from './in-process.js'
import { longIt } from '../../../../test/thorough.js'
import { folderOfTest } from '../../../../test/temporary-folder.js'

let folder: string
let service: RunningCommand | undefined
beforeEach(async () => {
  folder = folderOfTest()
  await cp(callModels, join(folder, 'models'), { recursive: true })
})
afterEach(async () => {
  service?.kill('SIGTERM')
  await service?.end
  service = undefined
})

const state = () => join(folder, 'state')
const reload = (...flags: readonly string[]) => runInProcess(['reload', '--state', state(), ...flags])

/** The service, and its log so far. */
const serve = async (flags: readonly string[] = []): Promise<() => string> => {
  const own = ['serve', '--http', '127.0.0.1:0', '--models', join(folder, 'models'), '--state', state()]
  service = startInProcess(flags.length === 0 ? own : flags)
  let log = ''
  service.stderr.on('data', (more: string) => (log += more))
  await firstLine(service)
  return () => log
}

const addVersion = async (version: string, phrases: string): Promise<void> => {
  const model = join(folder, 'models/Default/call', version)
  await cp(join(callModels, 'Default/call/1'), model, { recursive: true })
  await writeFile(join(model, 'phrases.txt'), phrases)
}

describe('rxspeech reload', () => {
  it('lets the service of a state folder read its models again, and lists what changed', async () => {
    await serve()
    await addVersion('2', 'good evening\n')
    expect(await reload()).toEqual({
      code: 0,
      stdout: `Process ${process.pid} has reloaded its models and projects; models added: Default/call/2.\n`,
      stderr: '',
    })
    const { code, stdout } = await reload('--json')
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      [{ pid: process.pid, isReloaded: true, faults: [], added: [], changed: [], removed: [] }],
    ])
  })

  longIt('prints the faults and ends with 1 when nothing was reloaded', async () => {
    const log = await serve()
    await addVersion('2', 'zzzyyx\n')
    const { code, stdout, stderr } = await reload()
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^Model Default\/call\/2: .*zzzyyx/)
    expect(stderr).toContain(
      `rxspeech: process ${process.pid} has reloaded nothing; what it had before serves on. rxspeech models lint shows where faults are.\n`,
    )
    expect(log()).toMatch(/Default\/call\/2.*zzzyyx/)
    expect(log()).toContain('The reload was refused, and what was there before it serves on.')
    await rm(join(folder, 'models/Default/call/2'), { recursive: true })
    expect((await reload()).code).toBe(0)
  })

  it('says when the configuration file has changed, which is not read again', async () => {
    const file = join(folder, 'service.yaml')
    await writeFile(file, 'stateFolder: state\nmodels:\n  folders: [models]\n')
    const log = await serve(['serve', '--config', file])
    expect((await reload()).stderr).toBe('')
    await writeFile(file, 'stateFolder: state\nmodels:\n  folders: [others]\n')
    const { code, stderr } = await reload()
    expect(code).toBe(0)
    expect(stderr).toContain('service.yaml has changed since the start; a reload reads the folders')
    expect(log()).toContain('service.yaml has changed since the start')
  })

  it('fails when no service runs with the folder, and removes what a killed one has left', async () => {
    await serve()
    const files = await readdir(join(state(), 'control'))
    service?.kill('SIGTERM')
    await service?.end
    expect(files).not.toEqual([])
    expect(await readdir(join(state(), 'control'))).toEqual([])
    await writeFile(join(state(), 'control/left.json'), JSON.stringify({ address: join(state(), 'control/left.sock') }))
    const { code, stderr } = await reload()
    expect(code).toBe(1)
    expect(stderr).toContain('No service runs with the state folder')
    expect(await readdir(join(state(), 'control'))).toEqual([])
  })

  it.skipIf(process.platform === 'win32')(
    'is possible for the user of the service only, and only as asked',
    async () => {
      const log = await serve()
      const control = join(state(), 'control')
      expect((await stat(control)).mode & 0o777).toBe(0o700)
      const [name = ''] = (await readdir(control)).filter((file) => file.endsWith('.sock'))
      const socket = connect(join(control, name))
      socket.write('GET / HTTP/1.1\r\n')
      await once(socket.resume(), 'close')
      expect(log()).not.toContain('reload')
      expect((await reload()).code).toBe(0)
    },
  )
})

describe('SIGHUP', () => {
  it('reloads a service, ends none, and is refused while it drains', async () => {
    const log = await serve()
    await addVersion('2', 'good evening\n')
    service?.kill('SIGHUP')
    await expect.poll(log).toMatch(/Default\/call\/2.*were reloaded/)
    await addVersion('3', 'zzzyyx\n')
    service?.kill('SIGHUP')
    await expect.poll(log).toContain('The reload was refused')
    expect(log()).not.toContain('shutting down')
    await rm(join(folder, 'models/Default/call/3'), { recursive: true })
    await addVersion('4', 'good evening\n')
    service?.kill('SIGTERM')
    service?.kill('SIGHUP')
    expect((await service?.end)?.code).toBe(0)
    expect(log()).not.toContain('Default/call/4')
  })

  it('ends a service in a terminal, as a terminal that closes does', async () => {
    service = startInProcess(
      ['serve', '--http', '127.0.0.1:0', '--models', join(folder, 'models'), '--state', state()],
      { columns: 80 },
    )
    await once(service.stdout, 'data')
    service.kill('SIGHUP')
    expect((await service.end).code).toBe(0)
  })
})
