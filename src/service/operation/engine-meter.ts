import type { Engine, ModelDescription } from '../engine/engine.js'
import type { ModelRegistry } from '../engine/model-registry.js'
import { modelLabel } from '../engine/model-files.js'
import { EngineUse } from './engine-use.js'

/** The engines of a service as they are asked for, and whether any of them can be had. */
export class EngineMeter {
  readonly #uses = new Map<string, EngineUse>()
  readonly #watched = new WeakMap<Engine, Engine>()
  readonly #broken = new Set<string>()
  readonly #changed: () => void

  /** `changed` is called when a model's engine opened or failed. */
  constructor(changed: () => void) {
    this.#changed = changed
  }

  uses(): readonly { readonly label: string; readonly use: EngineUse }[] {
    return [...this.#uses].map(([label, use]) => ({ label, use }))
  }

  /** Whether every one of these models failed when it was last asked for. */
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
      this.#broken.add(label)
      this.#changed()
      throw error
    }
    const known = this.#watched.get(engine)
    if (known !== undefined) return known
    const watched = this.#useOf(label).watch(engine)
    this.#watched.set(engine, watched)
    this.#broken.delete(label)
    this.#changed()
    return watched
  }

  #useOf(label: string): EngineUse {
    const use = this.#uses.get(label) ?? new EngineUse()
    this.#uses.set(label, use)
    return use
  }
}
