import { rmSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isSpeechError } from '../../errors/speech-error.js'
import { usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import { sampleModels } from '../process/package-files.js'
import type { ModelRegistry } from '../../service/engine/model-registry.js'
import type { Access, ModelChoice } from './access.js'
import { chooseModel, type ModelSelection } from './choose-model.js'

export interface EmbeddedOptions extends ModelSelection {
  /** Folders of models, before that of the package. */
  readonly modelFolders: readonly string[]
  readonly tenant: string
  readonly project: string
}

export interface EmbeddedService {
  readonly access: Access
  /** Drops what runs, ends the service and takes its files away. Idempotent. */
  readonly close: () => Promise<void>
}

/**
 * Starts the whole service in this process, with TLS of its own and its state in a folder that lives as long as it.
 * Loads the service only when called. Rejects with `invalid-options` when there is no model as wished.
 */
export const startEmbedded = async (
  { modelFolders, tenant, project, ...wish }: EmbeddedOptions,
  host: Pick<Host, 'onExit' | 'env'>,
): Promise<EmbeddedService> => {
  const { startDevelopmentService } = await import('../../service/start/development-service.js')
  const stateFolder = await mkdtemp(join(tmpdir(), 'rxspeech-')).catch((error: unknown) => {
    throw usageError(`The folder for temporary files ${tmpdir()} cannot be written to; set TMPDIR to another.`, error)
  })
  const offExit = host.onExit(() => rmSync(stateFolder, { recursive: true, force: true }))
  const opened: (() => Promise<unknown>)[] = [() => rm(stateFolder, { recursive: true, force: true })]
  let closing: Promise<void> | undefined
  const close = (): Promise<void> =>
    (closing ??= (async () => {
      for (const one of opened.reverse()) await one()
      offExit()
    })())
  try {
    const service = await startDevelopmentService({
      stateFolder,
      env: host.env,
      modelFolders: [...modelFolders, sampleModels()],
      tenants: [tenant],
    })
    opened.push(() => service.close({ drainMs: 0 }))
    const { authUrl, wsUrl, grpc, ca, clientId, clientSecret } = service.access
    const model = chooseModel(service.models, modelFolders, wish)
    await loadFirst(service.models, model)
    return {
      access: {
        url: wsUrl,
        grpc,
        isPlaintext: false,
        // It is in this process.
        proxy: false,
        ca: await readFile(ca, 'utf8'),
        credentials: { type: 'client', authUrl, clientId, clientSecret },
        tenant,
        project,
        model,
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Before any audio goes out, so that a fault in the model's files is told as it is, by `invalid-model`. */
const loadFirst = async (models: ModelRegistry, { name, tenant = 'Default' }: ModelChoice): Promise<void> => {
  const model = models.find({ tenant, name })
  if (model === undefined) return
  await models.engine(model).catch((error: unknown) => {
    throw isSpeechError(error) && error.code === 'invalid-model' ? usageError(error.message, error) : error
  })
}
