import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { WorkerPool } from '../../src/pool/worker-pool.js'
import type { FromWorker } from '../../src/pool/worker-messages.js'
import { createWorkerStarter, engineWorkerFile } from '../../src/pool/worker-engine.js'
import { findPackageRoot } from '../../src/threads/package-files.js'
import type { WorkerSettings } from '../../src/soundswallower/worker.js'
import { SpeechError } from '../../../../src/errors/speech-error.js'

const root = join(__dirname, '../../../..')
const settings: WorkerSettings = {
  type: 'rxspeech-soundswallower',
  modelBase: join(root, 'node_modules/soundswallower/model/'),
  language: 'en-us',
  grammar: '#JSGF V1.0;\ngrammar g;\npublic <a> = ten;',
  words: ['ten'],
  dictionary: [],
  reject: 'medium',
  maxDecoders: 1,
}

const file = engineWorkerFile('soundswallower/worker.js')

describe('createWorkerStarter', () => {
  it('starts a thread that becomes ready, and reports its end once when it is terminated', async () => {
    const messages: FromWorker[] = []
    let ends = 0
    await new Promise<void>((resolve) => {
      const worker = createWorkerStarter(
        settings,
        file,
      )({
        message: (message) => {
          messages.push(message)
          void worker.terminate().then(() => worker.terminate())
        },
        ended: () => {
          ends += 1
          resolve()
        },
      })
    })
    expect(messages).toEqual([{ type: 'ready' }])
    expect(ends).toBe(1)
  })

  it('reports the cause when threads end, so that a pool gives up after some', async () => {
    const pool = new WorkerPool({
      start: createWorkerStarter({ ...settings, modelBase: '/nowhere/' }, file),
      workers: 1,
      decodersPerWorker: 1,
      frameSamples: 800,
      now: () => 0,
      refusalError: (sentence) => new SpeechError('invalid-model', sentence),
    })
    await expect(pool.warm()).rejects.toMatchObject({ code: 'engine-failed', cause: { code: 'ENOENT' } })
    await pool.close()
  })

  it('does not keep the process alive while an engine is idle and was not closed', { timeout: 130_000 }, async () => {
    const script = `
      const { soundswallower } = require('./packages/engines/dist/soundswallower/soundswallower.js')
      const folder = 'packages/engines/test/fixtures/Default/cards/1'
      const options = { engine: 'soundswallower', sampleRateHz: 8000, grammar: 'cards.gram' }
      soundswallower().open({ tenant: 'T', name: 'n', version: '1', folder, options }).then(() => console.log('open'))`
    const { stdout, stderr } = await promisify(execFile)('node', ['-e', script], { cwd: root, timeout: 120_000 })
    expect({ stdout, stderr }).toEqual({ stdout: 'open\n', stderr: '' })
  })
})

describe('findPackageRoot', () => {
  it('is the same from the sources and from the build', () => {
    expect(findPackageRoot(join(root, 'packages/engines/src'))).toBe(join(root, 'packages/engines'))
    expect(findPackageRoot(join(root, 'packages/engines/dist'))).toBe(join(root, 'packages/engines'))
  })

  it('throws without it', () => {
    expect(() => findPackageRoot('/')).toThrow(expect.objectContaining({ code: 'internal' }))
  })
})
