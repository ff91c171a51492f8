/** What stands in a label in place of names beyond the bound. */
export const otherName = 'other'

/**
 * Lets so many different names into a label, and calls all others `other`. Names of models, tenants and wires are
 * configured, so the bound is for a configuration that is itself too large to be watched by name.
 */
export class BoundedNames {
  readonly #known = new Set<string>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  of(name: string | undefined): string {
    if (name === undefined || this.#known.has(name)) return name ?? ''
    if (this.#known.size >= this.#most) return otherName
    this.#known.add(name)
    return name
  }
}
