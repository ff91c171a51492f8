import { modelLabel } from 'rxspeech-engines/models/model-json'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { mayOffer, NamePrecedence, type ModelsByName } from './model-names.js'
import { maxEngineModels, type AdvertisedModel, type ProcessAddress } from './protocol.js'

/** Models of all engine processes together; others are ignored. */
export const maxFleetModels = 1_000
/** Of those, models that one name has offered first: so that none can take the room of all others. */
const maxModelsOfName = maxFleetModels - maxEngineModels
/** What is ignored is reported again after this many ticks of 100 ms. */
const reportAgainTicks = 600
/** More is not reported within that time. */
const maxReports = 64

export interface ModelOffersOptions {
  /** Which models engine processes of which names may offer. @default every name all of them */
  readonly models?: ModelsByName | undefined
  /**
   * Whether a model is used only of the name that offered it first, while that has an engine process. @default false
   */
  readonly prefersFirstName?: boolean | undefined
}

/** An engine process with the models that are taken of its adverts. */
interface OfferingProcess {
  readonly address: ProcessAddress
  models: ReadonlyMap<string, AdvertisedModel>
}

interface Offer<Process> {
  readonly processes: Set<Process>
  /** The name that offered the model first. */
  readonly by: string
}

/** Which engine processes offer which model, as far as they may. */
export class ModelOffers<Process extends OfferingProcess> {
  readonly #options: ModelOffersOptions
  /** By the label of the model. */
  readonly #offers = new Map<string, Offer<Process>>()
  /** How many models each name offered first. */
  readonly #modelsOfName = new Counts()
  readonly #names = new NamePrecedence()
  /** What was reported lately, and when. */
  readonly #reports = new Map<string, number>()
  #ticks = 0
  /** Called with what is ignored of adverts. */
  onIgnored: (error: SpeechError) => void = () => undefined

  constructor(options: ModelOffersOptions) {
    this.#options = options
  }

  get labels(): Iterable<string> {
    return this.#offers.keys()
  }

  /** The processes that are used for a model. */
  of(label: string): readonly Process[] {
    const processes = [...(this.#offers.get(label)?.processes ?? [])]
    const [model] = processes.flatMap(({ models }) => models.get(label) ?? [])
    if (this.#options.prefersFirstName !== true || model === undefined) return processes
    const first = this.#names.first(model)
    return processes.filter(({ address }) => address.name === first)
  }

  /**
   * The process offers these models from now on. What it offered before stays known throughout, so that its name keeps
   * its precedence.
   */
  replace(process: Process, models: readonly AdvertisedModel[]): void {
    const { name } = process.address
    const before = process.models
    const taken = new Map<string, AdvertisedModel>()
    for (const model of models) {
      const label = modelLabel(model)
      if (taken.has(label) || !this.#mayTake(name, model, label)) continue
      taken.set(label, model)
      this.#add(process, label)
      if (!before.has(label)) this.#names.add(model, name)
    }
    process.models = taken
    for (const [label, model] of before) if (!taken.has(label)) this.#withdraw(process, model, label)
  }

  tick(): void {
    this.#ticks += 1
    this.#names.tick()
    for (const [key, since] of this.#reports) if (this.#ticks - since >= reportAgainTicks) this.#reports.delete(key)
  }

  /** Reports each kind of each name once in a while. */
  ignore(name: string, kind: 'not listed' | 'not first' | 'models' | 'instances' | 'version', sentence: string): void {
    const key = `${name} ${kind}`
    if (this.#reports.has(key) || this.#reports.size >= maxReports) return
    this.#reports.set(key, this.#ticks)
    this.onIgnored(new SpeechError('refused', sentence))
  }

  #mayTake(name: string, model: AdvertisedModel, label: string): boolean {
    const { models, prefersFirstName = false } = this.#options
    if (models !== undefined && !mayOffer(models, name, model)) {
      this.ignore(
        name,
        'not listed',
        `The engine process ${name} offers ${label}, which engines.nats.models does not list for this name; it is not used for it.`,
      )
      return false
    }
    const isFull = this.#offers.size >= maxFleetModels || this.#modelsOfName.of(name) >= maxModelsOfName
    if (isFull && !this.#offers.has(label)) {
      this.ignore(
        name,
        'models',
        `The engine process ${name} offers more models than a service uses, which are ${maxModelsOfName} of one name and ${maxFleetModels} in all.`,
      )
      return false
    }
    const first = prefersFirstName ? this.#names.first(model) : undefined
    if (first !== undefined && first !== name) {
      this.ignore(
        name,
        'not first',
        `The engine process ${name} offers ${label}, for which ${first} is used while it is there; to use both, list both in engines.nats.models.`,
      )
    }
    return true
  }

  #add(process: Process, label: string): void {
    const known = this.#offers.get(label)
    if (known !== undefined) {
      known.processes.add(process)
      return
    }
    const by = process.address.name
    this.#offers.set(label, { processes: new Set([process]), by })
    this.#modelsOfName.add(by, 1)
  }

  #withdraw(process: Process, model: AdvertisedModel, label: string): void {
    this.#names.remove(model, process.address.name)
    const offer = this.#offers.get(label)
    offer?.processes.delete(process)
    if (offer === undefined || offer.processes.size > 0) return
    this.#offers.delete(label)
    this.#modelsOfName.add(offer.by, -1)
  }
}

/** Numbers by name, of which those that are 0 take no memory. */
export class Counts {
  readonly #counts = new Map<string, number>()

  of(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  add(name: string, change: 1 | -1): void {
    const count = this.of(name) + change
    if (count === 0) this.#counts.delete(name)
    else this.#counts.set(name, count)
  }
}
