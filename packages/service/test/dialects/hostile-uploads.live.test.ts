import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import { connect } from 'node:net'
import { json } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { plainService, type PlainService } from '../plain-service.js'

const wav = readFileSync('samples/call.wav')

let service: PlainService
beforeAll(async () => {
  service = await plainService({
    env: {},
    dialects: ['openai-transcriptions', 'deepgram-listen'],
    maxUploadBytes: 2 * wav.length,
    maxUploadsPerTenant: 1,
    limits: { requestBurst: 1_000 },
  })
})
afterAll(() => service.close())

/** The stored files that this process has open. */
const openUploads = (): number =>
  readdirSync('/proc/self/fd').filter((fd) => {
    const path = `/proc/self/fd/${fd}`
    return existsSync(path) && readlinkSync(path).includes('rxspeech-upload-')
  }).length

afterEach(async () => {
  if (process.platform === 'linux') await expect.poll(openUploads).toBe(0)
  expect(service.faults).toEqual([])
})

const opened = (headers: OutgoingHttpHeaders = {}, path = '/v1/audio/transcriptions') =>
  httpRequest(`${service.started.authUrl}${path}`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${service.token}`,
      'Content-Type': 'multipart/form-data; boundary=b',
      ...headers,
    },
  }).on('error', () => undefined)

const answerTo = async (request: ReturnType<typeof opened>) => {
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let body = ''
  for await (const part of response.setEncoding('utf8')) body += part as string
  const { error } = JSON.parse(body) as { readonly error?: { readonly code: string; readonly message: string } }
  return { status: response.statusCode, retry: response.headers['x-should-retry'], ...error }
}

const answerOf = (parts: readonly (string | Buffer)[], headers: OutgoingHttpHeaders = {}) => {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)))
  const request = opened({ 'Content-Length': body.length, ...headers })
  request.end(body)
  return answerTo(request)
}

const field = (name: string, value: string): string =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
const fileHead = (fileName = 'a.wav', more = ''): string =>
  `--b\r\nContent-Disposition: form-data; name="file"; filename="${fileName}"\r\n${more}\r\n`
const file = [fileHead(), wav, '\r\n']
const end = '--b--\r\n'
const whole = [field('model', 'm'), ...file, end]

describe('an upload', () => {
  it.each([
    ['ends within its file', [field('model', 'm'), fileHead(), wav.subarray(0, 50_000)], 400, 'invalid_body'],
    ['ends within its file at once', [field('model', 'm'), fileHead(), 'RIFF'], 400, 'invalid_body'],
    ['ends within the head of a part', [field('model', 'm'), '--b\r\nContent-Dispo'], 400, 'invalid_body'],
    ['is empty', [], 400, 'invalid_body'],
    ['has another boundary', whole.map((part) => String(part).replace('--b', '--c')), 400, 'invalid_body'],
    ['has 10000 parts', [...Array.from({ length: 10_000 }, (_, at) => field(`f${at}`, '')), end], 400, 'invalid_value'],
    [
      'has a part with a huge head',
      [fileHead('a.wav', `X-A: ${'a'.repeat(100_000)}\r\n`), wav, end],
      400,
      'invalid_body',
    ],
    ['has a huge field', [field('model', 'm'.repeat(1_000_000)), ...file, end], 400, 'invalid_value'],
    ['has a huge name', [field('m'.repeat(1_000), 'm'), ...file, end], 400, 'unknown_parameter'],
    ['has no file', [field('model', 'm'), end], 400, 'missing_required_parameter'],
    ['has two files', [field('model', 'm'), ...file, ...file, end], 400, 'invalid_value'],
    [
      'has a file of another name',
      [fileHead().replace('"file"', '"audio"'), wav, '\r\n', end],
      400,
      'unknown_parameter',
    ],
    ['is too long', [fileHead(), wav, wav, wav, '\r\n', end], 413, 'file_too_large'],
  ] as const)('is refused if it %s', async (_case, parts, status, code) => {
    const answer = await answerOf(parts)
    expect(answer).toMatchObject({ status, code, retry: 'false' })
    expect(answer.message).toMatch(/\.$/)
  })

  it('is refused if it is compressed, or has no boundary', async () => {
    const packed = await answerOf([gzipSync(Buffer.concat(whole.map((part) => Buffer.from(part))))], {
      'Content-Encoding': 'gzip',
    })
    expect(packed).toMatchObject({ status: 415, code: 'unsupported_encoding' })
    const bare = await answerOf(whole, { 'Content-Type': 'multipart/form-data' })
    expect(bare).toMatchObject({ status: 400, code: 'invalid_body' })
  })

  it.each(['../../../../tmp/a.wav', '/etc/passwd', '..\\..\\a.wav', '', 'a\0b.wav'])(
    'is read whatever the name of its file, such as %j',
    async (name) => {
      expect(await answerOf([field('model', 'm'), fileHead(name), wav, '\r\n', end])).toMatchObject({ status: 200 })
    },
  )

  it('leaves nothing behind if its client leaves, and its place is free again', async () => {
    const request = opened({ 'Transfer-Encoding': 'chunked' })
    request.write(fileHead())
    request.write(wav.subarray(0, 50_000))
    await expect.poll(async () => (await answerOf(whole)).status).toBe(429)
    expect(await answerOf(whole)).toMatchObject({ code: 'overloaded', retry: 'true' })
    if (process.platform === 'linux') expect(openUploads()).toBeGreaterThan(0)
    request.destroy()
    await expect.poll(async () => (await answerOf(whole)).status).toBe(200)
  })

  it('needs no place if its client leaves before it is admitted', async () => {
    const { hostname, port } = new URL(service.started.authUrl)
    const head = `POST /v1/listen?model=m HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.token}\r\n`
    for (let count = 0; count < 20; count += 1) {
      const socket = connect(Number(port), hostname)
      await once(socket, 'connect')
      socket.end(`${head}Content-Length: 1000\r\n\r\nRIFF`)
      socket.destroy()
    }
    await expect.poll(async () => (await answerOf(whole)).status).toBe(200)
  })

  it.each([
    ['is too long', Buffer.concat([wav, wav, wav]), 413, 'FILE_TOO_LARGE'],
    ['ends early', wav.subarray(0, 100_000), 400, 'INVALID_AUDIO'],
    ['is empty', Buffer.alloc(0), 400, 'INVALID_AUDIO'],
  ])('that is the whole body is refused if it %s', async (_case, body, status, code) => {
    const request = opened({ 'Content-Type': 'audio/wav', 'Transfer-Encoding': 'chunked' }, '/v1/listen?model=m')
    request.end(body)
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect(response.statusCode).toBe(status)
    expect(await json(response)).toMatchObject({ err_code: code, request_id: response.headers['dg-request-id'] })
  })

  it('of another format is refused with what to do if there is no ffmpeg', async () => {
    const answer = await answerOf([
      field('model', 'm'),
      fileHead('a.mp3'),
      'ID3\x03\0\0\0\0\0\0 and so on',
      '\r\n',
      end,
    ])
    expect(answer).toMatchObject({ status: 400, code: 'invalid_audio' })
    expect(answer.message).toMatch(/This is MP3.*ffmpeg -i FILE .*With ffmpeg on its PATH the service reads/)
  })
})
