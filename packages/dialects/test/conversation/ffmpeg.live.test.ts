import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { Readable } from 'node:stream'
import { VirtualTimeScheduler } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { wavHeader } from '../../../../src/audio/wav-header.js'
import { decode, findFfmpeg } from '../../src/conversation/ffmpeg.js'
import { defaultUploadLimits, RecordingIntake } from '../../src/conversation/recording-intake.js'
import { Upload } from '../../src/conversation/upload.js'
import { clientOf } from './upload-client.js'

let folder: string
let file: Upload
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rxspeech-ffmpeg-'))
  file = await Upload.store(Readable.from([Buffer.from('the recording')]), 1_000)
})
afterAll(async () => {
  await file.remove()
  await rm(folder, { recursive: true })
})

/** A program in place of ffmpeg. */
const programOf = async (script: string): Promise<string> => {
  const path = join(folder, 'ffmpeg')
  await writeFile(path, `#!/bin/sh\n${script}\n`)
  await chmod(path, 0o700)
  return path
}

const decoded = async (script: string, signal = new AbortController().signal) =>
  decode(await programOf(script), file, { maxCpuSeconds: 3, signal })

const textOf = async (parts: AsyncIterable<Uint8Array>): Promise<string> => {
  let text = ''
  for await (const part of parts) text += Buffer.from(part).toString()
  return text
}

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('ffmpeg', () => {
  it('reads the file itself, from its start, and can open no other kind of address', async () => {
    expect(await textOf(await decoded('cat /dev/fd/0'))).toBe('the recording')
    const given = await textOf(await decoded('echo "$@"'))
    expect(given).toContain('-protocol_whitelist file -format_whitelist aac,')
    expect(given).not.toMatch(/hls|concat|dash|image|http/)
    expect(given).toContain('-i file:/dev/fd/0')
  })

  it('has bounds: a processor for some seconds, memory, no file to write, and nothing of the environment', async () => {
    const script = 'ulimit -t; ulimit -v; ulimit -f; ulimit -n; pwd; echo "$HOME$RXSPEECH_SECRET"'
    expect((await textOf(await decoded(script))).split('\n')).toEqual(['3', '1048576', '0', '64', '/', '', ''])
    const other = join(folder, 'written')
    await textOf(await decoded(`echo 12345 > ${other}; exit 0`)).catch(() => undefined)
    expect(await readFile(other, 'utf8')).toBe('')
  })

  it.each([
    ['exit 1', 'is not a recording that can be read'],
    ['echo "Stream map \'0:a:0\' matches no streams." >&2; exit 1', 'has no sound'],
    ['echo RIFF; echo "[mov] stream 0, offset 0x2c: partial file" >&2', 'ends early'],
    ['kill -XCPU $$', 'takes too much time to be decoded'],
  ])('refuses a file for which it ends with %j, and quotes nothing of it', async (script, problem) => {
    await expect(textOf(await decoded(script))).rejects.toMatchObject({
      status: 400,
      message: `The file ${problem}; send another copy of it, or convert it to WAV.`,
    })
  })

  it.each(['the reader leaves', 'the request ends'])('is killed when %s', async (cause) => {
    const ending = new AbortController()
    const parts = await decoded('echo $$; exec sleep 600', ending.signal)
    const { value } = await parts.next()
    const pid = Number(Buffer.from(value ?? []).toString())
    expect(isRunning(pid)).toBe(true)
    if (cause === 'the reader leaves') await parts.return(undefined)
    else {
      const rest = parts.next()
      ending.abort()
      await expect(rest).rejects.toThrow('abort')
    }
    await expect.poll(() => isRunning(pid)).toBe(false)
  })

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

  it('is found in an absolute folder of the PATH, if it can be run', async () => {
    const path = await programOf('')
    expect(findFfmpeg(['/nowhere', '.', folder].join(delimiter))).toBe(path)
    expect(findFfmpeg(folder, 'win32')).toBeUndefined()
    await chmod(path, 0o600)
    expect(findFfmpeg(folder)).toBeUndefined()
    expect(findFfmpeg(undefined)).toBeUndefined()
    expect(findFfmpeg('ffmpeg:.')).toBeUndefined()
  })
})
