import { Subject } from 'rxjs'
import { createModelRegistry, type ModelRegistry } from '../../../engines/src/models/model-registry.js'
import type { Engine, Hypothesis, RecognizeSettings, SegmentAttempt, SegmentPart } from '../../../engines/src/engine.js'
import { EngineHost, type EngineHostOptions } from '../../src/engines/engine-host.js'
import { Fleet, type FleetOptions } from '../../src/engines/fleet.js'
import { createFleetModels } from '../../src/engines/fleet-models.js'
import type { AdvertisedModel } from '../../src/engines/protocol.js'
import type { SpeechError } from '../../../../src/errors/speech-error.js'
import { flushPromises, VirtualClock } from '../../../service/test/virtual-clock.js'
import { countingEngine, textOf, type CountingEngine } from './counting-engine.js'
import { FakeBroker, type FakeBus } from './fake-broker.js'

export const callsModel: AdvertisedModel = {
  tenant: 'Default',
  name: 'calls',
  version: '1',
  digest: 'a',
  sampleRateHz: 8000,
  kind: 'dictation',
  partials: true,
  words: true,
  checks: true,
}

export interface VirtualEngine {
  readonly host: EngineHost
  readonly engine: CountingEngine
  readonly bus: FakeBus
  /** As kill -9. */
  readonly kill: () => void
}

/** Engines and an edge in virtual time. */
export class VirtualFleet {
  readonly clock = new VirtualClock()
  readonly broker = new FakeBroker(this.clock)
  readonly faults: SpeechError[] = []
  /** Those that had the faults. */
  readonly attempts: SegmentAttempt[] = []
  readonly edgeBus = this.broker.connect()
  readonly fleet: Fleet
  readonly models: ModelRegistry
  #random = 0
  readonly #engines: VirtualEngine[] = []

  constructor(options: Partial<FleetOptions> = {}) {
    // A fixed sequence, so that every run is the same.
    const random = (): number => (this.#random = (this.#random * 7 + 0.37) % 1)
    const shared = { bus: this.edgeBus, onFault: () => undefined, scheduler: this.clock, random }
    this.fleet = new Fleet({ name: 'edge', ...shared, ...options })
    this.models = createFleetModels({
      fleet: this.fleet,
      local: createModelRegistry({ folders: [], kinds: [] }),
      onFault: (error, attempt) => {
        this.faults.push(error)
        this.attempts.push(attempt)
      },
      forgetMs: 20_000,
      random,
      scheduler: this.clock,
    })
  }

  startEngine({
    capacity = 4,
    model = callsModel,
    engine = countingEngine(this.clock),
    ...options
  }: Partial<EngineHostOptions> & {
    readonly model?: AdvertisedModel
    readonly engine?: CountingEngine
  } = {}): VirtualEngine {
    const bus = this.broker.connect()
    const at = this.#engines.length
    const host = new EngineHost({
      ...{
        bus,
        capacity,
        onFault: () => undefined,
        scheduler: this.clock,
        name: `engine-${at}`,
        instance: String(at).padStart(16, 'e'),
      },
      models: [{ advert: model, engine }],
      ...options,
    })
    const started = { host, engine, bus, kill: () => void bus.close() }
    this.#engines.push(started)
    return started
  }

  get busyCount(): number {
    return this.#engines.filter(({ engine }) => engine.open() > 0).length
  }

  /** The engine that has the only open segment. */
  get busy(): VirtualEngine {
    const busy = this.#engines.filter(({ engine }) => engine.open() > 0)
    if (busy[0] === undefined || busy.length > 1) throw new Error(`${busy.length} engines are busy`)
    return busy[0]
  }

  advance(ms: number): void {
    // Answers are gathered in microtasks, so a step of virtual time must not be longer than a message.
    this.clock.advanceTo(this.clock.now() + ms)
  }

  /** Lets time pass in steps, between which promises settle. */
  async pass(ms: number): Promise<void> {
    for (let at = 0; at < ms; at += stepMs) {
      this.advance(Math.min(stepMs, ms - at))
      await flushPromises()
    }
  }

  async engineOf(name = 'calls'): Promise<Engine> {
    const model = this.models.find({ tenant: 'Default', name })
    if (model === undefined) throw new Error(`no model ${name}`)
    return this.models.engine(model)
  }

  async openLane(settings?: RecognizeSettings): Promise<Lane> {
    return new Lane(this, await this.engineOf(), settings)
  }

  async close(): Promise<void> {
    await this.models.close()
    for (const { host } of this.#engines) host.close()
  }
}

const stepMs = 20

/** A channel of a session. */
export class Lane {
  readonly results: Hypothesis[] = []
  error: unknown
  readonly #part$ = new Subject<SegmentPart>()
  readonly #fleet: VirtualFleet
  readonly #subscription
  #startMs = 0
  #samples: number[] = []

  constructor(fleet: VirtualFleet, engine: Engine, settings?: RecognizeSettings) {
    this.#fleet = fleet
    this.#subscription = this.#part$.pipe(engine.recognize(settings)).subscribe({
      next: (hypothesis) => this.results.push(hypothesis),
      error: (error: unknown) => (this.error = error),
    })
  }

  open(): void {
    this.#startMs = this.#fleet.clock.now()
    this.#samples = []
    this.#part$.next({ type: 'open', startMs: this.#startMs })
  }

  /** 100 ms of audio, at once. */
  write(): void {
    const samples = Int16Array.from({ length: 800 }, (_, index) => this.#samples.length + index)
    this.#samples.push(...samples)
    this.#part$.next({ type: 'audio', samples })
  }

  /** As long as it lasts, in real time. */
  async speak(ms: number): Promise<void> {
    for (let at = 0; at < ms; at += 100) {
      this.write()
      await this.#fleet.pass(100)
    }
  }

  check(): void {
    this.#part$.next({ type: 'check' })
  }

  /** The answers to checks. */
  get answers(): readonly boolean[] {
    return this.results.flatMap((result) => (result.type === 'checked' ? [result.isComplete] : []))
  }

  /** Ends the segment; returns the text that it must get. */
  end(isCut?: boolean): string {
    this.#part$.next({ type: 'close', endMs: this.#fleet.clock.now(), isCut })
    return textOf(this.#samples)
  }

  get texts(): readonly string[] {
    return this.results.flatMap((result) => (result.type === 'segment' ? [result.text] : []))
  }

  get progress(): number {
    return this.results.reduce((sum, result) => sum + (result.type === 'progress' ? result.sampleCount : 0), 0)
  }

  get faults(): readonly SpeechError[] {
    return this.results.flatMap((result) => (result.type === 'fault' ? [result.error] : []))
  }

  abort(): void {
    this.#subscription.unsubscribe()
  }
}
