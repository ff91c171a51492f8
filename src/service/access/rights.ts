export { isGranted, isGrantedByName } from '../identity/subscription.js'

/** What a token grants; `*` stands for all. */
export interface Rights {
  readonly tenants: readonly string[]
  readonly projects: readonly string[]
  readonly models: readonly string[]
}
