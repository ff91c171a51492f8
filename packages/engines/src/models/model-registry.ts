import { asyncScheduler, Subject, type Observable, type SchedulerLike } from 'rxjs'
import { SpeechError, toSpeechError } from 'rxspeech/internal/errors/speech-error'
import { maxTimerMs } from 'rxspeech/internal/kernel/timers'
import { listOf } from 'rxspeech/internal/protocol/collections'
import {
  anything,
  checkOptions,
  durationMs,
  flag,
  functionValue,
  optionsOf,
  schedulerValue,
  text,
  wholeNumber,
} from 'rxspeech/internal/protocol/validation'
import { within } from '../within.js'
import type { Engine, EngineKind, ModelDescription, SegmentAttempt } from '../engine.js'
import { withSegmentRetry } from '../segment-retry.js'
import { scanModelFolder, type FoundModel } from './model-folders.js'
import { fingerprintOf } from './fingerprint.js'
import { openIdleEngine } from './idle-engine.js'
import { invalidModel, modelLabel } from './model-json.js'
import { SharedEngine } from './shared-engine.js'

/** Where models are found, and which engines load them. */
export interface ModelRegistryOptions {
  /** Folders with the layout `<tenant>/<name>/<version>/model.json`. The first that contains a model counts. */
  readonly folders: readonly string[]
  /** The engines that a `model.json` can name. */
  readonly kinds: readonly EngineKind[]
  /** Called with failures of engines that are retried, and when an engine is overloaded. @default not reported */
  readonly onFault?: ((error: SpeechError, attempt: SegmentAttempt) => void) | undefined
  /** Whether segments are retried here when an engine fails. @default true */
  readonly retry?: boolean | undefined
  /** How long no session must use a model until it leaves memory, in minutes; 0 for never. @default 0 */
  readonly idleMinutes?: number | undefined
  /** How long `close` waits for engines that load or do not close, in milliseconds. @default 5000 */
  readonly closeWithinMs?: number | undefined
  /** The clock of the time-outs and of the retries. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

/** A timer cannot be longer. */
export const idleMinutes = wholeNumber({ min: 0, max: Math.floor(maxTimerMs / 60_000) })

const modelRegistryOptions = optionsOf<ModelRegistryOptions>()(
  { folders: listOf(text), kinds: listOf(anything) },
  { onFault: functionValue, retry: flag, idleMinutes, closeWithinMs: durationMs(0), scheduler: schedulerValue },
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

/** Which versions of a model sessions get that name none, and what else reads their segments. */
export interface Release {
  /** @default the newest that is neither the canary nor the challenger */
  readonly version?: string | undefined
  /** A version that a part of these sessions gets instead. @default none */
  readonly canary?: { readonly version: string; readonly percent: number } | undefined
  /** What a part of the segments of all versions is compared with. @default none */
  readonly challenger?: Challenger | undefined
}

/** A model that reads segments beside the one whose results sessions get. */
export interface Challenger {
  /** A model of the same tenant. @default the same model */
  readonly name?: string | undefined
  readonly version: string
  /** Of the segments. */
  readonly percent: number
  /**
   * How many segments a process compares at once, from their first audio on; further ones are dropped. It bounds the
   * audio that is kept for this, at 1 MiB each. @default 4
   */
  readonly places?: number | undefined
  /** Whether the log has the words that differ, which are parts of transcripts. @default false */
  readonly logsWords?: boolean | undefined
}

/** The models of a service. A name is only compared with names that were found, and is never part of a path. */
export interface ModelRegistry {
  /** Also finds a model whose `model.json` is broken: a client gets the reason, not an older version. */
  find(name: ModelName): ModelDescription | undefined
  /** Which versions sessions get that name none. @default the newest */
  release?(name: Pick<ModelName, 'tenant' | 'name'>): Release | undefined
  /** Whether a model has failed for one segment after the other, so that it is no canary. @default it has not */
  isFailing?(model: ModelDescription): boolean
  /** The models without a problem, by tenant, name and version. */
  list(): readonly ModelDescription[]
  /** One `invalid-model` for each model whose `model.json` is broken or names an unknown engine. */
  problems(): readonly SpeechError[]
  /**
   * The engine of a model, loaded by the first call and shared from then on; a failure is not kept. Its segments are
   * retried when the engine fails. Rejects with `invalid-model`, or with `going-away` after `close`.
   */
  engine(model: ModelDescription): Promise<Engine>
  /**
   * The engine of a model for segments that no session waits for; undefined while there is no place to spare. It has
   * places or a priority below those of sessions, and makes no second attempt. @default there is none
   */
  spareEngine?(model: ModelDescription): Promise<Engine> | undefined
  /**
   * Throws `overloaded` if the engines of a model have no room for another session. One of a tenant above its share
   * leaves a reserve to others. @default always room
   */
  admit?(model: ModelDescription, isAboveShare?: boolean): void
  /** Whether engine processes serve a model; undefined for a model of this process. @default undefined for all */
  isServed?(model: ModelDescription): boolean | undefined
  /**
   * Whether a model may be missing only because its engine process is not there yet: while none is known, and for a
   * minute after the first ones have come back. A service with such a registry stays ready without engine processes,
   * because balancers would take all of its clients away, also those that can wait.
   * @default all models are of this process
   */
  mayMissModels?(): boolean
  /** Emits when the answers of `list` or `isServed` have changed. @default they do not change */
  readonly changed$?: Observable<void>
  /**
   * Reads the folders again, and loads the models that are new or have changed, without using them yet. Rejects with
   * `invalid-options` if a folder cannot be read.
   *
   * @internal
   */
  prepareReload?(options?: PrepareReloadOptions): Promise<PreparedModels>
  /** Closes every engine, within `closeWithinMs`. Idempotent. */
  close(): Promise<void>
}

/** How models are prepared. */
export interface PrepareReloadOptions {
  /** Whether new and changed models are loaded, so that their faults are found. @default true */
  readonly loads?: boolean | undefined
}

/** Models that were read again. One of `commit` and `discard` follows. */
export interface PreparedModels extends Pick<ModelRegistry, 'find' | 'list'> {
  /** The engine of one of these models; see `ModelRegistry.engine`. */
  readonly engine: (model: ModelDescription) => Promise<Engine>
  /** What is wrong with models that are new or have changed. */
  readonly problems: readonly SpeechError[]
  /** The labels of the models by what became of them. */
  readonly changes: ModelChanges
  /** Differs if any file of a model differs. */
  readonly fingerprint: string
  /** New sessions get these models. The engines that were replaced close when their last session has ended. */
  readonly commit: () => void
  /** Closes what was loaded. */
  readonly discard: () => void
}

/** Labels of models, such as `Default/calls/3`. */
export interface ModelChanges {
  /** Models that are new. */
  readonly added: readonly string[]
  /** Models with other files than before. */
  readonly changed: readonly string[]
  /** Models that are gone. */
  readonly removed: readonly string[]
}

/** 10 is newer than 9, and 1.10 than 1.9. */
const versionOrder = new Intl.Collator('en', { numeric: true })
export const compareVersions = (a: string, b: string): number => versionOrder.compare(a, b)

const byVersion = (a: FoundModel, b: FoundModel): number => compareVersions(a.model.version, b.model.version)

const keyOf = (tenant: string, name: string): string => JSON.stringify([tenant, name])

type Kinds = ReadonlyMap<string, EngineKind>

const kindsByName = (kinds: readonly EngineKind[]): Kinds => new Map(kinds.map((kind) => [kind.name, kind]))

/** Engines of earlier versions, and what to take in their place. */
const removedEngines: Readonly<Record<string, string>> = {
  pocketsphinx:
    ', which was removed: take soundswallower for a grammar or phrases, sherpa-onnx or remote for dictation',
}

const withEngineCheck = (found: FoundModel, kinds: Kinds): FoundModel => {
  const { engine } = found.model.options
  if (found.problem !== undefined || kinds.has(engine)) return found
  const known = [...kinds.keys()].join(', ')
  const sentence = `"engine" in model.json is "${engine}"${removedEngines[engine] ?? ''}; the engines here are ${known}.`
  return { ...found, problem: invalidModel(found.model, sentence) }
}

/** The versions of each model from old to new, each once, by tenant and name. */
type Versions<Found extends FoundModel> = ReadonlyMap<string, readonly Found[]>

const collect = (folders: readonly string[], kinds: Kinds): Versions<FoundModel> => {
  const versions = new Map<string, readonly FoundModel[]>()
  for (const found of folders.flatMap(scanModelFolder)) {
    const { tenant, name, version } = found.model
    const known = versions.get(keyOf(tenant, name)) ?? []
    if (known.some(({ model }) => model.version === version)) continue
    versions.set(keyOf(tenant, name), [...known, withEngineCheck(found, kinds)].toSorted(byVersion))
  }
  return versions
}

const findIn = <Found extends FoundModel>(
  versions: Versions<Found>,
  { tenant, name, version = '' }: ModelName,
): Found | undefined => {
  const found = versions.get(keyOf(tenant, name))
  return version === '' ? found?.at(-1) : found?.find(({ model }) => model.version === version)
}

const listIn = (versions: Versions<FoundModel>): readonly ModelDescription[] =>
  [...versions.values()].flat().flatMap(({ model, problem }) => (problem === undefined ? [model] : []))

/**
 * All models of the folders, by tenant, name and version, including those with a problem. Loads nothing. Throws
 * `invalid-options` for a folder that cannot be read.
 */
export const findModels = ({
  folders,
  kinds,
}: Pick<ModelRegistryOptions, 'folders' | 'kinds'>): readonly FoundModel[] =>
  [...collect(folders, kindsByName(kinds)).values()].flat()

/** A model, with its engine once that is loaded. */
interface Entry extends FoundModel {
  readonly fingerprint: string
  shared?: SharedEngine
}

/**
 * Reads the folders once: a model that is added later is found after a restart or a reload. Throws `invalid-options`.
 *
 * @example
 * const models = createModelRegistry({ folders: ['models'], kinds: [soundswallower()] })
 * console.log(models.list(), models.problems())
 */
export const createModelRegistry = (options: ModelRegistryOptions): ModelRegistry => {
  checkOptions(modelRegistryOptions, options)
  const { folders, onFault, retry = true, closeWithinMs = 5_000, scheduler = asyncScheduler } = options
  const idleMs = (options.idleMinutes ?? 0) * 60_000
  const kinds = kindsByName(options.kinds)
  const change$ = new Subject<void>()
  /** Engines that were replaced and are not closed yet. */
  const retired = new Set<SharedEngine>()
  let closing: Promise<void> | undefined

  const read = (): Versions<Entry> =>
    new Map(
      [...collect(folders, kinds)].map(([key, found]) => [
        key,
        found.map((one): Entry => ({ ...one, fingerprint: fingerprintOf([one.model.folder]) })),
      ]),
    )
  let models = read()
  const all = (): readonly Entry[] => [...models.values()].flat()

  const open = async ({ model, problem }: Entry): Promise<Engine> => {
    const kind = kinds.get(model.options.engine)
    if (problem !== undefined) throw problem
    if (kind === undefined) throw invalidModel(model, 'it is not in the model folders.')
    const openIt = (): Promise<Engine> => kind.open(model)
    const engine = idleMs === 0 ? await openIt() : await openIdleEngine(openIt, { idleMs, scheduler })
    return retry ? withSegmentRetry(engine, { scheduler, onFault }) : engine
  }

  const engineIn = async (versions: Versions<Entry>, model: ModelDescription): Promise<Engine> => {
    if (closing !== undefined) throw isClosing()
    const entry = findIn(versions, model)
    if (entry === undefined) throw invalidModel(model, 'it is not in the model folders.')
    return load(entry)
  }

  const load = (entry: Entry): Promise<Engine> => {
    const shared = (entry.shared ??= new SharedEngine(open(entry), scheduler))
    shared.engine.catch(() => {
      if (entry.shared === shared) delete entry.shared
    })
    return shared.engine
  }

  const closeAll = async (): Promise<void> => {
    const engines = [...all().flatMap(({ shared }) => shared ?? []), ...retired]
    // An engine that is still loading is closed once it has loaded, even after the deadline.
    await within(Promise.all(engines.map((engine) => engine.close())), closeWithinMs, scheduler)
  }

  const check = async (entry: Entry): Promise<readonly SpeechError[]> => {
    if (entry.problem !== undefined) return [entry.problem]
    try {
      await (await load(entry)).ready()
      return []
    } catch (error) {
      return [toSpeechError(error, 'invalid-model', `Model ${modelLabel(entry.model)} cannot be loaded.`)]
    }
  }

  const prepareReload = async ({ loads = true }: PrepareReloadOptions = {}): Promise<PreparedModels> => {
    if (closing !== undefined) throw isClosing()
    const before = new Map(all().map((entry) => [modelLabel(entry.model), entry]))
    const isSame = (entry: Entry, known: Entry | undefined): known is Entry =>
      known?.fingerprint === entry.fingerprint && known.model.folder === entry.model.folder
    const next: Versions<Entry> = new Map(
      [...read()].map(([key, entries]) => [
        key,
        entries.map((entry) => {
          const known = before.get(modelLabel(entry.model))
          return isSame(entry, known) ? known : entry
        }),
      ]),
    )
    const entries = [...next.values()].flat()
    const fresh = entries.filter((entry) => before.get(modelLabel(entry.model)) !== entry)
    const problems: SpeechError[] = []
    // One after another, so that running sessions keep the cores.
    for (const entry of fresh)
      problems.push(...(loads ? await check(entry) : entry.problem === undefined ? [] : [entry.problem]))
    const labels = new Set(entries.map(({ model }) => modelLabel(model)))
    const labelsOf = (some: readonly Entry[]): readonly string[] => some.map(({ model }) => modelLabel(model))
    const gone = [...before.values()].filter((entry) => !entries.includes(entry))
    return {
      problems,
      find: (name) => findIn(next, name)?.model,
      list: () => listIn(next),
      engine: (model) => engineIn(next, model),
      changes: {
        added: labelsOf(fresh.filter(({ model }) => !before.has(modelLabel(model)))),
        changed: labelsOf(fresh.filter(({ model }) => before.has(modelLabel(model)))),
        removed: labelsOf(gone.filter(({ model }) => !labels.has(modelLabel(model)))),
      },
      fingerprint: entries.map(({ model, fingerprint }) => `${modelLabel(model)} ${fingerprint}`).join('\n'),
      commit: () => {
        models = next
        for (const { shared } of gone) {
          if (shared === undefined) continue
          retired.add(shared)
          shared.retire(() => retired.delete(shared))
        }
        change$.next()
      },
      discard: () => {
        for (const { shared } of fresh) shared?.close().catch(() => undefined)
      },
    }
  }

  return {
    find: (name) => findIn(models, name)?.model,
    list: () => listIn(models),
    problems: () => all().flatMap(({ problem }) => problem ?? []),
    engine: (model) => engineIn(models, model),
    changed$: change$.asObservable(),
    prepareReload,
    close: () => (closing ??= closeAll()),
  }
}

const isClosing = (): SpeechError => new SpeechError('going-away', 'The service is closing; start a new session.')
