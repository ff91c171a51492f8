import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { concat, EMPTY, from, lastValueFrom, NEVER, of, Subject, throwError, toArray } from 'rxjs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AudioFormat } from '../../../../src/audio/format.js'
import type { NodeContext, NodeItem } from '../../../server/src/nodes/core/node.js'
import { recorder } from '../../src/recordings/recorder.js'
import { WavFileWriter } from '../../src/recordings/wav-file-writer.js'
import { readRecording } from '../../../../test/audio/read-recording.js'
import { audio, event, openNode } from '../../../server/test/nodes/fixed-set.js'
import { nodeContext } from '../../../server/test/nodes/node-context.js'

let folder = ''
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'rxspeech-recorder-')), 'recordings')
})
afterEach(async () => {
  await rm(join(folder, '..'), { recursive: true, force: true })
})

const mono: AudioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }
const open = (options: object = {}, context: Partial<NodeContext> = {}) =>
  openNode(recorder, options, { recordingsFolder: folder, ...context })
const wavOf = (name: string) => readRecording(join(folder, name))
/** Polls until it holds, without a sleep: disk operations complete in between. */
const until = async (holds: () => Promise<boolean>): Promise<void> => {
  while (!(await holds())) await new Promise(setImmediate)
}
const numbered = (byteCount: number): Uint8Array =>
  Uint8Array.from({ length: byteCount }, (_none, index) => index % 251)
const recorded = (File: string, DurationMsec: number, more: object = {}, channel = -2): NodeItem =>
  event('Recorded', { channel, startMs: 0, endMs: DurationMsec, data: { File, DurationMsec, ...more } })

