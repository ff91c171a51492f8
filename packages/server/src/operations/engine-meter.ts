import type { Engine, ModelDescription } from 'rxspeech-engines/engine'
import type { EngineWork } from 'rxspeech-engines/lag'
import { modelLabel } from 'rxspeech-engines/models/model-json'
import type { ModelRegistry } from 'rxspeech-engines/models/model-registry'
import { EngineUse, type EngineHealth } from './engine-use.js'
import { Refusals, type Refusing } from '../sessions/refusals.js'

/** This many failures without a success in between suggest that the engine, not the audio, is the cause. */
const suspiciousFaults = 3

/** Models that are measured; beyond that, those that are gone are forgotten. */
const maxModels = 200

/** After this many failures without a result in between, two segments with their retries, a version is no canary. */
const maxCanaryFaults = 6

type Releasing = Pick<ModelRegistry, 'release'>

export interface EngineMeterListener {
  /** A model's engine opened, failed to open, died or works again. */
  readonly changed: () => void
  /** This model's engine fails repeatedly, so it should be checked. */
  readonly suspected: (model: ModelDescription) => void
}

/** Measures the engines that are opened, and knows which models have a broken engine. */
export class EngineMeter {
  readonly #uses = new Map<string, EngineUse>()
  readonly #watched = new WeakMap<Engine, Engine>()
  readonly #broken = new Set<string>()
  readonly #faults = new Map<string, number>()
  /** Since the last result of each model, or the last change of the models. */
  readonly #faultsSinceResult = new Map<string, number>()
  readonly #refusals = new Map<string, Refusals>()
  /** Sessions of the model with this label are refused from now on, or no more. */
  onRefusing: (label: string, refusing: Refusing) => void = () => undefined
  /** The canary with this label has failed so often that it gets no further sessions. */
  onCanaryFailing: (label: string) => void = () => undefined
  readonly #listener: EngineMeterListener
  readonly #now: () => number

  /** @param now the clock, in milliseconds */
  constructor(listener: EngineMeterListener, now: () => number) {
    this.#listener = listener
    this.#now = now
  }

  uses(): readonly { readonly label: string; readonly use: EngineUse }[] {
    return [...this.#uses].map(([label, use]) => ({ label, use }))
  }

  /**
   * Measures all engines; call it every 100 ms. Returns whether the lag of any of them exceeds the limit.
   *
   * @param isThinned whether the service itself thins partials
   */
  sample(maxLagMs: number, isThinned = false): boolean {
    let isAnyBehind = false
    for (const use of this.#uses.values()) {
      use.sample(maxLagMs, isThinned)
      isAnyBehind ||= use.isBehind
    }
    for (const refusals of this.#refusals.values()) refusals.tick()
    return isAnyBehind
  }

  /**
   * What counts a refusal, if the engine of the model takes no further session, because it is behind or would be, also
   * with a reserve of channels in addition; otherwise undefined.
   */
  refuses(model: ModelDescription, reservePercent = 0): (() => void) | undefined {
    const label = modelLabel(model)
    const use = this.#uses.get(label)
    if (use === undefined || !(use.isBehind || use.isFull(reservePercent))) return undefined
    const refusals =
      this.#refusals.get(label) ?? new Refusals(this.#now, (refusing) => this.onRefusing(label, refusing))
    this.#refusals.set(label, refusals)
    const reason = use.isBehind ? 'its engine is behind its speakers' : 'its results would come late'
    return () => refusals.refused({ reason })
  }

  /** The work of all engines of this process together: the largest lag, now or to be expected; partials by model. */
  get work(): EngineWork & { readonly isBehind: boolean } {
    const uses = [...this.#uses.values()]
    return {
      lagMs: Math.max(0, ...uses.map(({ lagMs, expectedWaitMs }) => Math.max(lagMs, expectedWaitMs))),
      isBehind: uses.some(({ isBehind }) => isBehind),
      progress: uses.reduce((sum, { progress }) => sum + progress, 0),
      partialIntervalsMs: Object.fromEntries(
        [...this.#uses].map(([label, use]) => [label, use.partialIntervalMs] as const).filter(([, ms]) => ms > 0),
      ),
    }
  }

  /** Whether the engines of all these models failed to open or died. */
  allBroken(models: readonly ModelDescription[]): boolean {
    return models.every((model) => this.#broken.has(modelLabel(model)))
  }

  /** Returns the same registry with its engines measured. */
  watch(registry: ModelRegistry): ModelRegistry {
    return {
      ...registry,
      engine: (model) => this.#open(registry, model),
      isFailing: (model) => (this.#faultsSinceResult.get(modelLabel(model)) ?? 0) >= maxCanaryFaults,
    }
  }

  /** The models have changed: those that failed may be other ones now. */
  modelsChanged(models: readonly ModelDescription[]): void {
    this.#faultsSinceResult.clear()
    if (this.#uses.size <= maxModels) return
    const labels = new Set(models.map(modelLabel))
    for (const [label, { channels, segments }] of this.#uses) {
      if (labels.has(label) || channels > 0 || segments > 0) continue
      for (const known of [this.#uses, this.#faults, this.#refusals, this.#broken]) known.delete(label)
    }
  }

  async #open(registry: ModelRegistry, model: ModelDescription): Promise<Engine> {
    const label = modelLabel(model)
    let engine: Engine
    try {
      engine = await registry.engine(model)
    } catch (error) {
      this.#useOf(label).failed()
      // Each of its sessions would try to load it again.
      this.#addFaultsSinceResult(registry, model, maxCanaryFaults)
      this.#setBroken(label, true)
      throw error
    }
    const watchedBefore = this.#watched.get(engine)
    if (watchedBefore !== undefined) return watchedBefore
    const watched = this.#useOf(label).watch(engine, this.#healthOf(model, label, registry))
    this.#watched.set(engine, watched)
    this.#setBroken(label, false)
    return watched
  }

  /** The model's engine did not report in time that it can recognize. */
  failed(model: ModelDescription): void {
    const label = modelLabel(model)
    if (!this.#broken.has(label)) this.#setBroken(label, true)
  }

  #healthOf(model: ModelDescription, label: string, registry: Releasing): EngineHealth {
    return {
      worked: (by) => {
        this.#faults.delete(label)
        if (by === 'result') this.#faultsSinceResult.delete(label)
        if (this.#broken.has(label)) this.#setBroken(label, false)
      },
      faulted: () => {
        const faults = (this.#faults.get(label) ?? 0) + 1
        this.#faults.set(label, faults)
        this.#addFaultsSinceResult(registry, model, 1)
        if (faults % suspiciousFaults === 0) this.#listener.suspected(model)
      },
      died: () => {
        this.#setBroken(label, true)
      },
    }
  }

  #addFaultsSinceResult(registry: Releasing, model: ModelDescription, added: number): void {
    const label = modelLabel(model)
    const before = this.#faultsSinceResult.get(label) ?? 0
    this.#faultsSinceResult.set(label, before + added)
    const isCanary = registry.release?.(model)?.canary?.version === model.version
    if (isCanary && before < maxCanaryFaults && before + added >= maxCanaryFaults) this.onCanaryFailing(label)
  }

  #setBroken(label: string, isBroken: boolean): void {
    if (isBroken) this.#broken.add(label)
    else this.#broken.delete(label)
    this.#listener.changed()
  }

  #useOf(label: string): EngineUse {
    const use = this.#uses.get(label) ?? new EngineUse(this.#now)
    this.#uses.set(label, use)
    return use
  }
}
