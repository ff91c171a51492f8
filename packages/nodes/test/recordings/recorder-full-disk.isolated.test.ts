import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { concat, lastValueFrom, NEVER, of } from 'rxjs'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { recorder } from '../../src/recordings/recorder.js'
import { audio, openNode } from '../../../server/test/nodes/fixed-set.js'
import { nodeContext } from '../../../server/test/nodes/node-context.js'
import { folderOfTest } from '../../../../test/temporary-folder.js'

/** A disk with limited space for headers and audio; rewritten headers take none. */
const disk = vi.hoisted(() => ({ freeBytes: 0 }))

vi.mock(import('node:fs/promises'), async (importOriginal) => {
  const original = await importOriginal()
  const open: typeof original.open = async (...given) => {
    const file = await original.open(...given)
    const write = file.write.bind(file) as (...all: unknown[]) => Promise<{ bytesWritten: number }>
    const limited = async (bytes: Uint8Array, offset = 0, length = bytes.byteLength - offset, position?: number) => {
      const isThere = position !== undefined && position + length <= (await file.stat()).size
      if (isThere) return write(bytes, offset, length, position)
      if (disk.freeBytes <= 0)
        throw Object.assign(new Error('ENOSPC: no space left, write /secret'), { code: 'ENOSPC' })
      const { bytesWritten } = await write(bytes, offset, Math.min(length, disk.freeBytes))
      disk.freeBytes -= bytesWritten
      return { bytesWritten, buffer: bytes }
    }
    return Object.assign(file, { write: limited })
  }
  return { ...original, open }
})

let folder = ''
beforeEach(() => {
  folder = folderOfTest()
})

describe('recorder on a disk that becomes full', () => {
  it('fails with the code of the system only, and leaves the written audio readable', async () => {
    disk.freeBytes = 44 + 100_001
    const node = await openNode(recorder, {}, { recordingsFolder: folder })
    const input$ = concat(of(audio(new Uint8Array(200_000).fill(7))), NEVER)
    await expect(lastValueFrom(node(input$, nodeContext()))).rejects.toMatchObject({
      name: 'SpeechError',
      code: 'internal',
      message: 'The recording cannot be written (ENOSPC).',
    })
    const declaredSize = async (): Promise<number> => {
      const bytes = await readFile(join(folder, 'session-1-node-all.wav'))
      return bytes.readUInt32LE(40)
    }
    while ((await declaredSize()) === 0xffffffff) await new Promise(setImmediate)
    expect(await declaredSize()).toBe(100_000)
  })

  it('fails at the end when there was no space for the rest', async () => {
    disk.freeBytes = 44
    const node = await openNode(recorder, {}, { recordingsFolder: folder })
    await expect(lastValueFrom(node(of(audio(new Uint8Array(320))), nodeContext()))).rejects.toThrow('ENOSPC')
  })

  it.each([0, 20, 44])('leaves no file where there was space for %i bytes and no audio', async (freeBytes) => {
    disk.freeBytes = freeBytes
    const node = await openNode(recorder, {}, { recordingsFolder: folder })
    await expect(lastValueFrom(node(of(audio(new Uint8Array(320))), nodeContext()))).rejects.toThrow('ENOSPC')
    expect(await readdir(folder)).toEqual([])
  })
})
