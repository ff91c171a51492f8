import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hashSecret } from '../../server/src/identity/clients/client-secret.js'
import { memoryClients, type ClientRegistration } from '../../server/src/identity/clients/client.js'
import type { Engine, EngineKind } from '../../engines/src/engine.js'
import type { ServiceOptions } from '../src/configuration/service-options.js'
import type { Service } from '../src/start/running-service.js'
import { startService } from '../src/start/service.js'
import { scriptedEngine } from '../src/testing/scripted-engine.js'
import type { Reachable } from './interop/live-service.js'

export const plainSecret = 'correct horse battery staple'

/** A service in plain text on loopback whose models `m` (tenant `Default`) and `n` (tenant `Acme`) are scripted. */
export interface PlainService extends Reachable {
  readonly started: Service
  readonly faults: readonly unknown[]
  /** A token of the subscription with all rights; or of another. */
  readonly newToken: (clientId?: string) => Promise<string>
  readonly close: () => Promise<void>
}

export const subscriptionOf = async (
  clientId: string,
  change: Partial<ClientRegistration> = {},
): Promise<ClientRegistration> => ({
  clientId,
  secretHash: await hashSecret(plainSecret),
  tenants: ['*'],
  projects: ['*'],
  models: ['*'],
  validFromMs: 0,
  validUntilMs: Infinity,
  cancelled: false,
  ...change,
})

/**
 * The service runs in the process of its test, which keeps the loop busy by itself, beside other tests on the same
 * processors: without these it would refuse sessions then. Tests of a limit set it.
 */
export const noLoadLimits = { maxLoadPercent: 0, maxLoopDelayMs: 0, maxEngineDelayMs: 0 } as const

const modelFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'rxspeech-models-'))
  for (const model of ['Default/m/1', 'Default/paced/1', 'Acme/n/1', 'Default/broken/1']) {
    await mkdir(join(folder, model), { recursive: true })
    await writeFile(
      join(folder, model, 'model.json'),
      JSON.stringify({ engine: model.includes('broken') ? 'none' : 'scripted', batch: !model.includes('paced') }),
    )
  }
  return folder
}

/** The port of its gRPC interface. */
export const grpcPortOf = ({ started }: Pick<PlainService, 'started'>): number =>
  Number(started.grpcAddress.split(':').at(-1))

export const plainService = async (
  options: Partial<ServiceOptions> = {},
  others: readonly ClientRegistration[] = [],
  engine: Engine = scriptedEngine({ texts: ['hello world'] }),
): Promise<PlainService> => {
  const folder = await modelFolder()
  const faults: unknown[] = []
  const scripted: EngineKind = { name: 'scripted', open: () => Promise.resolve(engine) }
  const started = await startService({
    clients: memoryClients([await subscriptionOf('client'), ...others]),
    modelFolders: [folder],
    engines: [scripted],
    defaultModel: 'm',
    onFault: (error) => faults.push(error),
    ...options,
    limits: { ...noLoadLimits, ...options.limits },
  })
  const newToken = async (clientId = 'client'): Promise<string> => {
    const form = {
      client_id: clientId,
      client_secret: plainSecret,
      grant_type: 'client_credentials',
      scope: 'Ldm_Integration',
    }
    const answer = await fetch(`${started.authUrl}/connect/token`, { method: 'POST', body: new URLSearchParams(form) })
    return ((await answer.json()) as { readonly access_token: string }).access_token
  }
  return {
    started,
    service: { access: { wsUrl: started.wsUrl, grpc: started.grpcAddress } },
    faults,
    token: await newToken(),
    newToken,
    close: async () => {
      await started.close({ drainMs: 1_000 })
      await rm(folder, { recursive: true })
    },
  }
}

export const startOf = (token: string, change: Readonly<Record<string, unknown>> = {}) => ({
  MessageName: 'Start',
  Audio: { SampleRate: 8000, ChannelCount: 1, Encoding: 'pcm' },
  Tenant: 'Default',
  Token: token,
  ProjectName: 'transcribe',
  ...change,
})

export const recognizeOf = (change: Readonly<Record<string, unknown>> = {}) => ({
  'message-name': 'recognize',
  'audio-format': 'pcm',
  'sample-rate': 8000,
  'model-name': 'm',
  'vad-graceful-silence-threshold-msec': 0,
  ...change,
})
