import { statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { asyncScheduler, type Observable, type SchedulerLike } from 'rxjs'
import type { ModelRegistry } from 'rxspeech-engines/models/model-registry'
import { repairRecordings } from 'rxspeech-nodes/recordings/repair-recordings'
import type { RenewableCertificate } from 'rxspeech-server/listen/renewable-certificate'
import type { OperationsOptions } from 'rxspeech-server/operations/operations'
import type { ProjectRegistry } from 'rxspeech-server/project/project'
import { operationsPage } from 'rxspeech-server/studio/operations-page'
import { codeOf, isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { within } from 'rxspeech-engines/within'
import { isLoopback } from 'rxspeech/internal/protocol/loopback'
import { durationMs, optionsOf } from 'rxspeech/internal/protocol/validation'
import { loadDataflow } from 'rxspeech/internal/transport/grpc/proto'
import type { ReloadResult } from './reload.js'
import type { ServiceLimits, ServiceOptions } from '../configuration/service-options.js'

/** A running service. */
export interface Service {
  /** The base address of the token endpoint. */
  readonly authUrl: string
  /** The base address of the recognition socket, such as `ws://127.0.0.1:8080`. */
  readonly wsUrl: string
  /** The base address of both without TLS, such as `http://127.0.0.1:8080`, if `plainHttp` is set. */
  readonly plainUrl: string | undefined
  /** `host:port`. */
  readonly grpcAddress: string
  /** The models, as they were found when the service started or was last reloaded. */
  readonly models: ModelRegistry
  /** The projects, as they were found when the service started or was last reloaded. */
  readonly projects: ProjectRegistry
  /** The model of sessions that name none; undefined until there is one. */
  readonly defaultModel: string | undefined
  /** The base address of `/livez`, `/readyz`, `/metrics` and the page of operators, if `operations` is set. */
  readonly operationsUrl: string | undefined
  /** Emits once when `close` is called, also to later subscribers: from then on the service is not ready. */
  readonly draining$: Observable<undefined>
  /** Ends one token by its `jti`, and the sessions that use it. Settles when the revocation is stored. */
  revoke(tokenId: string): Promise<void>
  /**
   * Reads the folders of models and projects, and the certificate, again. New sessions and connections get what is there
   * now, and running ones keep what they have. If anything that is new or has changed has a fault, nothing changes at all, and the result says why. Never
   * rejects; reloads at the same time become one.
   *
   * @example
   * const result = await service.reload()
   * if (!result.isReloaded) for (const { message } of result.problems) console.error(message)
   */
  reload(): Promise<ReloadResult>
  /**
   * Drains and ends the service (PROTOCOL 5.11): refuses new sessions with `going-away`, finalizes each running session
   * at its next pause, at the latest 2 s before `drainMs` are over, and then ends what still runs. A client that does
   * not read its last messages is disconnected 3 s later. Rejects with `internal` if a part of the service, which the
   * error names, has not closed 8 s after that; the others are closed. Idempotent.
   */
  close(options?: ServiceCloseOptions): Promise<void>
}

/** The options of a service whose certificate can be renewed. */
export type RenewableOptions = ServiceOptions & { readonly certificate: RenewableCertificate | undefined }

/** How a service ends. */
export interface ServiceCloseOptions {
  /** How long the sessions may take, in milliseconds. @default 10_000 */
  readonly drainMs?: number | undefined
}

export const serviceCloseOptions = optionsOf<ServiceCloseOptions>()({}, { drainMs: durationMs(0) })

/** What to close, in the order of opening: its name in messages, and how. */
export type Opened = (readonly [what: string, close: () => Promise<void> | void])[]

/** Longer than any part takes that works: engines have 5 s, and spans 2 s. */
const closeWithinMs = 8_000

/**
 * Closes in reverse order, even if one fails or does not end in time; rejects with the first failure at the end, with
 * `internal` for a part that was late.
 */
export const closeAll = async (opened: Readonly<Opened>, scheduler: SchedulerLike = asyncScheduler): Promise<void> => {
  const failures: unknown[] = []
  for (const [what, close] of [...opened].reverse()) {
    const closed = Promise.resolve().then(close)
    await within(closed, closeWithinMs, scheduler).then(
      (outcome) => {
        if (outcome === 'late') failures.push(closesLate(what))
      },
      (error: unknown) => failures.push(error),
    )
  }
  if (failures.length > 0) throw failures[0]
}

const closesLate = (what: string): SpeechError =>
  new SpeechError('internal', `${what} did not close within ${closeWithinMs / 1_000} s; end the process.`)

/** Throws `invalid-options` for an unreadable folder of recordings, or a file. A missing one is made when needed. */
export const checkRecordingsFolder = ({ recordingsFolder: folder }: ServiceOptions): void => {
  if (folder === undefined) return
  let isFolder: boolean
  try {
    isFolder = statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? true
  } catch (cause) {
    const sentence = `The folder of recordings ${folder} cannot be read (${codeOf(cause) ?? 'unknown'}); name another.`
    throw new SpeechError('invalid-options', sentence, { cause })
  }
  if (isFolder) return
  throw new SpeechError('invalid-options', `The folder of recordings ${folder} is a file; name a folder.`)
}

/** Throws `missing-dependency` in a process that forbids to generate code, as the packages of gRPC do. */
export const checkCodeGeneration = (): void => {
  try {
    loadDataflow()
  } catch (cause) {
    if (!isSpeechError(cause) || cause.code !== 'missing-dependency') throw cause
    const sentence =
      'A service needs packages of gRPC that generate code, which this process forbids; start it without --disallow-code-generation-from-strings.'
    throw new SpeechError('missing-dependency', sentence, { cause })
  }
}

/** Starts to repair the recordings of a killed process; returns a function that waits for it. */
export const repairUnfinishedRecordings = (
  { recordingsFolder: folder }: ServiceOptions,
  onFault: (error: unknown) => void,
): (() => Promise<void>) => {
  const repairing = folder === undefined ? Promise.resolve(0) : repairRecordings(folder)
  const repaired = repairing.then(() => undefined, onFault)
  return () => repaired
}

/** The built page that shows sessions. */
export const studioFolder = (): string =>
  join(dirname(createRequire(__filename).resolve('rxspeech-studio/package.json')), 'dist')

/** What operators see of a service with these options. */
export const operationsOptions = (
  options: ServiceOptions,
  scheduler: SchedulerLike,
  limits: ServiceLimits,
): OperationsOptions => {
  const { operations: address, certificate, reflection, development = false, logger, monitor, onFault } = options
  return {
    address,
    page: address && operationsPage(studioFolder()),
    hasMetrics: address !== undefined || options.studio?.clientId !== undefined,
    scheduler,
    limits,
    reflection: reflection ?? development,
    // Beyond loopback only with TLS, using the certificate of the service.
    certificate: address === undefined || isLoopback(address.host) ? undefined : certificate,
    expiring: certificate && { listener: 'service', certificate },
    logger,
    monitor,
    onFault,
  }
}
