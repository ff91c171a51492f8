import { createServer } from 'node:http'
import { describe, expect, it, type TestContext } from 'vitest'
import { requestToken } from '../../src/auth/request-token.js'
import { pace } from '../../src/operators/audio/pace.js'
import { faultMarbles } from '../../src/testing/faults/fault-marbles.js'
import { listen, stop } from '../transport/tcp-proxy.js'
import { format, outcomeOf, sourceOf, stage, transports } from './proved-session.js'

/** Issues one token, and answers every further request with this status. */
const tokenEndpoint = async (
  status: number,
  error: string,
  { onTestFinished }: TestContext,
): Promise<{ authUrl: string; requests: () => number }> => {
  let requests = 0
  const granted = { access_token: 'good-token', token_type: 'Bearer', expires_in: 3600 }
  const server = createServer((request, response) => {
    requests += 1
    request.resume()
    response.statusCode = requests === 1 ? 200 : status
    response.end(JSON.stringify(requests === 1 ? granted : { error }))
  })
  onTestFinished(() => stop(server))
  return { authUrl: `http://127.0.0.1:${await listen(server)}`, requests: () => requests }
}

// Each takes the time of its outage and of the attempts in it, all of them concurrently.
describe.concurrent.each(transports)('requestToken as the token of a session over %s', (over) => {
  it.for([
    [400, 'invalid_request'],
    [401, 'invalid_client'],
    [429, 'too_many_attempts'],
  ] as const)(
    'is requested once, so that an endpoint that answers %d later ends no session',
    async ([status, error], context) => {
      const { authUrl, requests } = await tokenEndpoint(status, error, context)
      const { session, service, close } = await stage({ wordMs: 100 }, faultMarbles('300ms o 400ms |'))
      context.onTestFinished(close)
      const token$ = requestToken({ authUrl, clientId: 'c', clientSecret: 'secret-secret' })
      const audio$ = pace({ format })(sourceOf(1_000))
      const { events, text, end } = await outcomeOf(session(over, { token: token$ })(audio$))
      const attempts = events.filter((event) => event.type === 'connection' && event.state === 'reconnecting')
      expect(attempts.length).toBeGreaterThan(1)
      expect([end, requests()]).toEqual(['complete', 1])
      expect(text).toBe(service.transcript({ sampleCount: 8_000, sampleRateHz: 8_000 }))
    },
  )
})
