import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { defer, firstValueFrom, from, lastValueFrom, map, take, toArray } from 'rxjs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { decodeJwt } from 'jose'
import { keepFresh } from '../../../src/auth/keep-fresh.js'
import type { Token } from '../../../src/protocol/token.js'
import { recognize } from '../../../src/client/recognizer/recognize.js'
import type { LogFields } from '../../server/src/operations/logger.js'
import { spoken } from '../../server/test/sessions/spoken.js'
import { converse } from './interop/plain-dataflow-client.js'
import { openSocket, type PlainSocket, type SocketWay } from './interop/plain-socket-client.js'
import { plainService, recognizeOf, startOf, type PlainService } from './plain-service.js'
import { serviceOfWorkers } from './workers/service-of-workers.js'

const page = 'https://www.example.com'

type Fields = readonly (readonly [name: string, value: string])[]

const pageToken = async (authUrl: string, token: string, fields: Fields = []): Promise<string> => {
  const answer = await fetch(`${authUrl}/connect/page-token`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: new URLSearchParams(fields.map(([name, value]) => [name, value])),
  })
  expect(answer.status).toBe(200)
  return ((await answer.json()) as { readonly access_token: string }).access_token
}

describe('the token of a page', () => {
  let service: PlainService
  const lines: string[] = []
  const opened: PlainSocket[] = []
  beforeAll(async () => {
    const log = (_level: string, message: string, fields?: LogFields): void => {
      lines.push(JSON.stringify({ message, ...fields }))
    }
    service = await plainService({ logger: { log }, tenants: ['Default', 'Acme'] })
  })
  let endBackend = (): void => undefined
  afterEach(() => {
    for (const socket of opened.splice(0)) socket.raw.terminate()
    endBackend()
  })
  afterAll(() => service.close())

  const minted = (fields: Fields = []): Promise<string> => pageToken(service.started.authUrl, service.token, fields)
  const open = async (way: SocketWay): Promise<PlainSocket> => {
    const socket = await openSocket(service, way)
    opened.push(socket)
    return socket
  }
  const start = (token: string, change = {}) =>
    converse(service, ({ request, end }) => {
      request(startOf(token, change))
      end()
    })

  it('opens sessions of the pages of its origin', async () => {
    const token = await minted([['origin', page]])
    for (const way of [{ token }, { withoutHeader: true, protocols: ['rxspeech', `bearer.${token}`] }]) {
      const socket = await open({ ...way, origin: page })
      socket.send(recognizeOf())
      expect(await socket.receive()).toMatchObject({ 'operation-result': 'Success' })
    }
  })

  it.each([
    ['another origin', 'https://evil.example'],
    ['another port', `${page}:8443`],
    ['another scheme', 'http://www.example.com'],
    ['a longer host', `${page}.evil.example`],
    ['the origin null', 'null'],
    ['no origin', undefined],
  ])('is refused for %s', async (_what, origin) => {
    const token = await minted([['origin', page]])
    await expect(open({ token, ...(origin !== undefined && { origin }) })).rejects.toThrow(
      /^HTTP 401: unauthenticated: The token is for the pages of another origin/,
    )
    const inBrowser = { withoutHeader: true, protocols: ['rxspeech', `bearer.${token}`] }
    const socket = await open({ ...inBrowser, ...(origin !== undefined && { origin }) })
    expect(await socket.receive()).toMatchObject({ close: 4401 })
  })

  it('is refused over gRPC, which has no origin, and accepted there without one', async () => {
    const bound = await start(await minted([['origin', page]]))
    expect(bound).toMatchObject({ status: 'UNAUTHENTICATED', events: [] })
    expect(await start(await minted())).toMatchObject({ status: 'OK' })
  })

  it('can be used by any client if it has no origin', async () => {
    const token = await minted()
    for (const origin of [page, undefined]) await open({ token, ...(origin !== undefined && { origin }) })
  })

  it('does not allow another tenant, project or model', async () => {
    const token = await minted([
      ['tenant', 'Acme'],
      ['project', 'transcribe'],
      ['model', 'n'],
    ])
    expect((await start(token)).responses[0]?.['operation-result']).toMatch(/^tenant-denied/)
    const other = await start(token, { Tenant: 'Acme', ProjectName: 'other' })
    expect(other.responses[0]?.['operation-result']).toMatch(/^project-denied/)
    const socket = await open({ token })
    socket.send(recognizeOf())
    expect((await socket.receive())['operation-result']).toMatch(/^model-denied/)
    socket.send(recognizeOf({ 'model-name': 'n', 'model-tenant': 'Acme' }))
    expect(await socket.receive()).toMatchObject({ 'operation-result': 'Success' })
  })

  it('ends its running sessions with the token that it was issued for', async () => {
    const parent = await service.newToken()
    const socket = await open({ token: await pageToken(service.started.authUrl, parent) })
    socket.send(recognizeOf())
    await socket.receive()
    await service.started.revoke(decodeJwt(parent).jti ?? '')
    expect(await socket.receive()).toMatchObject({
      'operation-result': expect.stringMatching(/^unauthenticated/) as string,
    })
    expect(await socket.receive()).toMatchObject({ close: 4401 })
  })

  it('appears in no line of the log', async () => {
    const token = await minted([['origin', page]])
    await expect(open({ token })).rejects.toThrow('HTTP 401')
    expect(lines.some((line) => line.includes('wrong-origin'))).toBe(true)
    expect(lines.filter((line) => line.includes(token) || line.includes('eyJ'))).toEqual([])
  })

  it('comes from the backend of the page, and keepFresh renews it there', async () => {
    const issued: string[] = []
    // The backend of a page: it has the secret, knows its user, and answers what the service answers.
    const backend = createServer((_request, response) => {
      const fields: Fields = [
        ['model', 'm'],
        ['lifetime', '60'],
      ]
      void pageToken(service.started.authUrl, service.token, fields).then((token) => {
        issued.push(token)
        response.end(JSON.stringify({ access_token: token, expires_in: 1, token_type: 'Bearer' }))
      })
    })
    await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve))
    endBackend = () => {
      backend.close()
      backend.closeAllConnections()
    }
    const url = `http://127.0.0.1:${(backend.address() as AddressInfo).port}/speech-token`

    interface Answer {
      readonly access_token: string
      readonly expires_in: number
    }
    const token$ = defer(() => fetch(url, { method: 'POST' }).then((answer) => answer.json() as Promise<Answer>)).pipe(
      map(({ access_token, expires_in }): Token => {
        return { accessToken: access_token, tokenType: 'Bearer', expiresAtMs: Date.now() + expires_in * 1000 }
      }),
      keepFresh(),
    )
    const [first, second] = await firstValueFrom(token$.pipe(take(2), toArray()))
    expect([first?.accessToken, second?.accessToken]).toEqual(issued)
    expect(new Set(issued).size).toBe(2)
    const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
    const events$ = recognize({ url: service.started.wsUrl, model: 'm', token: token$, format })(
      from([await spoken(4_000)]),
    )
    const events = await lastValueFrom(events$.pipe(toArray()))
    expect(events.some((event) => event.type === 'milestone' && event.text === 'hello world')).toBe(true)
  })
})

