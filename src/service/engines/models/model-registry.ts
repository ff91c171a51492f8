import { asyncScheduler, type Observable, type SchedulerLike } from 'rxjs'
import { SpeechError } from '../../../errors/speech-error.js'
import { schedule } from '../../../kernel/timers.js'
import { listOf } from '../../../protocol/collections.js'
import {
  anything,
  checkOptions,
  durationMs,
  flag,
  functionValue,
  optionsOf,
  schedulerValue,
  text,
} from '../../../protocol/validation.js'
import type { Engine, EngineKind, ModelDescription } from '../engine.js'
import { withSegmentRetry } from '../segment-retry.js'
import { scanModelFolder, type FoundModel } from './model-folders.js'
import { invalidModel, modelLabel } from './model-json.js'

/** Where models are found, and which engines load them. */
export interface ModelRegistryOptions {
  /** Folders with the layout `<tenant>/<name>/<version>/model.json`. The first that contains a model counts. */
  readonly folders: readonly string[]
  /** The engines that a `model.json` can name. */
  readonly kinds: readonly EngineKind[]
  /** Called with failures of engines that are retried, and when an engine is overloaded. @default not reported */
  readonly onFault?: ((error: SpeechError) => void) | undefined
  /** Whether segments are retried here when an engine fails. @default true */
  readonly retry?: boolean | undefined
  /** How long `close` waits for engines that are still loading or do not close, in milliseconds. @default 5000 */
  readonly closeWithinMs?: number | undefined
  /** The clock of the time-outs and of the retries. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

const modelRegistryOptions = optionsOf<ModelRegistryOptions>()(
  { folders: listOf(text), kinds: listOf(anything) },
  { onFault: functionValue, retry: flag, closeWithinMs: durationMs(0), scheduler: schedulerValue },
)

/** What a client names (PROTOCOL 4.2: model-name, model-tenant, model-version). */
export interface ModelName {
  /** The tenant of the model. */
  readonly tenant: string
  /** The name of the model. */
  readonly name: string
  /** The version of the model. @default '' the newest version */
  readonly version?: string | undefined
}

/** The models of a service. A name is only compared with names that were found, and is never part of a path. */
export interface ModelRegistry {
  /**
   * Also finds a model whose `model.json` is broken, so that a client which asks for it gets the reason and not an older
   * version.
   */
  find(name: ModelName): ModelDescription | undefined
  /** The models without a problem, by tenant, name and version. */
  list(): readonly ModelDescription[]
  /** One `invalid-model` for each model whose `model.json` is broken or names an unknown engine. */
  problems(): readonly SpeechError[]
  /**
   * The engine of a model, loaded by the first call and shared from then on; a failure is not kept. Its segments are
   * retried when the engine fails. Rejects with `invalid-model`, or with `going-away` after `close`.
   */
  engine(model: ModelDescription): Promise<Engine>
  /** Throws `overloaded` if the engines of a model have no room for another session. @default always room */
  admit?(model: ModelDescription): void
  /** Whether engine processes serve a model; undefined for a model of this process. @default undefined for all */
  isServed?(model: ModelDescription): boolean | undefined
  /** Emits when the answers of `list` or `isServed` have changed. @default they do not change */
  readonly changed$?: Observable<void>
  /** Closes every engine, within `closeWithinMs`. Idempotent. */
  close(): Promise<void>
}

/** 10 is newer than 9, and 1.10 than 1.9. */
const versionOrder = new Intl.Collator('en', { numeric: true })
export const compareVersions = (a: string, b: string): number => versionOrder.compare(a, b)

const byVersion = (a: FoundModel, b: FoundModel): number => compareVersions(a.model.version, b.model.version)

const keyOf = (tenant: string, name: string): string => JSON.stringify([tenant, name])

type Kinds = ReadonlyMap<string, EngineKind>

const kindsByName = (kinds: readonly EngineKind[]): Kinds => new Map(kinds.map((kind) => [kind.name, kind]))

const withEngineCheck = (found: FoundModel, kinds: Kinds): FoundModel => {
  const { engine } = found.model.options
  if (found.problem !== undefined || kinds.has(engine)) return found
  const known = [...kinds.keys()].join(', ')
  const sentence = `"engine" in model.json is "${engine}"; the engines here are ${known}.`
  return { ...found, problem: invalidModel(found.model, sentence) }
}

/** The versions of each model from old to new, each once, by tenant and name. */
const collect = (folders: readonly string[], kinds: Kinds): ReadonlyMap<string, readonly FoundModel[]> => {
  const versions = new Map<string, readonly FoundModel[]>()
  for (const found of folders.flatMap(scanModelFolder)) {
    const { tenant, name, version } = found.model
    const known = versions.get(keyOf(tenant, name)) ?? []
    if (known.some(({ model }) => model.version === version)) continue
    versions.set(keyOf(tenant, name), [...known, withEngineCheck(found, kinds)].toSorted(byVersion))
  }
  return versions
}

/**
 * All models of the folders, by tenant, name and version, including those with a problem. Loads nothing. Throws
 * `invalid-options` for a folder that cannot be read.
 */
export const findModels = ({
  folders,
  kinds,
}: Pick<ModelRegistryOptions, 'folders' | 'kinds'>): readonly FoundModel[] =>
  [...collect(folders, kindsByName(kinds)).values()].flat()

/** Resolves when the work is done or the time is over; rejects if the work does. */
const settledWithin = (work: Promise<unknown>, durationMs: number, scheduler: SchedulerLike): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = schedule(scheduler, durationMs, resolve, { ref: true })
    work.then(() => resolve(), reject).finally(() => timer.unsubscribe())
  })

