import { describe, expect, it, vi } from 'vitest'
import { loadNativeLibrary } from '../../../../src/service/engines/pocketsphinx/native-library.js'

const koffi = vi.hoisted(() => ({ absent: true }))
// The file that `require` finds.
vi.mock('../../../../node_modules/koffi/index.cjs', () => {
  if (koffi.absent) throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
  return {
    default: {
      config: () => ({}),
      struct: () => ({}),
      load: () => {
        throw new Error('libpocketsphinx.so.3: cannot open shared object file')
      },
    },
  }
})

describe('dictation', () => {
  it('names the command that installs its package', async () => {
    await expect(loadNativeLibrary()).rejects.toMatchObject({
      code: 'missing-dependency',
      message: expect.stringContaining(
        'needs the package koffi, which comes with another: npm install rxspeech-service.',
      ) as unknown,
    })
  })

  it("names the command that installs Debian's library if only that is missing", async () => {
    koffi.absent = false
    vi.resetModules()
    await expect(loadNativeLibrary()).rejects.toMatchObject({
      code: 'missing-dependency',
      message: expect.stringContaining('apt-get install libpocketsphinx3 pocketsphinx-en-us') as unknown,
    })
  })
})
