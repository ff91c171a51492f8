import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { expect } from 'vitest'
import { openIdentityStore, type IdentityStore } from '../../src/identity/identity-store.js'

/** One store, which two processes write to at once. */
interface Writing {
  readonly stateFolder: string
  readonly secretHash: string
  /** Of the clients of this call, which other calls do not have. */
  readonly name: string
}

type Writer = ChildProcessByStdio<null, Readable, null>

/** Kills both processes now, then expects everything that they reported as stored, and nothing in part. */
export const killWriters = async (writing: Writing, isDue: (writers: readonly Writer[]) => Promise<unknown>) => {
  const { stateFolder, secretHash, name } = writing
  const names = [`${name}-a`, `${name}-b`]
  const program = join(__dirname, 'crash-writer.cjs')
  const writers = names.map((one) =>
    spawn(process.execPath, [program, stateFolder, secretHash, one], { stdio: ['ignore', 'pipe', 'inherit'] }),
  )
  const reports = writers.map(({ stdout }) => stdout.setEncoding('utf8').toArray())
  const ends = writers.map((writer) => once(writer, 'close'))
  const early = Promise.race(ends).then(() => Promise.reject(new Error('A writer ended before it was killed.')))
  await Promise.race([isDue(writers), early])
  // From here on they are meant to end.
  early.catch(() => undefined)
  for (const writer of writers) writer.kill('SIGKILL')
  await Promise.all(ends)
  const store = await openIdentityStore({ stateFolder })
  for (const [at, report] of reports.entries()) {
    const count = (await report).join('').split('\n').length - 1
    checkWritten(store, names[at] ?? '', count)
  }
  store.close()
}

const checkWritten = (store: IdentityStore, name: string, count: number): void => {
  const stored = Array.from({ length: count }, (_, at) => `${name}-${at}`)
  const missing = stored.filter((id) => store.find(id)?.tenants.length !== 50 || !store.isRevoked(id))
  expect(missing).toEqual([])
  // One more may have been in progress: stored completely or not at all.
  expect([undefined, 50]).toContain(store.find(`${name}-${count}`)?.tenants.length)
  expect(store.find(`${name}-${count + 1}`)).toBeUndefined()
}
