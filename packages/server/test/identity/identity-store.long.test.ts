import { spawnSync } from 'node:child_process'

import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { hashSecret } from '../../src/identity/clients/client-secret.js'
import { killWriters } from './kill-writers.js'
import { folderOfTest } from '../../../../test/temporary-folder.js'

const canMount = spawnSync('unshare', ['-rm', 'true']).status === 0

describe('the store of subscriptions', { timeout: 300_000 }, () => {
  let folder = ''
  beforeEach(() => {
    folder = folderOfTest()
  })

  // From the start of the processes on, so that some are killed while they create or open the file.
  it('loses nothing when the two processes that write to it are killed, at 100 random instants', async () => {
    const secretHash = await hashSecret('a secret')
    const killOften = async (half: string): Promise<void> => {
      for (let round = 0; round < 50; round += 1) {
        const stateFolder = join(folder, `${half}-${Math.floor(round / 10)}`)
        await killWriters({ stateFolder, secretHash, name: `round-${round}` }, () => delay(Math.random() * 800))
      }
    }
    await Promise.all([killOften('first'), killOften('second')])
  })

  it.skipIf(!canMount)('says that the disk is full, loses nothing, and goes on when there is space again', async () => {
    const program = join(__dirname, 'fill-disk.cjs')
    const mounted = `mount -t tmpfs -o size=500k tmpfs "$1" && exec "$2" "$3" "$1" "$4"`
    const args = ['-rm', 'sh', '-c', mounted, 'sh', folder, process.execPath, program, await hashSecret('a secret')]
    const { stdout, stderr } = spawnSync('unshare', args, { encoding: 'utf8' })
    const full =
      'overloaded: The disk of the state folder is full, so identity.db was not changed; free some space and try again.'
    expect([stderr, JSON.parse(stdout)]).toEqual([
      '',
      { add: full, addAgain: full, lost: [], lostAfterOpening: [], afterwards: 'stored' },
    ])
  })
})
