import { writeFile } from 'node:fs/promises'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/temporary-folder.js'
import { killProcess, startProcess } from '../../src/threads/child-process.js'

const folder = temporaryFolder()

/** A process that answers its settings, and how it ended. */
const started = async (priority: number) => {
  const file = join(folder, 'echo.js')
  await writeFile(file, "process.on('message', (received) => process.send(received))")
  const received: object[] = []
  let end: unknown
  const events = { message: (message: object) => received.push(message), ended: (cause: unknown) => (end = cause) }
  const child = startProcess<object>(file, { any: 1 }, events, priority)
  return { child, received, end: () => end }
}

it('a process has the priority that it was given', async () => {
  const { child, received } = await started(19)
  await expect.poll(() => received).toEqual([{ any: 1 }])
  expect(getPriority(child.pid ?? 0)).toBe(19)
  await killProcess(child)
})

it('a process that cannot have its priority does not run with another one', async () => {
  const { child, received, end } = await started(100)
  await expect.poll(end).toMatchObject({ code: 'ERR_OUT_OF_RANGE' })
  await expect.poll(() => child.signalCode).toBe('SIGKILL')
  expect(received).toEqual([])
})
