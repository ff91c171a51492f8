/**
 * Which models engine processes may offer, by their name: `*` for all, `<tenant>/*` or `<tenant>/<name>`. The name `*`
 * stands for every engine process.
 */
export type ModelsByName = Readonly<Record<string, readonly string[]>>

/** The parts of a model without its version. */
interface VersionlessModel {
  readonly tenant: string
  readonly name: string
}

/** Whether engine processes of a name may offer a model. */
export const mayOffer = (models: ModelsByName, engine: string, { tenant, name }: VersionlessModel): boolean =>
  ['*', engine]
    .flatMap((key) => (Object.hasOwn(models, key) ? (models[key] ?? []) : []))
    .some((pattern) => pattern === '*' || pattern === `${tenant}/*` || pattern === `${tenant}/${name}`)

/**
 * A name keeps its precedence for this many ticks of 100 ms after its last engine process, which may only be restarted.
 */
const keptTicks = 50
/** Models whose first name is remembered. */
const maxModels = 1_000
/** Names that are remembered of one model, apart from those with an engine process. */
const maxNames = 64

interface Offer {
  /** Its engine processes that offer the model. */
  count: number
  lostTick: number
}

/**
 * For each model the names of engine processes that offer it, in the order in which they first did. Without a list of
 * the operator this decides whose segments are whose: a name that comes later takes over none while the first one is
 * there.
 */
export class NamePrecedence {
  readonly #models = new Map<string, Map<string, Offer>>()
  #ticks = 0

  /** An engine process of this name offers the model. */
  add(model: VersionlessModel, engine: string): void {
    const key = keyOf(model)
    let offers = this.#models.get(key)
    if (offers === undefined) {
      this.#makeRoom()
      this.#models.set(key, (offers = new Map<string, Offer>()))
    }
    const offer = offers.get(engine)
    if (offer !== undefined) {
      offer.count += 1
      return
    }
    if (offers.size >= maxNames) deleteLast(offers, ({ count }) => count === 0)
    offers.set(engine, { count: 1, lostTick: 0 })
  }

  /** One of the engines that offer the model stops doing so. */
  remove(model: VersionlessModel, engine: string): void {
    const offer = this.#models.get(keyOf(model))?.get(engine)
    if (offer === undefined) return
    offer.count -= 1
    offer.lostTick = this.#ticks
  }

  /** The name whose engine processes are used for a model. */
  first(model: VersionlessModel): string | undefined {
    for (const [name, { count, lostTick }] of this.#models.get(keyOf(model)) ?? []) {
      if (count > 0 || this.#ticks - lostTick < keptTicks) return name
    }
    return undefined
  }

  tick(): void {
    this.#ticks += 1
  }

  /** Removes the latest model that no engine process has: invented ones come after real ones. */
  #makeRoom(): void {
    if (this.#models.size < maxModels) return
    deleteLast(this.#models, (offers) => [...offers.values()].every(({ count }) => count === 0))
  }
}

const deleteLast = <Value>(map: Map<string, Value>, isUnused: (value: Value) => boolean): void => {
  const unused = [...map].findLast(([, value]) => isUnused(value))
  if (unused !== undefined) map.delete(unused[0])
}

const keyOf = ({ tenant, name }: VersionlessModel): string => `${tenant}/${name}`