describe('recorder', () => {
  it('writes its input, reports the file at the end, and consumes every frame', async () => {
    const bytes = numbered(300_000)
    let frames = 0
    const consumed = (count: number): void => {
      frames += count
    }
    const node = await open({}, { ack: consumed })
    const input$ = from([
      audio(bytes.subarray(0, 320)),
      audio(bytes.subarray(320, 200_320)),
      audio(bytes.subarray(200_320)),
    ])
    expect(await lastValueFrom(node(input$, nodeContext()).pipe(toArray()))).toEqual([
      recorded('session-1-node-all.wav', 18_750),
    ])
    const { format, durationMs, bytes: data } = await wavOf('session-1-node-all.wav')
    expect([format, durationMs]).toEqual([mono, 18_750])
    expect(data.equals(bytes)).toBe(true)
    expect(frames).toBe(150_000)
    expect((await stat(join(folder, 'session-1-node-all.wav'))).mode & 0o777).toBe(0o600)
  })

  it('keeps µ-law unchanged, also an odd number of bytes', async () => {
    const inputs = { audio: { ...mono, encoding: 'ulaw' } as const }
    const node = await open({}, { inputs })
    await lastValueFrom(node(of(audio(numbered(1001))), nodeContext()))
    const { format, bytes: data } = await wavOf('session-1-node-all.wav')
    expect(format).toEqual(inputs.audio)
    expect(data.equals(numbered(1001))).toBe(true)
    expect((await stat(join(folder, 'session-1-node-all.wav'))).size).toBe(58 + 1002)
  })

  it('writes each channel to a separate file on request', async () => {
    const node = await open(
      { channels: 'apart' },
      { inputs: { audio: { encoding: 'ulaw', sampleRateHz: 8000, channels: 2 } } },
    )
    const stereo = Uint8Array.from({ length: 16_000 }, (_none, index) => (index % 2) + 1)
    expect(await lastValueFrom(node(of(audio(stereo)), nodeContext()).pipe(toArray()))).toEqual([
      recorded('session-1-node-0.wav', 1000, {}, 0),
      recorded('session-1-node-1.wav', 1000, {}, 1),
    ])
    expect((await wavOf('session-1-node-0.wav')).bytes.every((byte) => byte === 1)).toBe(true)
    expect((await wavOf('session-1-node-1.wav')).bytes.every((byte) => byte === 2)).toBe(true)
  })

  it('ends a file at its limit, reports that, and accepts no more audio', async () => {
    const counts: number[] = []
    const node = await open({ maxDurationMs: 100 }, { ack: (count) => counts.push(count) })
    const input$ = concat(from([audio(numbered(1600)), audio(numbered(1600))]), NEVER)
    expect(await lastValueFrom(node(input$, nodeContext()).pipe(toArray()))).toEqual([
      recorded('session-1-node-all.wav', 100, { Truncated: true }),
    ])
    expect((await wavOf('session-1-node-all.wav')).bytes).toHaveLength(1600)
    expect(counts.at(-1)).toBe(Infinity)
    const exact = await open({ maxBytes: 1600 }, { node: 'other' })
    expect(await lastValueFrom(exact(of(audio(numbered(1600))), nodeContext()))).toEqual(
      recorded('session-1-other-all.wav', 100),
    )
  })

  it('leaves a readable file when the session is cancelled or fails', async () => {
    const node = await open()
    const input$ = new Subject<NodeItem>()
    const seen: unknown[] = []
    const subscription = node(input$, nodeContext()).subscribe((item) => seen.push(item))
    input$.next(audio(numbered(32_000)))
    subscription.unsubscribe()
    const isWhole = (name: string) => async (): Promise<boolean> => {
      const bytes = await readFile(join(folder, name)).catch(() => Buffer.alloc(0))
      return bytes.length === 32_044 && bytes.readUInt32LE(40) === 32_000
    }
    await until(isWhole('session-1-node-all.wav'))
    expect(seen).toEqual([])
    const failing$ = concat(
      of(audio(numbered(32_000))),
      throwError(() => new Error('source')),
    )
    await expect(lastValueFrom(node(failing$, nodeContext()))).rejects.toThrow('source')
    await until(isWhole('session-1-node-all-2.wav'))
  })

  it('leaves no file and no event if there was no audio, ended or cancelled', async () => {
    const node = await open()
    expect(await lastValueFrom(node(EMPTY, nodeContext()).pipe(toArray()))).toEqual([])
    const input$ = concat(of(audio(new Uint8Array(0))), NEVER)
    node(input$, nodeContext()).subscribe().unsubscribe()
    await until(async () => !(await readdir(join(folder, '..'))).includes('recordings'))
  })

  it('starts another file for each subscription', async () => {
    const node = await open()
    for (let count = 0; count < 2; count += 1) await lastValueFrom(node(of(audio(numbered(320))), nodeContext()))
    expect((await readdir(folder)).sort()).toEqual(['session-1-node-all-2.wav', 'session-1-node-all.wav'])
  })

  it('makes file names from ids only, without paths, and follows no link', async () => {
    const session = { id: '../../etc/passwd', tenant: '../t', project: '../p', clientId: '../c' }
    const node = await open({}, { session, node: 'a/b' })
    expect(await lastValueFrom(node(of(audio(numbered(320))), nodeContext()))).toEqual(
      recorded('______etc_passwd-a_b-all.wav', 20),
    )
    const victim = join(folder, '..', 'victim')
    await writeFile(victim, 'kept')
    await symlink(victim, join(folder, 'session-1-node-all.wav'))
    await lastValueFrom((await open())(of(audio(numbered(320))), nodeContext()))
    expect(await readFile(victim, 'utf8')).toBe('kept')
  })

  it('is refused by name if the service stores no recordings', async () => {
    await expect(openNode(recorder, {}, { node: 'archive' })).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringContaining('archive'),
    })
  })

  it('fails without a path when the folder cannot be made', async () => {
    await writeFile(join(folder, '..', 'file'), '')
    const node = await open({}, { recordingsFolder: join(folder, '..', 'file', 'x') })
    const input$ = concat(of(audio(numbered(320))), NEVER)
    await expect(lastValueFrom(node(input$, nodeContext()))).rejects.toMatchObject({
      code: 'internal',
      message: 'The recording cannot be written (ENOTDIR).',
    })
  })

  it('fails when more is queued for the disk than allowed', async () => {
    const node = await open()
    const input$ = new Subject<NodeItem>()
    const failed = lastValueFrom(node(input$, nodeContext()))
    for (let index = 0; index < 100; index += 1) input$.next(audio(numbered(64_000)))
    await expect(failed).rejects.toThrow('too slow')
  })
})

describe('WavFileWriter', () => {
  it('reports its queue, and acknowledges only as the disk keeps up', async () => {
    let progress = 0
    const file = new WavFileWriter(folder, 'a', mono, () => (progress += 1))
    file.add(numbered(640_000))
    expect(file.waitingBytes).toBe(589_824)
    expect(await file.close()).toBe('a.wav')
    expect([file.waitingBytes, progress]).toEqual([0, 10])
  })
})
