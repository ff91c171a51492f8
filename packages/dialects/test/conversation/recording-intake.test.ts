import { Readable } from 'node:stream'
import { VirtualTimeScheduler } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { DialectClient } from '../../../server/src/listen/dialect.js'
import { wavHeader } from '../../../../src/audio/wav-header.js'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import { refuseAsDeepgram } from '../../src/deepgram-listen/deepgram-error.js'
import { refuseAsOpenAi } from '../../src/openai-errors/openai-error.js'
import { defaultUploadLimits, RecordingIntake, type UploadLimits } from '../../src/conversation/recording-intake.js'
import { UploadError } from '../../src/conversation/upload-error.js'
import { Upload, type UploadBounds } from '../../src/conversation/upload.js'
import { clientOf } from './upload-client.js'

const intakeOf = (limits: Partial<UploadLimits> = {}, ffmpeg?: string) =>
  new RecordingIntake({ ...defaultUploadLimits, maxDecoders: 2, ...limits }, ffmpeg)

/** An upload that ends only by its signal. */
const endless = ({ signal }: UploadBounds): Promise<never> =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))

const unused = (): Promise<void> => Promise.reject(new Error('Nothing was received.'))

const storedOf = async (bytes: Uint8Array) => ({ file: await Upload.store(Readable.from([bytes]), 10_000_000) })

describe('the intake of recordings', () => {
  it('ends an upload at its deadline', async () => {
    const scheduler = new VirtualTimeScheduler()
    const received = intakeOf({ maxUploadSeconds: 7 }).receive(clientOf({ scheduler }), endless, unused)
    scheduler.flush()
    await expect(received).rejects.toMatchObject({ status: 408, code: 'upload_too_slow' })
    expect(scheduler.now()).toBe(7_000)
  })

  it('answers a client that stalls, and leaves no listener behind', async () => {
    const client = clientOf()
    const received = intakeOf().receive(client, endless, unused)
    client.request.emit('timeout')
    await expect(received).rejects.toMatchObject({ status: 408 })
    expect(client.request.eventNames()).toEqual([])
  })

  it.each([
    ['the client leaves', undefined, { status: 400, code: 'incomplete_request' }],
    ['the service closes', new SpeechError('going-away', 'The service is closing.'), { code: 'going-away' }],
  ])('ends an upload when %s', async (_case, reason, error) => {
    const ending = new AbortController()
    const received = intakeOf().receive(clientOf({ signal: ending.signal }), endless, unused)
    ending.abort(reason)
    await expect(received).rejects.toMatchObject(error)
  })

  it('needs no place for a client that has left before', async () => {
    const intake = intakeOf({ maxUploadsPerTenant: 1 })
    const receive =
      ({ request }: DialectClient) =>
      async (bounds: UploadBounds) => ({
        file: await Upload.ofBody(request, bounds),
      })
    const gone = clientOf({ signal: AbortSignal.abort() })
    gone.request.destroy()
    await expect(intake.receive(gone, receive(gone), unused)).rejects.toMatchObject({ code: 'incomplete_request' })
    const stored = storedOf(new Uint8Array(1))
    await expect(
      intake.receive(
        clientOf(),
        () => stored,
        () => Promise.resolve('heard'),
      ),
    ).resolves.toBe('heard')
  })

  it('has places for each tenant and for each address, which are free again afterwards', async () => {
    const intake = intakeOf({ maxUploadsPerTenant: 1 })
    const ending = new AbortController()
    const first = intake.receive(clientOf({ signal: ending.signal }), endless, unused)
    for (const change of [{ tenant: 'Acme' }, { address: '192.0.2.2' }]) {
      await expect(intake.receive(clientOf(change), endless, unused)).rejects.toMatchObject({ code: 'overloaded' })
    }
    const stored = storedOf(new Uint8Array(1))
    const other = clientOf({ tenant: 'Acme', address: '192.0.2.2' })
    expect(
      await intake.receive(
        other,
        () => stored,
        () => Promise.resolve('heard'),
      ),
    ).toBe('heard')
    ending.abort()
    await expect(first).rejects.toThrow()
    const again = storedOf(new Uint8Array(1))
    expect(
      await intake.receive(
        clientOf(),
        () => again,
        () => Promise.resolve('heard'),
      ),
    ).toBe('heard')
  })

  it('refuses a body that is compressed before it is read', async () => {
    const client = clientOf({}, { 'content-encoding': 'gzip' })
    await expect(intakeOf().receive(client, endless, unused)).rejects.toMatchObject({ status: 415 })
  })

  it('says that a file is empty', async () => {
    const { file } = await storedOf(new Uint8Array())
    const received = intakeOf().receive(
      clientOf(),
      () => Promise.resolve({ file }),
      (_received, open) => open(),
    )
    await expect(received).rejects.toMatchObject({ status: 400, message: 'The file is empty; send a recording.' })
  })

  it('reads a recording up to its longest duration, and removes its file', async () => {
    const format = { encoding: 'ulaw', sampleRateHz: 8000, channels: 1 } as const
    const samples = 61 * 8000
    const { file } = await storedOf(Buffer.concat([wavHeader(format, samples), Buffer.alloc(samples)]))
    let heard = 0
    const received = intakeOf({ maxRecordingMinutes: 1 }).receive(
      clientOf(),
      () => Promise.resolve({ file }),
      async (_received, open) => {
        for await (const [part] of (await open()).audio) heard += part?.length ?? 0
      },
    )
    await expect(received).rejects.toMatchObject({ status: 400, code: 'recording_too_long' })
    expect(heard).toBeGreaterThan(50 * 8000)
    expect(heard).toBeLessThanOrEqual(60 * 8000)
    await expect(file.read().next()).rejects.toMatchObject({ code: 'EBADF' })
  })
})

describe('a file that has found no decoder', () => {
  it.each([
    ['OpenAI', refuseAsOpenAi, { 'x-should-retry': 'true' }, '"code":"decoders_busy"'],
    ['Deepgram', refuseAsDeepgram, {}, '"err_code":"DECODERS_BUSY"'],
  ])('is refused in the form of %s, whose clients send it again', (_name, refuse, headers, body) => {
    const refusal = refuse(new UploadError(503, 'decoders_busy', 'The service decodes other files.'), 'id')
    expect(refusal).toMatchObject({ status: 503, headers, body: expect.stringContaining(body) as unknown })
    expect(Number(refusal?.headers['Retry-After'])).toBeGreaterThan(0)
  })
})
