import { defer, firstValueFrom, timeout, type SchedulerLike, type Subscription } from 'rxjs'
import type { ModelDescription } from 'rxspeech-engines/engine'
import { modelLabel } from 'rxspeech-engines/models/model-json'
import type { ModelRegistry } from 'rxspeech-engines/models/model-registry'
import { EngineMeter } from './engine-meter.js'

/** Whether the service accepts new sessions, and why not. */
export interface Readiness {
  readonly type: (typeof readinessTypes)[number]
}

export const readinessTypes = ['starting', 'ready', 'without-engine', 'draining'] as const

/** What each means to an operator, in `/readyz` and in the log. */
export const readinessSentences: Readonly<Record<Readiness['type'], string>> = {
  starting: 'the service does not listen yet, or its first engine is not loaded',
  ready: 'new sessions are accepted',
  'without-engine':
    'no model can be loaded, or NATS does not carry the adverts of this engine process; the log says why',
  draining: 'the service is closing',
}

/** How often an engine is loaded again while no model has a working one. */
const retryMs = 10_000

/** How long an engine may take to load, or to report that it can recognize. */
const loadWithinMs = 300_000

/** Tracks the readiness of a service from its start to its drain, and loads engines to find out. */
export class ReadinessTracker {
  readonly engines: EngineMeter
  onChange: (readiness: Readiness) => void = () => undefined
  onFault: (error: unknown) => void = () => undefined
  readonly #scheduler: SchedulerLike
  #models: ModelRegistry | undefined
  #isOpen = false
  #isDraining = false
  #isWarming: boolean
  #isLoading = false
  #retry: Subscription | undefined
  #change: Subscription | undefined

  /** With `warmsUp`, the service is not ready until its first engine is loaded. */
  constructor(scheduler: SchedulerLike, warmsUp: boolean) {
    this.#scheduler = scheduler
    this.#isWarming = warmsUp
    const listener = {
      changed: () => {
        this.#update()
      },
      suspected: (model: ModelDescription) => {
        void this.#load(model)
      },
    }
    this.engines = new EngineMeter(listener, () => scheduler.now())
  }

  get readiness(): Readiness {
    if (this.#isDraining) return { type: 'draining' }
    if (!this.#isOpen || this.#isWarming) return { type: 'starting' }
    if (this.#models?.mayMissModels !== undefined) return { type: 'ready' }
    return (this.#models?.list() ?? []).every((model) => this.#isBroken(model))
      ? { type: 'without-engine' }
      : { type: 'ready' }
  }

  watchModels(registry: ModelRegistry): ModelRegistry {
    this.#change = registry.changed$?.subscribe(() => {
      this.engines.modelsChanged(registry.list())
      this.#update()
    })
    return (this.#models = this.engines.watch(registry))
  }

  opened(first: ModelDescription | undefined): void {
    this.#isOpen = true
    if (this.#isWarming && first !== undefined) void this.#load(first)
    else {
      this.#isWarming = false
      this.#update()
    }
  }

  draining(): void {
    this.close()
    this.#update()
  }

  close(): void {
    this.#isDraining = true
    this.#retry?.unsubscribe()
    this.#change?.unsubscribe()
  }

  /** Loads engines until one can recognize: that of the model first, then those of the other models. */
  async #load(first: ModelDescription): Promise<void> {
    if (this.#isLoading) return
    this.#isLoading = true
    const others = (this.#models?.list() ?? []).filter((model) => modelLabel(model) !== modelLabel(first))
    for (const model of [first, ...others]) if (this.#isDraining || (await this.#canLoad(model))) break
    this.#isLoading = false
    this.#isWarming = false
    this.#update()
  }

  async #canLoad(model: ModelDescription): Promise<boolean> {
    const wasBroken = this.engines.allBroken([model])
    try {
      await firstValueFrom(
        defer(() => this.#ready(model)).pipe(timeout({ each: loadWithinMs, scheduler: this.#scheduler })),
      )
      return true
    } catch (error) {
      // Reported once, not for each attempt.
      if (!wasBroken && !this.#isDraining) this.onFault(error)
      this.engines.failed(model)
      return false
    }
  }

  /** Whether the engine of the model failed, or no engine process serves it. */
  #isBroken(model: ModelDescription): boolean {
    const isServed = this.#models?.isServed?.(model)
    return isServed === undefined ? this.engines.allBroken([model]) : !isServed
  }

  async #ready(model: ModelDescription): Promise<void> {
    await (await this.#models?.engine(model))?.ready()
  }

  #update(): void {
    const { readiness } = this
    this.onChange(readiness)
    const [first] = this.#models?.list() ?? []
    if (readiness.type !== 'without-engine' || first === undefined) return
    this.#retry ??= this.#scheduler.schedule(() => {
      this.#retry = undefined
      void this.#load(first)
    }, retryMs)
  }
}