describe('with two worker processes the token of a page', () => {
  it('is issued, and refused for another origin', async () => {
    const live = await serviceOfWorkers()
    try {
      const { access } = live.service
      const { nodeFetch } = await import('../../../src/auth/node-fetch.js')
      const answer = await lastValueFrom(
        from(
          nodeFetch({ ca: live.ca })(`${access.authUrl}/connect/page-token`, {
            method: 'POST',
            headers: { authorization: `Bearer ${live.token}`, 'content-type': 'application/x-www-form-urlencoded' },
            body: new URLSearchParams({ origin: page }).toString(),
            redirect: 'manual',
            signal: AbortSignal.timeout(10_000),
          }),
        ),
      )
      expect(answer.status).toBe(200)
      const chunks: Uint8Array[] = []
      for await (const chunk of answer.body as AsyncIterable<Uint8Array>) chunks.push(chunk)
      const { access_token: token } = JSON.parse(Buffer.concat(chunks).toString()) as { readonly access_token: string }
      const socket = await openSocket(live, { token, origin: page })
      socket.raw.terminate()
      await expect(openSocket(live, { token, origin: 'https://evil.example' })).rejects.toThrow('HTTP 401')
      await expect(openSocket(live, { token })).rejects.toThrow('HTTP 401')
    } finally {
      await live.close()
    }
  })
})
