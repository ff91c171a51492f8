/** What a token grants; `*` stands for all. */
export interface Rights {
  readonly tenants: readonly string[]
  readonly projects: readonly string[]
  readonly models: readonly string[]
}

export const isGranted = (granted: readonly string[], name: string): boolean =>
  granted.includes('*') || granted.includes(name)
