import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ModelDescription } from '../../src/engine.js'
import { plainSecret, plainService, type PlainService } from '../../../service/test/plain-service.js'

/** A second service in this process, which recognizes cards with the embedded engine. */
export interface FarService {
  readonly service: PlainService
  /** A model of the engine `remote` that connects to it, with its secret in a file of its folder. */
  readonly model: (change?: Readonly<Record<string, unknown>>) => ModelDescription
  readonly close: () => Promise<void>
}

export const farService = async (): Promise<FarService> => {
  const service = await plainService({
    modelFolders: [join(__dirname, '../fixtures')],
    defaultModel: 'cards',
    development: true,
  })
  const folder = await mkdtemp(join(tmpdir(), 'rxspeech-remote-'))
  await writeFile(join(folder, 'secret'), `${plainSecret}\n`)
  await writeFile(join(folder, 'wrong'), 'a-secret-that-is-wrong')
  return {
    service,
    model: (change = {}) => ({
      tenant: 'Default',
      name: 'far',
      version: '1',
      folder,
      options: {
        engine: 'remote',
        url: service.started.wsUrl,
        authUrl: service.started.authUrl,
        clientId: 'client',
        secretFrom: { file: 'secret' },
        modelName: 'cards',
        sampleRateHz: 8000,
        ...change,
      },
    }),
    close: async () => {
      await service.close()
      await rm(folder, { recursive: true })
    },
  }
}
