import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { get } from 'node:https'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { connect } from 'node:tls'
import { firstValueFrom } from 'rxjs'
import { afterEach, expect, it } from 'vitest'
import { developmentCertificates } from '../../server/src/identity/keys/development-certificates.js'
import { memoryClients } from '../../server/src/identity/clients/client.js'
import { nodeFetch } from '../../../src/auth/node-fetch.js'
import { requestToken } from '../../../src/auth/request-token.js'
import { folderOfTest } from '../../../test/temporary-folder.js'
import { longIt } from '../../../test/thorough.js'
import { readServerCertificate } from '../src/cli/service/certificate-files.js'
import type { Service } from '../src/start/running-service.js'
import { startService } from '../src/start/service.js'
import { callModels } from './interop/live-service.js'
import { openStream, plainClient } from './interop/plain-dataflow-client.js'
import { openSocket } from './interop/plain-socket-client.js'
import { noLoadLimits, plainSecret, recognizeOf, startOf, subscriptionOf } from './plain-service.js'

const dayMs = 86_400_000
const anyPort = { host: '127.0.0.1', port: 0 }

let close = (): Promise<void> => Promise.resolve()
afterEach(() => close())

/** A service with its certificate in files, the first of two, and what it logs. */
const serviceWithFiles = async (workers: number) => {
  const folder = folderOfTest()
  const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
  // The second one has less time left, so that the metric tells them apart.
  const pairs = await Promise.all(
    [0, 100].map(async (days) => {
      await mkdir(join(folder, String(days)))
      return developmentCertificates(join(folder, String(days)), { now: () => Date.now() - days * dayMs })
    }),
  )
  const [first, second] = pairs
  if (first === undefined || second === undefined) throw new Error('Two certificates were made.')
  const put = async ({ certificate, key }: Pick<typeof first, 'certificate' | 'key'>): Promise<void> => {
    await writeFile(files.certFile, certificate)
    await writeFile(files.keyFile, key)
  }
  await put(first)
  const lines: string[] = []
  const service = await startService({
    workers,
    http: anyPort,
    grpc: anyPort,
    operations: { host: '0.0.0.0', port: 0 },
    certificate: readServerCertificate(files),
    clients: memoryClients([await subscriptionOf('client')]),
    modelFolders: [callModels],
    defaultModel: 'call',
    limits: noLoadLimits,
    logger: { log: (_level, message) => lines.push(message) },
  })
  close = () => service.close({ drainMs: 100 })
  return { service, first, second, put, lines }
}

/** The certificate that a new connection gets at each address. */
const shownBy = ({ authUrl, grpcAddress, operationsUrl }: Service): Promise<readonly string[]> =>
  Promise.all(
    [authUrl, `https://${grpcAddress}`, String(operationsUrl)].map(async (url) => {
      const options = { host: '127.0.0.1', port: Number(new URL(url).port), rejectUnauthorized: false }
      const socket = connect({ ...options, ALPNProtocols: ['h2', 'http/1.1'] })
      await once(socket, 'secureConnect')
      const { raw } = socket.getPeerCertificate()
      socket.destroy()
      return raw.toString('base64')
    }),
  )

const everywhere = ({ certificate }: { readonly certificate: string }): readonly string[] => {
  const base64 = certificate.replaceAll(/-----[^-]+-----|\s/g, '')
  return [base64, base64, base64]
}

const daysLeft = async ({ operationsUrl }: Service, ca: string): Promise<number> => {
  const [response] = (await once(get(`${String(operationsUrl)}/metrics`, { ca, agent: false }), 'response')) as [
    Readable,
  ]
  const [, seconds] =
    /^rxspeech_certificate_expiry_seconds\{listener="service"\} (.+)$/m.exec(await text(response)) ?? []
  return Math.round((Number(seconds) * 1000) / dayMs)
}

const renewal = async (workers: number): Promise<void> => {
  const { service, first, second, put, lines } = await serviceWithFiles(workers)
  expect(await shownBy(service)).toEqual(everywhere(first))
  expect(await daysLeft(service, first.ca)).toBe(365)

  const credentials = { authUrl: service.authUrl, clientId: 'client', clientSecret: plainSecret }
  const ca = Buffer.from(first.ca)
  const { accessToken: token } = await firstValueFrom(requestToken({ ...credentials, fetch: nodeFetch({ ca }) }))
  const reachable = { service: { access: { wsUrl: service.wsUrl, grpc: service.grpcAddress } }, ca, token }
  const socket = await openSocket(reachable)
  socket.send(recognizeOf({ 'model-name': 'call' }))
  expect(await socket.receive()).toMatchObject({ 'operation-result': 'Success' })
  const client = plainClient(reachable)
  const { request, answered, stream, ended } = openStream(client)
  request(startOf(token))
  await answered

  await put({ certificate: second.certificate, key: first.key })
  expect(await service.reload()).toMatchObject({
    isReloaded: false,
    problems: [{ code: 'invalid-options', message: expect.stringContaining('belong together') as unknown }],
  })
  await put({ certificate: 'no certificate', key: second.key })
  expect(await service.reload()).toMatchObject({
    problems: [
      { message: expect.stringMatching(/^--cert names .+, which contains no certificate in PEM\.$/) as unknown },
    ],
  })
  expect(await shownBy(service)).toEqual(everywhere(first))

  await put(second)
  expect(await service.reload()).toMatchObject({ isReloaded: true })
  expect(await shownBy(service)).toEqual(everywhere(second))
  expect(await daysLeft(service, second.ca)).toBe(265)
  expect(await service.reload()).toMatchObject({ isReloaded: true })
  expect(lines.filter((line) => line === 'New connections get the renewed certificate.')).toHaveLength(1)

  socket.send({ 'message-name': 'finalize-recognition' })
  expect(await socket.receive()).toMatchObject({ 'operation-result': 'Success' })
  stream.end()
  expect(await ended).toMatchObject({ status: 'OK' })
  socket.close()
  client.close()
}

it('gives new connections of all listeners the renewed certificate at a reload, and ends no session', () => renewal(1))

longIt('does so in worker processes', () => renewal(2))
