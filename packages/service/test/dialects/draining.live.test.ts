import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { plainService } from '../plain-service.js'

const wav = readFileSync('samples/call.wav')
const head = 'Content-Disposition: form-data; name='

/** A service that closes while a client sends a recording. */
const closing = async (drainMs: number) => {
  const service = await plainService({ dialects: ['openai-transcriptions'] })
  const headers = { Authorization: `Bearer ${service.token}` }
  const request = httpRequest(`${service.started.authUrl}/v1/audio/transcriptions`, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'multipart/form-data; boundary=b', Expect: '100-continue' },
  })
  request.flushHeaders()
  await once(request, 'continue')
  request.write(`--b\r\n${head}"model"\r\n\r\nm\r\n--b\r\n${head}"file"; filename="a"\r\n\r\n`)
  const models = () => fetch(`${service.started.authUrl}/v1/models`, { headers })
  // Its token is perhaps still being checked.
  const closed = service.started.close({ drainMs })
  const answered = once(request, 'response') as Promise<[IncomingMessage]>
  return { service, request, models, answered, closed }
}

it('a service that closes waits for a recording that is sent, reads all of it, and refuses others', async () => {
  const { service, request, models, answered, closed } = await closing(30_000)
  const refused = await models()
  expect(refused.status).toBe(503)
  expect(refused.headers.get('x-should-retry')).toBe('true')
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  request.write(wav)
  request.end('\r\n--b--\r\n')
  const [response] = await answered
  expect(response.statusCode).toBe(200)
  expect(await text(response)).toMatch(/hello world/)
  await closed
  await service.close()
})

it('a service that closes refuses a recording that does not arrive in time, so that it is sent elsewhere', async () => {
  const { service, answered, closed } = await closing(100)
  const [response] = await answered
  expect(response.statusCode).toBe(503)
  expect(response.headers['x-should-retry']).toBe('true')
  expect(await text(response)).toContain('"going_away"')
  await closed
  expect(service.faults).toEqual([])
  await service.close()
})
