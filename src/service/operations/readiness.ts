import { defer, firstValueFrom, timeout, type SchedulerLike, type Subscription } from 'rxjs'
import type { ModelDescription } from '../engine/engine.js'
import { modelLabel } from '../engine/model-files.js'
import type { ModelRegistry } from '../engine/model-registry.js'
import { EngineMeter } from './engine-meter.js'

/** Whether new sessions are welcome, and why not. */
export type Readiness =
  | { readonly type: 'starting' }
  | { readonly type: 'ready' }
  | { readonly type: 'without-engine' }
  | { readonly type: 'draining' }

const sentences: Readonly<Record<Readiness['type'], string>> = {
  starting: 'starting: the service does not listen yet, or its first engine is not loaded',
  ready: 'ready',
  'without-engine': 'without-engine: no model can be loaded; the log says why',
  draining: 'draining: the service is closing',
}

/** One line for `/readyz`. */
export const readinessLine = ({ type }: Readiness): string => `${sentences[type]}\n`

export interface ReadinessInputs {
  readonly isOpen: boolean
  readonly isDraining: boolean
  /** Whether an engine that is to be there from the beginning is still awaited. */
  readonly isWarming: boolean
  readonly hasEngine: boolean
}

export const readinessOf = ({ isOpen, isDraining, isWarming, hasEngine }: ReadinessInputs): Readiness => {
  if (isDraining) return { type: 'draining' }
  if (!isOpen || isWarming) return { type: 'starting' }
  return hasEngine ? { type: 'ready' } : { type: 'without-engine' }
}

/** How often an engine is tried again that no client asks for, since without one no client is sent here. */
const retryMs = 10_000

/** How long an engine may take to load, or to say that it can recognize. */
const loadWithinMs = 300_000

/** From starting over ready to draining. */
export class ServiceLife {
  readonly engines: EngineMeter
  onReadiness: (readiness: Readiness) => void = () => undefined
  onFault: (error: unknown) => void = () => undefined
  readonly #scheduler: SchedulerLike
  #models: ModelRegistry | undefined
  #isOpen = false
  #isDraining = false
  #isWarming: boolean
  #isLoading = false
  #retry: Subscription | undefined

  constructor(scheduler: SchedulerLike, warmsUp: boolean) {
    this.#scheduler = scheduler
    this.#isWarming = warmsUp
    this.engines = new EngineMeter({
      changed: () => {
        this.#changed()
      },
      suspected: (model) => {
        void this.#load(model)
      },
    })
  }

  get readiness(): Readiness {
    const models = this.#models?.list() ?? []
    return readinessOf({
      isOpen: this.#isOpen,
      isDraining: this.#isDraining,
      isWarming: this.#isWarming,
      hasEngine: !this.engines.allBroken(models),
    })
  }

  watchModels(registry: ModelRegistry): ModelRegistry {
    return (this.#models = this.engines.watch(registry))
  }

  opened(first: ModelDescription | undefined): void {
    this.#isOpen = true
    if (this.#isWarming && first !== undefined) void this.#load(first)
    else {
      this.#isWarming = false
      this.#changed()
    }
  }

  draining(): void {
    this.#isDraining = true
    this.#retry?.unsubscribe()
    this.#changed()
  }

  close(): void {
    this.#isDraining = true
    this.#retry?.unsubscribe()
  }

  /** Finds one engine that can recognize, and loads it where it is not: the model's, or another's. */
  async #load(first: ModelDescription): Promise<void> {
    if (this.#isLoading) return
    this.#isLoading = true
    const others = (this.#models?.list() ?? []).filter((model) => modelLabel(model) !== modelLabel(first))
    for (const model of [first, ...others]) if (this.#isDraining || (await this.#canLoad(model))) break
    this.#isLoading = false
    this.#isWarming = false
    this.#changed()
  }

  async #canLoad(model: ModelDescription): Promise<boolean> {
    const wasBroken = this.engines.allBroken([model])
    try {
      await firstValueFrom(
        defer(() => this.#ready(model)).pipe(timeout({ each: loadWithinMs, scheduler: this.#scheduler })),
      )
      return true
    } catch (error) {
      // Told once, not at every try.
      if (!wasBroken && !this.#isDraining) this.onFault(error)
      this.engines.failed(model)
      return false
    }
  }

  async #ready(model: ModelDescription): Promise<void> {
    await (await this.#models?.engine(model))?.ready()
  }

  #changed(): void {
    const { readiness } = this
    this.onReadiness(readiness)
    const [first] = this.#models?.list() ?? []
    if (readiness.type !== 'without-engine' || first === undefined) return
    this.#retry ??= this.#scheduler.schedule(() => {
      this.#retry = undefined
      void this.#load(first)
    }, retryMs)
  }
}
