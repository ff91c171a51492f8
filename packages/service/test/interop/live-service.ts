import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { firstValueFrom } from 'rxjs'
import { nodeFetch } from '../../../../src/auth/node-fetch.js'
import { requestToken } from '../../../../src/auth/request-token.js'
import {
  startDevelopmentService,
  type DevelopmentService,
  type ServiceAccess,
} from '../../src/start/development-service.js'
import type { ServiceOptions } from '../../src/configuration/service-options.js'
import { noLoadLimits } from '../plain-service.js'

/** What a client must know; without a CA it uses plain text. */
export interface Reachable {
  readonly service: { readonly access: Pick<ServiceAccess, 'wsUrl' | 'grpc'> }
  readonly ca?: Buffer
  readonly token: string
}

/** A development service on free ports with a token, as an independent client would use it. */
export interface LiveService extends Reachable {
  readonly service: DevelopmentService
  readonly ca: Buffer
  readonly token: string
  readonly close: () => Promise<void>
}

/** A model with only the sentences of the sample call, which decodes the call in a quarter of the time. */
export const callModels = 'packages/service/test/faults/models'

/** The options of `requestToken` for an access. */
export const credentialsOf = ({ authUrl, clientId, clientSecret }: ServiceAccess) => ({
  authUrl,
  clientId,
  clientSecret,
})

export const liveService = async (options: Partial<ServiceOptions> = {}): Promise<LiveService> => {
  const stateFolder = await mkdtemp(join(tmpdir(), 'rxspeech-'))
  const limits = { ...noLoadLimits, ...options.limits }
  const service = await startDevelopmentService({ modelFolders: [callModels], ...options, limits, stateFolder })
  const { access } = service
  const ca = await readFile(access.ca)
  const { accessToken } = await firstValueFrom(requestToken({ ...credentialsOf(access), fetch: nodeFetch({ ca }) }))
  return {
    service,
    ca,
    token: accessToken,
    close: async () => {
      await service.close({ drainMs: 1_000 })
      await rm(stateFolder, { recursive: true })
    },
  }
}
