import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { wavHeader } from '../../../../../src/audio/wav-header.js'
import { temporaryFolder } from '../../../../../test/temporary-folder.js'
import { openInput } from '../../../src/cli/input/open-input.js'

const folder = temporaryFolder()
const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
const wav = Buffer.concat([wavHeader(format, 1600), Buffer.alloc(1600, 1)])
const made = (name: string, bytes: Uint8Array | string): string => {
  writeFileSync(join(folder, name), bytes)
  return join(folder, name)
}

/** A program in place of ffmpeg. */
const withFfmpeg = (script: string): Readonly<Record<string, string>> => {
  chmodSync(made('ffmpeg', `#!/bin/sh\n${script}\n`), 0o700)
  return { PATH: folder }
}

const { signal } = new AbortController()
const opened = async (file: string, env: Readonly<Record<string, string>> = {}) => {
  const input = await openInput({ file }, { env, stdin: process.stdin }, { signal, proxy: false })
  let bytes = 0
  for await (const part of input.audio) bytes += part.length
  await input.close()
  return { bytes, isLive: input.isLive, durationMs: input.durationMs, fault: input.fault()?.message }
}

const served = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('a file that is no WAV file', () => {
  const song = made('song.mp3', 'ID3 and so on, with \u0001 as its sound')

  it('is decoded by ffmpeg on the PATH, from its start, with its duration', async () => {
    const script = `echo "[info]   Duration: 00:00:00.10, start" >&2; head -c 3 /dev/fd/0 >&2; cat ${made('decoded', wav)}`
    expect(await opened(song, withFfmpeg(script))).toEqual({ bytes: 1600, isLive: false, durationMs: 100 })
  })

  it.each([
    ['exit 1', /^\S+song\.mp3 is no recording that ffmpeg can read; pass another copy\.$/],
    ['echo "[fatal] matches no streams" >&2; exit 1', /song\.mp3 has no sound; pass another copy\.$/],
  ])('is refused if ffmpeg ends with %j', async (script, sentence) => {
    await expect(opened(song, withFfmpeg(script))).rejects.toMatchObject({ code: 'source-failed', message: sentence })
  })

  it('is transcribed up to where ffmpeg finds it cut', async () => {
    const script = `cat ${made('decoded', wav)}; echo "[mov @ 0x1] [error] partial file" >&2`
    expect(await opened(song, withFfmpeg(script))).toMatchObject({
      bytes: 1600,
      fault: expect.stringMatching(/song\.mp3 ends early; pass another copy\.$/) as unknown,
    })
  })

  it('is refused without ffmpeg, which the sentence names', async () => {
    await expect(opened(song)).rejects.toThrow(
      /This is MP3.* converts it\. With ffmpeg on the PATH it is read as it is/,
    )
  })
})

describe('an address', () => {
  it('is downloaded, and leaves no file', async () => {
    const url = await served((_request, response) => response.end(wav))
    expect(await opened(`${url}/a.wav?key=secret`)).toEqual({ bytes: 1600, isLive: false, durationMs: 100 })
  })

  it('is followed to where it redirects by http, a few times', async () => {
    const url = await served((request, response) => {
      if (request.url === '/a') response.writeHead(302, { Location: '/b' }).end()
      else if (request.url === '/b') response.end(wav)
      else if (request.url === '/file') response.writeHead(302, { Location: `file://${folder}/own.wav` }).end()
      else response.writeHead(302, { Location: '/loop' }).end()
    })
    expect(await opened(`${url}/a`)).toMatchObject({ bytes: 1600 })
    await expect(opened(`${url}/loop`)).rejects.toThrow('redirects more than 5 times')
    await expect(opened(`${url}/file`)).rejects.toThrow('redirects to an address that is not https')
  })

  it('that does not answer is refused with what the command can change', async () => {
    await expect(opened('http://127.0.0.1:1/a.wav')).rejects.toThrow(
      '127.0.0.1:1 cannot be reached (ECONNREFUSED); check the address and the network, or set --proxy.',
    )
  })

  it.each<[string, RequestListener, RegExp]>([
    ['is missing', (_request, response) => response.writeHead(404).end(), /was answered with the status 404; check/],
    [
      'is cut',
      (_request, response) =>
        response.writeHead(200, { 'Content-Length': 99 }).write(wav.subarray(0, 50), () => response.destroy()),
      /could not be downloaded to its end \(ECONNRESET\)/,
    ],
    ['is a page', (_request, response) => response.end('<!doctype html><p>Sign in'), /is text; pass a recording/],
    [
      'is endless',
      (_request, response) => response.writeHead(200, { 'Content-Length': 2 ** 40 }).write('RIFF'),
      /is longer than 4 GiB; download it/,
    ],
    ['is empty', (_request, response) => response.end(), /is empty; pass a recording/],
  ])('that %s is refused without its query', async (_what, listener, sentence) => {
    const url = await served(listener)
    const error: unknown = await opened(`${url}/a.wav?key=secret`).catch((refused: unknown) => refused)
    expect(error).toMatchObject({ message: expect.stringMatching(sentence) as unknown })
    expect(String(error)).toMatch(/127\.0\.0\.1:\d+\/a\.wav/)
    expect(String(error)).not.toContain('secret')
  })

  it('with a password is refused without it', async () => {
    await expect(opened('http://user:secret@127.0.0.1/a.wav')).rejects.toThrow(/^(?!.*secret).*no user and no password/)
  })
})

describe('a WAV file', () => {
  it('is read by this process alone', async () => {
    const file = made('own.wav', wav)
    expect(await opened(file, withFfmpeg('exit 1'))).toMatchObject({ bytes: 1600, durationMs: 100 })
    expect(readFileSync(file)).toHaveLength(wav.length)
  })
})
