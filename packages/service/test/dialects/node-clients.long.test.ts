import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { installNodeClients, type InstalledClients, type Steps } from './client-programs.js'
import { clientService, type ClientService } from './client-service.js'

// Clients that others wrote, unmodified, of npm; each program in `clients` prints what its steps have.

let clients: InstalledClients | undefined
let service: ClientService

beforeAll(async () => {
  clients = await installNodeClients()
  if (clients !== undefined) service = await clientService()
})
afterAll(async () => {
  if (clients === undefined) return
  await service.close()
  await clients.remove()
})
beforeEach(({ skip }) => {
  skip(clients === undefined, 'the clients cannot be installed')
})

const runWhenFull = (program: string): Promise<Steps> => {
  if (clients === undefined) throw new Error('There are no clients.')
  return service.runWhenFull(clients, program)
}

describe('a client of npm', () => {
  it('openai sends recordings, lists models, and tries again while the service is full', async () => {
    const steps = await runWhenFull('openai-transcriptions.mjs')
    const { text } = service
    expect(steps).toMatchObject({
      'a stream': text,
      'a file': text,
      text: `${text}\n`,
      srt: expect.stringMatching(/^1\n00:00:00,\d{3} --> .*\ngood evening/) as unknown,
      vtt: expect.stringMatching(/^WEBVTT\n\n1\n00:00:00\.\d{3} --> .*\ngood evening/) as unknown,
      verbose_json: { text, segments: text, words: text },
      events: { deltas: text, done: text },
      models: expect.arrayContaining(['call']) as unknown,
      'a wrong key': { isTyped: true, status: 401, code: 'unauthenticated', hasId: true },
      'an option': { isTyped: true, status: 400, code: 'unsupported_parameter', param: 'prompt' },
      'no recording': { isTyped: true, status: 400, code: 'invalid_audio', param: 'file' },
    })
    expect(steps['refusals']).toBeGreaterThan(0)
  })

  it('ai 7 reads recordings with @ai-sdk/openai and with rxspeech/ai-sdk', async () => {
    const steps = await runWhenFull('ai-sdk.mjs')
    const { text } = service
    expect(steps).toMatchObject({
      openai: { text, segments: text },
      'openai, another model': { text },
      'openai, a wrong key': {
        isTyped: true,
        isRetryable: false,
        message: expect.stringMatching(/^The token/) as unknown,
      },
      rxspeech: { text, segments: text },
      'rxspeech, a wrong key': { isTyped: true, isRetryable: false },
    })
    expect(steps['refusals']).toBeGreaterThan(0)
  })

  it('ai 6 reads recordings with rxspeech/ai-sdk, and tries again while the service is full', async () => {
    const steps = await runWhenFull('ai-sdk-6.mjs')
    expect(steps).toMatchObject({
      rxspeech: service.text,
      'rxspeech, a wrong key': { isTyped: true, isRetryable: false },
    })
    expect(steps['refusals']).toBeGreaterThan(0)
  })
})
