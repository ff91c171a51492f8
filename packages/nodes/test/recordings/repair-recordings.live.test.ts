import { readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { AudioFormat } from '../../../../src/audio/format.js'
import { wavHeader } from '../../../../src/audio/wav-header.js'
import { repairRecordings } from '../../src/recordings/repair-recordings.js'
import { WavFileWriter } from '../../src/recordings/wav-file-writer.js'
import { readRecording } from '../../../../test/audio/read-recording.js'
import { plainService } from '../../../service/test/plain-service.js'
import { folderOfTest } from '../../../../test/temporary-folder.js'

let folder = ''
beforeEach(() => {
  folder = folderOfTest()
})

const mono: AudioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }
const left = async (name: string, format: AudioFormat, byteCount: number): Promise<string> => {
  const path = join(folder, name)
  await writeFile(path, Buffer.concat([wavHeader(format), Buffer.alloc(byteCount, 7)]))
  return path
}

describe('recordings of a process that was killed', () => {
  it.each<[string, AudioFormat, number, number]>([
    ['session-1-node-all.wav', mono, 16_001, 16_000],
    ['session-1-node-0.wav', { ...mono, encoding: 'ulaw' }, 8_001, 8_001],
    ['session-1-node-1-2.wav', { ...mono, encoding: 'alaw', channels: 2 }, 8_003, 8_002],
    ['session-1-node-all-100.wav', { ...mono, channels: 2 }, 0, 0],
  ])('get their sizes: %s', async (name, format, byteCount, whole) => {
    const path = await left(name, format, byteCount)
    expect(await repairRecordings(folder)).toBe(1)
    const bytes = await readFile(path)
    const header = wavHeader(format, whole)
    expect(bytes.subarray(0, header.length).equals(header)).toBe(true)
    expect(bytes.subarray(header.length, header.length + whole).every((byte) => byte === 7)).toBe(true)
    if (whole % 2 === 1) expect(bytes.subarray(header.length + whole)).toEqual(Buffer.alloc(1))
    expect(await repairRecordings(folder)).toBe(0)
  })

  it('are identified by name and header, and no link is followed', async () => {
    const streamed = Buffer.concat([wavHeader(mono), Buffer.alloc(320)])
    const others: readonly (readonly [string, Buffer])[] = [
      ['music.wav', streamed],
      ['session-1-node-all.wav.bak', streamed],
      ['a-b-all.wav', Buffer.from('RIFF')],
      ['a-c-all.wav', Buffer.concat([wavHeader(mono, 320), Buffer.alloc(640)])],
      ['a-d-all.wav', Buffer.alloc(0)],
      ['a-e-all.wav', Buffer.alloc(100, 0xff)],
    ]
    for (const [name, bytes] of others) await writeFile(join(folder, name), bytes)
    await symlink(join(folder, 'music.wav'), join(folder, 'a-f-all.wav'))
    expect(await repairRecordings(folder)).toBe(0)
    for (const [name, bytes] of others) expect((await readFile(join(folder, name))).equals(bytes), name).toBe(true)
    expect(await repairRecordings(join(folder, 'none'))).toBe(0)
  })

  it('may still be written by another process, whose own header is the final one', async () => {
    const file = new WavFileWriter(folder, 'session-1-node-all', mono, () => undefined)
    const path = join(folder, 'session-1-node-all.wav')
    file.add(new Uint8Array(65_536).fill(7))
    const size = (): Promise<number> =>
      stat(path).then(
        (found) => found.size,
        () => 0,
      )
    while ((await size()) < 65_536) await new Promise(setImmediate)
    expect(await repairRecordings(folder)).toBe(1)
    file.add(new Uint8Array(1_600).fill(8))
    await file.close()
    expect((await readRecording(path)).bytes).toHaveLength(67_136)
  })

  it('are repaired when a service starts', async () => {
    const path = await left('session-1-node-all.wav', mono, 16_000)
    const service = await plainService({ recordingsFolder: folder })
    await service.close()
    expect((await readFile(path)).readUInt32LE(40)).toBe(16_000)
    expect(service.faults).toEqual([])
  })
})
