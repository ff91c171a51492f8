import type { Engine, ModelDescription } from '../engine/engine.js'
import type { ModelRegistry } from '../engine/model-registry.js'
import { modelLabel } from '../engine/model-files.js'
import { EngineUse, type EngineHealth } from './engine-use.js'

/** So many readings in a row that fail, with none between that succeeds, are no fault of what is read. */
const suspectFaults = 3

export interface EngineMeterListener {
  /** A model's engine opened, failed to, died or works again. */
  readonly changed: () => void
  /** Nothing that this model's engine is given succeeds any more: whether it can recognize should be asked. */
  readonly suspected: (model: ModelDescription) => void
}

/** The engines of a service as they are asked for, and whether any of them can be had. */
export class EngineMeter {
  readonly #uses = new Map<string, EngineUse>()
  readonly #watched = new WeakMap<Engine, Engine>()
  readonly #broken = new Set<string>()
  readonly #faults = new Map<string, number>()
  readonly #listener: EngineMeterListener

  constructor(listener: EngineMeterListener) {
    this.#listener = listener
  }

  uses(): readonly { readonly label: string; readonly use: EngineUse }[] {
    return [...this.#uses].map(([label, use]) => ({ label, use }))
  }

  /** Whether every one of these models failed when it was last asked for, or died since. */
  allBroken(models: readonly ModelDescription[]): boolean {
    return models.every((model) => this.#broken.has(modelLabel(model)))
  }

  /** The registry itself, whose engines are counted. */
  watch(registry: ModelRegistry): ModelRegistry {
    return { ...registry, engine: (model) => this.#open(registry, model) }
  }

  async #open(registry: ModelRegistry, model: ModelDescription): Promise<Engine> {
    const label = modelLabel(model)
    let engine: Engine
    try {
      engine = await registry.engine(model)
    } catch (error) {
      this.#useOf(label).failed()
      this.#setBroken(label, true)
      throw error
    }
    const known = this.#watched.get(engine)
    if (known !== undefined) return known
    const watched = this.#useOf(label).watch(engine, this.#healthOf(model, label))
    this.#watched.set(engine, watched)
    this.#setBroken(label, false)
    return watched
  }

  /** It does not say in time whether it can recognize. */
  failed(model: ModelDescription): void {
    const label = modelLabel(model)
    if (!this.#broken.has(label)) this.#setBroken(label, true)
  }

  #healthOf(model: ModelDescription, label: string): EngineHealth {
    return {
      worked: () => {
        this.#faults.delete(label)
        if (this.#broken.has(label)) this.#setBroken(label, false)
      },
      faulted: () => {
        const faults = (this.#faults.get(label) ?? 0) + 1
        this.#faults.set(label, faults)
        if (faults % suspectFaults === 0) this.#listener.suspected(model)
      },
      died: () => {
        this.#setBroken(label, true)
      },
    }
  }

  #setBroken(label: string, isBroken: boolean): void {
    if (isBroken) this.#broken.add(label)
    else this.#broken.delete(label)
    this.#listener.changed()
  }

  #useOf(label: string): EngineUse {
    const use = this.#uses.get(label) ?? new EngineUse()
    this.#uses.set(label, use)
    return use
  }
}
