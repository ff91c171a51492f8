import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect as http2Connect, type ClientHttp2Session } from 'node:http2'
import { request } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import { connect as tlsConnect } from 'node:tls'
import { concat, defer, from, ignoreElements, map, tap } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  developmentCertificates,
  type DevelopmentCertificates,
} from '../../../server/src/identity/keys/development-certificates.js'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import { recognitionParameters } from '../../../../src/protocol/recognition-parameters.js'
import { outcomeOf } from '../../../../test/faults/proved-session.js'
import {
  expectSame,
  bothTransports,
  SpokenCall,
  statesOf,
  undisturbed,
  type CallOutcome,
} from '../faults/spoken-call.js'
import { freePort } from '../../../../test/transport/tcp-proxy.js'
import {
  adaptConfiguration,
  haproxyChanges,
  haproxyPackage,
  nginxChanges,
  nginxPackage,
  startHaproxy,
  startNginx,
  type Balancer,
  type Changes,
} from './balancer.js'
import { grpcHeaders, startMessage } from './grpc-message.js'
import { servedPair, type ServedPair } from './served-pair.js'
import { sessionOptions, type Over, type SpokenService } from './session-options.js'

let pair: ServedPair
/** The certificate of the balancer, which differs from that of the services. */
let own: DevelopmentCertificates
let call: SpokenCall
let reference: CallOutcome
beforeAll(async () => {
  // Faster than real time, to keep the tests short.
  pair = await servedPair({ limits: { maxPacePercent: 0, unstartedPerAddress: 20 }, trustedProxies: ['127.0.0.1'] })
  own = await developmentCertificates(join(pair.folder, 'balancer'))
  await pair.one.start()
  call = await SpokenCall.until(8_640)
  reference = await undisturbed(await pair.behind(pair.one, pair.certificates.ca), call)
})
afterAll(() => pair.close())

const sessionOver = (over: Over, service: SpokenService) => {
  const { grpc, websocket } = sessionOptions(service, call.format, 'call')
  const resumption = { firstDelayMs: 20, maxDelayMs: 200 }
  return over === 'grpc'
    ? dataflow({ ...grpc, finalizeBy: 'request', resumption })
    : recognize({ ...websocket, resumption })
}

const portOf = (address: string): string => address.slice(address.lastIndexOf(':') + 1)

/** The restaurant is at "evening", the guest at "table". */
const [reloadAtMs, stopAtMs] = [1_900, 5_500]

/**
 * A call over each transport, concurrently, both on one service. While the restaurant speaks the balancer is reloaded,
 * once both have begun: a session whose first connection is lost before that begins again, and does not resume.
 * Then the other service is started, and while the guest speaks the first one is stopped.
 */
const disturbed = async (service: SpokenService, reload: () => void): Promise<readonly CallOutcome[]> => {
  const [carrier, other] = pair.one.isRunning() ? [pair.one, pair.two] : [pair.two, pair.one]
  await other.stop()
  const [begun, restaurant, resumed, guest] = [meeting(), meeting(), meeting(), meeting()]
  const acts = Promise.all([
    Promise.all([begun.met, restaurant.met]).then(reload),
    resumed.met.then(other.start),
    Promise.all([resumed.met, guest.met]).then(carrier.stop),
  ])
  // Also if they are late: what ends during the call has ended before its end.
  const endOfCall$ = defer(() => acts).pipe(ignoreElements())
  const outcome = await Promise.all(
    bothTransports.map(async (over) => {
      const spoken$ = concat(call.played(1), endOfCall$).pipe(
        map((chunk, index) => {
          if (index === reloadAtMs / 20) restaurant.arrive(over)
          if (index === stopAtMs / 20) guest.arrive(over)
          return chunk
        }),
      )
      const session$ = sessionOver(
        over,
        service,
      )(spoken$).pipe(
        tap((event) => {
          if (event.type === 'connection' && event.state === 'streaming') begun.arrive(over)
          if (event.type === 'resumed') resumed.arrive(over)
        }),
      )
      const ended = await outcomeOf(session$)
      // A session that has failed must not keep the other one waiting for it.
      for (const each of [begun, restaurant, resumed, guest]) each.arrive(over)
      return { over, ...ended }
    }),
  )
  return outcome
}

/** Resolves once the sessions of both transports have arrived. */
const meeting = (): { readonly met: Promise<void>; readonly arrive: (over: Over) => void } => {
  const missing = new Set(bothTransports)
  let meet = (): void => undefined
  const met = new Promise<void>((resolve) => (meet = resolve))
  return {
    met,
    arrive: (over) => {
      missing.delete(over)
      if (missing.size === 0) meet()
    },
  }
}

/** A drained recognition ends in a pause, and the next segment begins there at the earliest: it may lack audio before its speech. */
const expectComplete = (outcome: readonly CallOutcome[]): void => {
  for (const message of outcome) {
    expectSame(message, reference, call, recognitionParameters.preSpeechBufferMs.default)
    expect(statesOf(message.events)).toContain('resumed')
  }
}

/** From another address of this machine, with an invalid secret. */
const askForToken = (wsUrl: string, localAddress: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const form = {
      client_id: 'acme',
      client_secret: 'wrong',
      grant_type: 'client_credentials',
      scope: 'Ldm_Integration',
    }
    const { hostname, port } = new URL(wsUrl)
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const options = { method: 'POST', hostname, port, path: '/connect/token', localAddress, headers }
    request({ ...options, rejectUnauthorized: false, agent: false }, (response) => {
      response.resume().once('end', resolve)
    })
      .once('error', reject)
      .end(new URLSearchParams(form).toString())
  })

