import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { VirtualTimeScheduler } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { wavHeader } from '../../../../src/audio/wav-header.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'
import { defaultUploadLimits, RecordingIntake } from '../../src/conversation/recording-intake.js'
import { Upload } from '../../src/conversation/upload.js'
import { clientOf } from './upload-client.js'

const folder = temporaryFolder()

/** A program in place of ffmpeg. */
const programOf = async (script: string): Promise<string> => {
  const path = join(folder, 'ffmpeg')
  await writeFile(path, `#!/bin/sh\n${script}\n`)
  await chmod(path, 0o700)
  return path
}

describe('decoders of recordings', () => {
  it('runs for a bounded number of files; others wait, and are refused at a deadline', async () => {
    const scheduler = new VirtualTimeScheduler()
    const header = join(folder, 'header.wav')
    await writeFile(header, wavHeader({ encoding: 'pcm', sampleRateHz: 8000, channels: 1 }, 8000))
    const intake = new RecordingIntake(
      { ...defaultUploadLimits, maxDecoders: 2 },
      await programOf(`cat ${header}; exec sleep 600`),
    )
    const opened: string[] = []
    const receive = async (tenant: string, until: Promise<void>): Promise<string> => {
      const stored = { file: await Upload.store(Readable.from([Buffer.from('recording')]), 1_000) }
      const client = clientOf({ tenant, address: tenant, scheduler })
      return intake.receive(
        client,
        () => Promise.resolve(stored),
        async (_received, open) => {
          await open()
          opened.push(tenant)
          await until
          return tenant
        },
      )
    }
    let leave = (): void => undefined
    const left = new Promise<void>((resolve) => (leave = resolve))
    const first = receive('a', left)
    await expect.poll(() => opened).toEqual(['a'])
    const second = receive('a', Promise.resolve())
    await receive('b', Promise.resolve())
    expect(opened).toEqual(['a', 'b'])
    const late = expect(second).rejects.toMatchObject({ status: 503, code: 'decoders_busy' })
    await expect.poll(() => scheduler.actions.filter(({ closed }) => !closed)).toHaveLength(1)
    scheduler.flush()
    await late
    const third = receive('a', Promise.resolve())
    leave()
    expect(await Promise.all([first, third])).toEqual(['a', 'a'])
  })
})
