import { chmod, mkdtemp, open, readFile, rm, writeFile, type FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decode, findFfmpeg, type DecodeOptions } from '../../src/recognition/ffmpeg.js'
import { isRunning } from '../../../../test/is-running.js'

let folder: string
let file: FileHandle
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rxspeech-ffmpeg-'))
  await writeFile(join(folder, 'recording'), 'the recording')
  file = await open(join(folder, 'recording'))
})
afterAll(async () => {
  await file.close()
  await rm(folder, { recursive: true })
})

/** A program in place of ffmpeg. */
const programOf = async (script: string): Promise<string> => {
  const path = join(folder, 'ffmpeg')
  await writeFile(path, `#!/bin/sh\n${script}\n`)
  await chmod(path, 0o700)
  return path
}

const decoded = async (script: string, options: Partial<DecodeOptions> = {}) =>
  decode(await programOf(script), file.fd, { maxCpuSeconds: 3, signal: new AbortController().signal, ...options })

const textOf = async (parts: AsyncIterable<Uint8Array>): Promise<string> => {
  let text = ''
  for await (const part of parts) text += Buffer.from(part).toString()
  return text
}

describe('ffmpeg', () => {
  it('reads the file itself, from its start, and can open no other kind of address', async () => {
    expect(await textOf(await decoded('cat /dev/fd/0'))).toBe('the recording')
    const given = await textOf(await decoded('echo "$@"'))
    expect(given).toContain('-protocol_whitelist file -format_whitelist aac,')
    expect(given).not.toMatch(/hls|concat|dash|image|http/)
    expect(given).toContain('-i file:/dev/fd/0')
  })

  it('that delivers nothing more is ended, also if a program of its own goes on', async () => {
    const parts = await decoded('echo sound; sleep 100 & echo $! >&2; wait', { maxSilentMs: 50 })
    await expect(textOf(parts)).rejects.toThrow('The file takes too much time to be decoded.')
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
    ['echo "[fatal] Stream map \'0:a:0\' matches no streams." >&2; exit 1', 'has no sound'],
    ['echo RIFF; echo "[mov @ 0x1] [error] stream 0, offset 0x2c: partial file" >&2', 'ends early'],
    ['kill -XCPU $$', 'takes too much time to be decoded'],
  ])('refuses a file for which it ends with %j, and quotes nothing of it', async (script, problem) => {
    await expect(textOf(await decoded(script))).rejects.toMatchObject({
      problem,
      message: `The file ${problem}.`,
    })
  })

  it('says the duration before the first bytes, and takes no title of the file for a fault', async () => {
    const durations: number[] = []
    const script =
      'echo "[info]     title  : partial file" >&2; echo "[info]   Duration: 01:02:03.45, start: 0" >&2; echo RIFF'
    const text = await textOf(await decoded(script, { onDuration: (ms) => durations.push(ms) }))
    expect({ text, durations }).toEqual({ text: 'RIFF\n', durations: [3_723_450] })
  })

  it('reads more containers only in files of the person who runs it', async () => {
    expect(await textOf(await decoded('echo "$@"'))).not.toContain('avi')
    const own = await textOf(await decoded('echo "$@"', { isOwnFile: true }))
    expect(own).toMatch(/-format_whitelist aac,\S+,avi,/)
    expect(own).not.toMatch(/hls|concat|dash|image|http/)
  })

  it.each(['the reader leaves', 'the request ends'])('is killed when %s', async (cause) => {
    const ending = new AbortController()
    const parts = await decoded('echo $$; exec sleep 600', { signal: ending.signal })
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