/** A connection from another address of this machine. */
const http2From = (address: string, localAddress: string): ClientHttp2Session => {
  const [host = '', port = ''] = address.split(':')
  const socket = tlsConnect({
    socket: connect({ host, port: Number(port), localAddress }),
    rejectUnauthorized: false,
    ALPNProtocols: ['h2'],
  })
  return http2Connect(`https://${address}`, { createConnection: () => socket })
}

const dataflowRequest = { ':method': 'POST', ':path': '/dataflow/Stream', ...grpcHeaders } as const

/** From another address of this machine, with an invalid token. */
const startStream = async (address: string, localAddress: string): Promise<void> => {
  const session = http2From(address, localAddress)
  const stream = session.request(dataflowRequest)
  stream.end(startMessage('wrong'))
  await once(stream.resume(), 'close')
  session.close()
  await once(session, 'close')
}

/** Streams of one connection that send nothing. */
const silentStreams = (address: string, localAddress: string, count: number) => {
  const session = http2From(address, localAddress)
  const streams = Array.from({ length: count }, () =>
    session
      .request(dataflowRequest)
      .on('error', () => undefined)
      .resume(),
  )
  return {
    refused: Promise.race(streams.map((stream) => once(stream, 'response'))),
    close: () => session.destroy(),
  }
}

describe.skipIf(nginxPackage.areAbsent)(nginxPackage.title('behind nginx'), () => {
  let nginx: Balancer | undefined
  let service: SpokenService
  beforeAll(async () => {
    const port = await freePort()
    const { folder, certificates, one: item, two } = pair
    await writeFile(join(folder, 'chain.pem'), own.certificate)
    await writeFile(join(folder, 'key.pem'), own.key, { mode: 0o600 })
    await writeFile(join(folder, 'services-ca.pem'), certificates.ca)
    const changes: Changes = [
      ...nginxChanges(folder, port),
      ['127.0.0.1:8443', item.http],
      ['127.0.0.1:8543', two.http],
      ['127.0.0.1:8444', item.grpc],
      ['127.0.0.1:8544', two.grpc],
      ['speech.internal', 'localhost'],
    ]
    nginx = await startNginx(await adaptConfiguration('nginx.conf', changes, folder), folder, port)
    const address = `127.0.0.1:${port}`
    service = await pair.behind({ http: address, grpc: address }, own.ca)
  })
  afterAll(() => nginx?.close())

  it('loses no word of a call, over either transport, when it is reloaded and then a service is stopped', async () => {
    expectComplete(await disturbed(service, () => nginx?.reload()))
  })

  it('forwards the address of a client that requests a token, or opens a stream', async () => {
    await askForToken(service.service.access.wsUrl, '127.0.0.7')
    await startStream(service.service.access.grpc, '127.0.0.8')
    await expect.poll(() => pair.rejectedPeers()).toEqual(expect.arrayContaining(['127.0.0.7', '127.0.0.8']))
  })

  it('lets no stranger take the places of others by silent streams', async () => {
    const stranger = silentStreams(service.service.access.grpc, '127.0.0.9', 100)
    // Beyond its own places the stranger is refused.
    await stranger.refused
    await startStream(service.service.access.grpc, '127.0.0.10')
    await expect.poll(() => pair.rejectedPeers()).toContain('127.0.0.10')
    stranger.close()
  })

  it('passes a stream of more than the 1 MiB that nginx accepts as body by default', async () => {
    const messages = Array.from({ length: 40 }, () => new Uint8Array(32_000))
    const { grpc } = sessionOptions(service, { encoding: 'pcm', sampleRateHz: 8000, channels: 2 }, 'call')
    const { events, end } = await outcomeOf(dataflow(grpc)(from(messages)))
    expect(end).toBe('complete')
    // The engines of one core may still be busy with the calls before.
    const reconnects = events.flatMap((event) => (event.type === 'connection' && 'cause' in event ? event.cause : []))
    expect(reconnects.filter((cause) => cause !== 'overloaded')).toEqual([])
    expect(events.filter(({ type }) => type === 'final')).toHaveLength(2)
  })
})

describe.skipIf(haproxyPackage.areAbsent)(haproxyPackage.title('behind HAProxy'), () => {
  let haproxy: Balancer | undefined
  let service: SpokenService
  beforeAll(async () => {
    const ports = [await freePort(), await freePort()] as const
    const { folder, certificates, one: item, two } = pair
    const changes: Changes = [
      ...haproxyChanges(ports),
      ['127.0.0.1:8443', item.http],
      ['127.0.0.1:8543', two.http],
      ['127.0.0.1:8444', item.grpc],
      ['127.0.0.1:8544', two.grpc],
      ['port 9464', `port ${portOf(item.operations)}`],
      ['port 9564', `port ${portOf(two.operations)}`],
    ]
    haproxy = await startHaproxy(await adaptConfiguration('haproxy.cfg', changes, folder), ports)
    service = await pair.behind({ http: `127.0.0.1:${ports[0]}`, grpc: `127.0.0.1:${ports[1]}` }, certificates.ca)
  })
  afterAll(() => haproxy?.close())

  it('forwards the addresses of clients', async () => {
    const { access } = service.service
    await askForToken(access.wsUrl, '127.0.0.5')
    await startStream(access.grpc, '127.0.0.6')
    await expect.poll(() => pair.rejectedPeers()).toEqual(expect.arrayContaining(['127.0.0.5', '127.0.0.6']))
  })

  it('loses no word of a call, over either transport, when it is reloaded and then a service is stopped', async () => {
    expectComplete(await disturbed(service, () => haproxy?.reload()))
  })
})
