import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { installPythonClients, type InstalledClients, type Steps } from './client-programs.js'
import { clientService, type ClientService } from './client-service.js'

// Clients that others wrote, unmodified, of PyPI; each program in `clients` prints what its steps have.

let clients: InstalledClients | undefined
let service: ClientService

beforeAll(async () => {
  clients = await installPythonClients()
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

describe('a client of PyPI', () => {
  it('openai sends recordings, lists models, and tries again while the service is full', async () => {
    const steps = await runWhenFull('openai_transcriptions.py')
    const { text } = service
    expect(steps).toMatchObject({
      json: text,
      text: `${text}\n`,
      srt: expect.stringMatching(/^1\n00:00:00,\d{3} --> .*\ngood evening/) as unknown,
      vtt: expect.stringMatching(/^WEBVTT\n\n1\n00:00:00\.\d{3} --> .*\ngood evening/) as unknown,
      verbose_json: { text, segments: text, words: text },
      events: { deltas: text, done: text },
      models: expect.arrayContaining(['call']) as unknown,
      'an option': { code: 'unsupported_parameter', param: 'prompt', hasId: true },
      'a wrong key': { status: 401, code: 'unauthenticated' },
    })
    expect(steps['refusals']).toBeGreaterThan(0)
  })

  it("LiveKit's plugin for OpenAI sends recordings", async () => {
    const steps = await runWhenFull('livekit_openai.py')
    expect(steps).toMatchObject({ 'a frame': service.text, 'a wrong key': { status: 401, retryable: false } })
    expect(steps['refusals']).toBeGreaterThan(0)
  })

  it("Pipecat's service for OpenAI sends segments of speech", async () => {
    const steps = await runWhenFull('pipecat_openai.py')
    expect(steps).toMatchObject({
      'a segment': { text: service.text, errors: [] },
      'a wrong key': { text: '', errors: [expect.stringContaining('401 - The token is not valid') as unknown] },
    })
    expect(steps['refusals']).toBeGreaterThan(0)
  })
})
