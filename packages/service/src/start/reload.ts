import type { ModelChanges, ModelRegistry } from 'rxspeech-engines/models/model-registry'
import { expiryMsOf, type RenewableCertificate } from 'rxspeech-server/listen/renewable-certificate'
import type { Logger } from 'rxspeech-server/operations/logger'
import { isSpeechError, SpeechError, toSpeechError } from 'rxspeech/internal/errors/speech-error'
import { checkDefaultModel, type ServiceProjects } from './models-and-projects.js'
import type { ServiceOptions } from '../configuration/service-options.js'

/** What a reload did. */
export type ReloadResult =
  /** New sessions get the new models and projects. `projects`: how many there are now. */
  | { readonly isReloaded: true; readonly models: ModelChanges; readonly projects: number }
  /** Nothing has changed. */
  | { readonly isReloaded: false; readonly problems: readonly SpeechError[] }

/** What was read again. Without problems it can be committed, and otherwise is discarded. */
export interface PreparedReload {
  readonly problems: readonly SpeechError[]
  readonly models: ModelChanges
  readonly projects: number
  /** Equal in all processes that have read the same files. */
  readonly fingerprint: string
  readonly commit: () => void
  readonly discard: () => void
}

export interface ReloadableParts {
  readonly models: ModelRegistry
  readonly projects: ServiceProjects
  readonly options: Pick<ServiceOptions, 'natsEngines'>
  /** Whether new models are loaded in this process. @default true */
  readonly loads?: boolean | undefined
}

/** Reads models and projects again, and checks them. Rejects with the error of a folder that cannot be read. */
export const prepareReload = async (parts: ReloadableParts): Promise<PreparedReload> => {
  const { models, projects, options, loads } = parts
  if (models.prepareReload === undefined) throw new SpeechError('internal', 'These models cannot be reloaded.')
  const prepared = await models.prepareReload({ loads })
  try {
    // With engine processes the default model may come and go.
    if (options.natsEngines === undefined) checkDefaultModel(prepared, projects.defaultModel)
    const found = await projects.prepareReload(prepared)
    return {
      problems: [...prepared.problems, ...found.problems],
      models: prepared.changes,
      projects: found.count,
      fingerprint: `${prepared.fingerprint}\n${found.fingerprint}`,
      commit: () => {
        prepared.commit()
        found.commit()
      },
      discard: prepared.discard,
    }
  } catch (error) {
    prepared.discard()
    throw error
  }
}

/** The same, and the certificate of the listeners, read again. */
export const withCertificateReload = <Prepared extends PreparedReload>(
  prepared: Prepared,
  certificate: RenewableCertificate | undefined,
  logger: Logger | undefined,
): Prepared => {
  try {
    const renew = certificate?.prepareRenewal()
    if (certificate === undefined || renew === undefined) return prepared
    const commit = (): void => {
      prepared.commit()
      renew()
      const validUntil = new Date(expiryMsOf(certificate)).toISOString()
      logger?.log('info', 'New connections get the renewed certificate.', { validUntil })
    }
    return { ...prepared, commit }
  } catch (error) {
    const problem = toSpeechError(error, 'invalid-options', 'The certificate and its key could not be read again.')
    return { ...prepared, problems: [...prepared.problems, problem] }
  }
}

export interface ReloaderOptions {
  /** Reads everything again; the result says whether it is used. */
  readonly run: () => Promise<ReloadResult>
  readonly logger?: Logger | undefined
  /** Called with the outcome of each reload. */
  readonly onOutcome?: ((outcome: 'reloaded' | 'refused') => void) | undefined
}

/** One reload at a time. Requests meanwhile become one reload, which begins afterwards and sees the latest files. */
export class Reloader {
  readonly #options: ReloaderOptions
  #running: Promise<ReloadResult> | undefined
  #next: Promise<ReloadResult> | undefined
  #isClosed = false

  constructor(options: ReloaderOptions) {
    this.#options = options
  }

  /** Never rejects. */
  reload(): Promise<ReloadResult> {
    if (this.#running === undefined) return this.#start()
    this.#next ??= this.#running.then(() => this.#start())
    return this.#next
  }

  /** Refuses reloads from now on. One that runs is refused when it is ready. */
  close(): void {
    this.#isClosed = true
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  #start(): Promise<ReloadResult> {
    this.#next = undefined
    const running = this.#run().finally(() => {
      if (this.#running === running) this.#running = undefined
    })
    this.#running = running
    return running
  }

  async #run(): Promise<ReloadResult> {
    const { run, logger, onOutcome } = this.#options
    const result = this.#isClosed
      ? refused([closing()])
      : await run().catch((error: unknown) =>
          refused([toSpeechError(error, 'internal', 'The models and projects could not be read.')]),
        )
    onOutcome?.(result.isReloaded ? 'reloaded' : 'refused')
    if (logger !== undefined) logReload(logger, result)
    return result
  }
}

/** Uses what was prepared, if nothing is wrong with it. */
export const finishReload = (prepared: PreparedReload, isClosed: boolean): ReloadResult => {
  const problems = isClosed ? [closing()] : prepared.problems
  if (problems.length > 0) {
    prepared.discard()
    return refused(problems)
  }
  prepared.commit()
  return { isReloaded: true, models: prepared.models, projects: prepared.projects }
}

export const refused = (problems: readonly SpeechError[]): ReloadResult => ({ isReloaded: false, problems })

const closing = (): SpeechError => new SpeechError('going-away', 'The service is closing, so nothing was reloaded.')

const logReload = (logger: Logger, result: ReloadResult): void => {
  if (result.isReloaded) {
    const { models, projects } = result
    const listOf = (labels: readonly string[]): string => (labels.length === 0 ? 'none' : labels.join(', '))
    logger.log('info', 'Models, projects and certificates were reloaded. All other settings need a restart.', {
      added: listOf(models.added),
      changed: listOf(models.changed),
      removed: listOf(models.removed),
      projects,
    })
    return
  }
  for (const { code, message, cause } of result.problems) {
    logger.log('error', message, { code, ...(isSpeechError(cause) && { cause: cause.message }) })
  }
  logger.log('error', 'The reload was refused, and what was there before it serves on.', {
    faults: result.problems.length,
  })
}
