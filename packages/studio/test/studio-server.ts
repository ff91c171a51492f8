import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { firstValueFrom } from 'rxjs'
import { requestToken } from '../../../src/index.js'
import { hashSecret, memoryClients, startService, type Service } from '../../service/src/index.js'
import { noLoadLimits } from '../../service/test/plain-service.js'
import { freePort } from '../../../test/transport/tcp-proxy.js'

/** The page of the studio with a real service behind it. */
export interface StudioServer {
  readonly url: string
  /** The service that runs now. */
  readonly service: Service
  /** Stops the service without a grace period, and starts another one at its addresses, which knows no token of it. */
  readonly restart: () => Promise<void>
  /** A token with all rights. */
  readonly token: () => Promise<string>
  readonly close: () => Promise<void>
}

const root = join(__dirname, '../../..')
const secret = 'a secret of at least 16 characters'
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.wav': 'audio/wav',
}

export interface StudioServerOptions {
  /** What `/studio/config.json` says instead. */
  readonly config?: Readonly<Record<string, unknown>>
}

export const startStudioServer = async ({ config = {} }: StudioServerOptions = {}): Promise<StudioServer> => {
  const client = {
    clientId: 'studio',
    secretHash: await hashSecret(secret),
    tenants: ['*'],
    projects: ['*'],
    models: ['*'],
  }
  const start = (port: number): Promise<Service> =>
    startService({
      http: { host: '127.0.0.1', port },
      operations: { host: '127.0.0.1', port: 0 },
      modelFolders: [join(root, 'samples/models')],
      limits: noLoadLimits,
      clients: memoryClients([{ ...client, validFromMs: 0, validUntilMs: Date.parse('2040-01-01'), cancelled: false }]),
    })
  const port = await freePort()
  let service = await start(port)
  const token = async (): Promise<string> => {
    const { authUrl } = service
    return (await firstValueFrom(requestToken({ authUrl, clientId: 'studio', clientSecret: secret }))).accessToken
  }
  const json = (response: ServerResponse, value: unknown): void => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(value))
  }
  const answer = async ({ url = '/' }: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.setHeader(
      'content-security-policy',
      "default-src 'self'; connect-src 'self' ws: wss:; media-src 'self' blob:",
    )
    switch (url) {
      case '/studio/config.json':
        json(response, {
          ws: service.wsUrl,
          token: '/studio/token',
          models: [{ name: service.defaultModel, version: '1', sampleRateHz: 8000 }],
          projects: ['transcribe'],
          sampleCall: '/studio/call.wav',
          metrics: '/metrics',
          operations: '/operations.json',
          ...config,
        })
        return
      case '/studio/token':
        json(response, { access_token: await token(), expires_in: 3600 })
        return
      case '/metrics':
      case '/operations.json':
        response.end(await (await fetch(`${service.operationsUrl ?? ''}${url}`)).text())
        return
      default: {
        const file =
          url === '/studio/call.wav'
            ? 'samples/call.wav'
            : join('packages/studio/dist', url === '/' ? 'index.html' : url)
        const content = await readFile(join(root, file))
        response.setHeader('content-type', types[extname(file)] ?? 'application/octet-stream').end(content)
      }
    }
  }
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.writeHead(404).end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    get service() {
      return service
    },
    restart: async () => {
      await service.close({ drainMs: 0 })
      service = await start(port)
    },
    token,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await service.close()
    },
  }
}