/**
 * Reads the folders once: a model that is added later is found after a restart. Throws `invalid-options`.
 *
 * @example
 * const models = createModelRegistry({ folders: ['models'], kinds: [soundswallower()] })
 * console.log(models.list(), models.problems())
 */
export const createModelRegistry = (options: ModelRegistryOptions): ModelRegistry => {
  checkOptions(modelRegistryOptions, options)
  const { folders, onFault, retry = true, closeWithinMs = 5_000, scheduler = asyncScheduler } = options
  const kinds = kindsByName(options.kinds)
  const models = collect(folders, kinds)
  const all = [...models.values()].flat()
  const engines = new Map<string, Promise<Engine>>()
  let closing: Promise<void> | undefined

  const find = ({ tenant, name, version = '' }: ModelName): FoundModel | undefined => {
    const versions = models.get(keyOf(tenant, name))
    return version === '' ? versions?.at(-1) : versions?.find(({ model }) => model.version === version)
  }

  const open = async (description: ModelDescription): Promise<Engine> => {
    const found = find(description)
    const kind = found && kinds.get(found.model.options.engine)
    if (found?.problem !== undefined) throw found.problem
    if (found === undefined || kind === undefined) throw invalidModel(description, 'it is not in the model folders.')
    const engine = await kind.open(found.model)
    return retry ? withSegmentRetry(engine, { scheduler, onFault }) : engine
  }

  const load = (model: ModelDescription): Promise<Engine> => {
    const label = modelLabel(model)
    const engine = engines.get(label) ?? open(model)
    engines.set(label, engine)
    engine.catch(() => engines.delete(label))
    return engine
  }

  const closeAll = (): Promise<void> => {
    // An engine that is still loading is closed once it has loaded, even after the deadline.
    const closes = [...engines.values()].map((loading) =>
      loading.then(
        (engine) => engine.close(),
        () => undefined,
      ),
    )
    return settledWithin(Promise.all(closes), closeWithinMs, scheduler)
  }

  return {
    find: (name) => find(name)?.model,
    list: () => all.flatMap(({ model, problem }) => (problem === undefined ? [model] : [])),
    problems: () => all.flatMap(({ problem }) => problem ?? []),
    engine: async (model) => {
      if (closing !== undefined) throw new SpeechError('going-away', 'The service is closing; start a new session.')
      return load(model)
    },
    close: () => (closing ??= closeAll()),
  }
}
