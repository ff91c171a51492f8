import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasPrograms, needPackages } from '../interop/debian-packages.js'
import { plainService, type PlainService } from '../plain-service.js'

const { areAbsent, title } = needPackages(['ffmpeg'], () => hasPrograms('ffmpeg'))

const formats = ['mp3', 'm4a', 'webm', 'mpg', 'adpcm.wav'] as const
/** Sounds of which a short file is long, or none. */
const made = {
  'long.flac': ['-f', 'lavfi', '-i', 'anullsrc=r=8000:cl=mono', '-t', '120', '-c:a', 'flac'],
  'silent.mp4': ['-f', 'lavfi', '-i', 'color=size=16x16:rate=5', '-t', '1', '-an'],
} as const

let folder: string
let service: PlainService

beforeAll(async () => {
  if (areAbsent) return
  folder = await mkdtemp(join(tmpdir(), 'rxspeech-formats-'))
  const path = (name: string): string => join(folder, name)
  const same = formats.flatMap((name) => [
    ...(name.startsWith('adpcm') ? ['-c:a', 'adpcm_ms'] : []),
    ...(name === 'mpg' ? ['-ar', '44100', '-c:a', 'mp2'] : []),
    path(`call.${name}`),
  ])
  const ffmpeg = (...given: string[]) => execFileSync('ffmpeg', ['-nostdin', '-loglevel', 'error', ...given])
  ffmpeg('-t', '4', '-i', 'samples/call.wav', ...same)
  for (const [name, given] of Object.entries(made)) ffmpeg(...given, path(name))
  service = await plainService({
    dialects: ['openai-transcriptions'],
    maxRecordingMinutes: 1,
    limits: { requestBurst: 1_000 },
  })
})
afterAll(async () => {
  if (areAbsent) return
  await service.close()
  await rm(folder, { recursive: true })
})

const transcribe = async (file: Buffer, name = 'recording'): Promise<Response> => {
  const form = new FormData()
  form.append('model', 'm')
  form.append('response_format', 'verbose_json')
  form.append('file', new Blob([Uint8Array.from(file)], { type: 'application/octet-stream' }), name)
  const headers = { Authorization: `Bearer ${service.token}` }
  return fetch(`${service.started.authUrl}/v1/audio/transcriptions`, { method: 'POST', headers, body: form })
}

const refusalOf = async (file: Buffer) => {
  const response = await transcribe(file)
  const { error } = (await response.json()) as { readonly error: Readonly<Record<'message' | 'code', string>> }
  return { status: response.status, ...error }
}

describe.skipIf(areAbsent)(title('a recording that is not WAV, with ffmpeg'), () => {
  it.each(formats)('is read from %s, whatever it is called', async (format) => {
    const response = await transcribe(await readFile(join(folder, `call.${format}`)))
    const { text, duration } = (await response.json()) as { readonly text: string; readonly duration: number }
    expect(text).toMatch(/^hello world/)
    expect(duration).toBeGreaterThan(3.9)
    expect(duration).toBeLessThan(4.3)
  })

  it('ends at the limit of its duration, however small its file is', async () => {
    const file = await readFile(join(folder, 'long.flac'))
    expect(file.length).toBeLessThan(50_000)
    expect(await refusalOf(file)).toMatchObject({ status: 400, code: 'recording_too_long' })
  })

  it.each([
    ['a picture without sound', 'silent.mp4', /has no sound/],
    ['a file of which the end is missing', 'call.m4a', /cannot|ends early|not a recording/],
  ])('refuses %s', async (_case, name, message) => {
    const file = await readFile(join(folder, name))
    const sent = name === 'call.m4a' ? file.subarray(0, file.length / 2) : file
    expect(await refusalOf(sent)).toMatchObject({
      status: 400,
      code: 'invalid_audio',
      message: expect.stringMatching(message) as unknown,
    })
  })

  it('refuses a playlist of another recording', async () => {
    const playlist = [
      '#EXTM3U',
      '#EXT-X-TARGETDURATION:4',
      '#EXTINF:4,',
      `file:${join(folder, 'call.mp3')}`,
      '#EXT-X-ENDLIST',
      '',
    ]
    expect(await refusalOf(Buffer.from(playlist.join('\n')))).toMatchObject({ status: 400, code: 'invalid_audio' })
    expect(service.faults).toEqual([])
  })
})
