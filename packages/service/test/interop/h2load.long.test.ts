import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { outcomeOf } from '../../../../test/faults/proved-session.js'
import {
  bothTransports,
  proxiedSession,
  SpokenCall,
  transcriptOf as transcriptOfEvents,
} from '../faults/spoken-call.js'
import { grpcHeaders, startMessage } from './grpc-message.js'
import { h2load, h2loadPackage, type LoadOutcome } from './h2load.js'
import { liveService, type LiveService } from './live-service.js'
import { turnsOf } from './sample-call.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

const connectionsPerAddress = 30
const failuresPerMinute = 10

let live: LiveService
const folder = temporaryFolder()
let greeting: SpokenCall
beforeAll(async () => {
  greeting = await SpokenCall.until(3_500)
})
afterEach(() => live.close())

const started = async (): Promise<void> => {
  live = await liveService({
    defaultModel: 'call',
    limits: { connectionsPerAddress },
    identity: { bruteForce: { failuresPerMinute } },
    operations: { host: '127.0.0.1', port: 0 },
  })
}

const file = async (name: string, content: string | Uint8Array): Promise<string> => {
  const path = join(folder, name)
  await writeFile(path, content)
  return path
}

/** The service runs in this process, which has thousands of requests to answer before a ping. */
const heartbeatMs = 60_000

/** A session over each transport recognizes the greeting, unaffected by the load. */
const expectGreeting = async (): Promise<void> => {
  const texts = await Promise.all(
    bothTransports.map(async (over) => {
      const { proxy, session } = await proxiedSession(live, over, greeting, {
        connection: { ca: live.ca, heartbeatMs },
      })
      const outcome = await outcomeOf(session(greeting.played(4)))
      await proxy.close()
      return outcome
    }),
  )
  for (const { events, end } of texts) {
    expect(end).toBe('complete')
    expect(transcriptOfEvents(events, 0).milestones).toEqual([turnsOf(0)[0]])
    expect(events.filter((event) => event.type === 'connection' && event.state === 'reconnecting')).toEqual([])
  }
}

const besideSessions = async (load: () => Promise<LoadOutcome>): Promise<LoadOutcome> => {
  const [outcome] = await Promise.all([load(), expectGreeting()])
  return outcome
}

// Thousands of requests, and an engine beside them.
describe.skipIf(h2loadPackage.areAbsent)(h2loadPackage.title('a service under h2load'), () => {
  it('answers 2000 streams with an invalid token, one by one, and keeps its sessions', async () => {
    await started()
    const body = await file('start', startMessage('wrong'))
    const url = `https://${live.service.access.grpc}/dataflow/Stream`
    const load = { requests: 2_000, connections: 10, streams: 20, headers: grpcHeaders, body }
    const { statuses, unanswered } = await besideSessions(() => h2load(url, load))
    expect({ statuses, unanswered }).toEqual({ statuses: { 200: 2_000 }, unanswered: 0 })
  })

  it('survives 3000 requests of unknown methods', async () => {
    await started()
    const url = `https://${live.service.access.grpc}/nothing`
    const { statuses } = await besideSessions(() => h2load(url, { requests: 3_000, connections: 10, streams: 20 }))
    expect(Object.keys(statuses).filter((status) => status.startsWith('5'))).toEqual([])
    await expectGreeting()
  })

  it('accepts no more connections of an address than its limit, and all of them once the others are closed', async () => {
    await started()
    const body = await file('start', startMessage('wrong'))
    const url = `https://${live.service.access.grpc}/dataflow/Stream`
    const connections = connectionsPerAddress * 3
    // So many that the first connections are still open when the last ones are opened.
    const requests = connections * 10
    const { statuses, unanswered } = await h2load(url, { requests, connections, headers: grpcHeaders, body })
    // The same number again is refused with a reason, the rest is cut.
    expect(statuses).toEqual({ 200: requests - unanswered })
    expect(unanswered).toBeGreaterThan(0)
    await expectGreeting()
  })

  it('checks as many invalid secrets as configured, and refuses the others immediately', async () => {
    await started()
    const { authUrl, clientId } = live.service.access
    const form = {
      client_id: clientId,
      client_secret: 'wrong',
      grant_type: 'client_credentials',
      scope: 'Ldm_Integration',
    }
    const body = await file('form', new URLSearchParams(form).toString())
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const { statuses, unanswered } = await besideSessions(() =>
      h2load(`${authUrl}/connect/token`, { requests: 1_000, connections: 20, http1: true, headers, body }),
    )
    expect(unanswered).toBe(0)
    const { 401: refused = 0, 429: late = 0, ...others } = statuses
    expect(others).toEqual({})
    // Two are checked concurrently, so the last check may have started before the limit was known to be exceeded.
    expect(refused).toBeGreaterThanOrEqual(failuresPerMinute)
    expect(refused).toBeLessThanOrEqual(failuresPerMinute + 1)
    expect(late).toBe(1_000 - refused)
  })

  it('answers requests for health, keys, and unknown paths', async () => {
    await started()
    const { authUrl } = live.service.access
    const operations = live.service.operationsUrl ?? ''
    const load = { requests: 1_000, connections: 20, http1: true }
    // It is ready once its first engine is loaded.
    await expect.poll(async () => (await fetch(`${operations}/readyz`)).status).toBe(200)
    expect((await h2load(`${operations}/livez`, load)).statuses).toEqual({ 200: 1_000 })
    expect((await h2load(`${operations}/readyz`, load)).statuses).toEqual({ 200: 1_000 })
    expect((await h2load(`${authUrl}/jwks`, load)).statuses).toEqual({ 200: 1_000 })
    expect((await besideSessions(() => h2load(`${authUrl}/nothing`, load))).statuses).toEqual({ 404: 1_000 })
  })
})
