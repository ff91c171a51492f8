import type { ClientInput } from '../../service/identity/clients/manage-clients.js'
import { everything } from '../../service/identity/clients/client.js'
import { usageError } from '../process/failure.js'
import { dateFlag, durationFlag } from './time-flags.js'
import { textFlag } from './flag-values.js'

export interface StoreFlags {
  readonly state?: string
  readonly json?: boolean
}

export interface CreateFlags extends StoreFlags {
  readonly clientId?: string
  readonly tenant?: readonly string[]
  readonly project?: readonly string[]
  readonly model?: readonly string[]
  readonly validFrom?: string
  readonly validUntil?: string
  readonly introspect?: boolean
}

export interface RotateFlags extends StoreFlags {
  readonly overlap?: string
}

export type RevokeFlags = StoreFlags

export const stateFolderFlag = ({ state }: StoreFlags): string => textFlag('--state', state) ?? '.rxspeech'

const names = (flag: string, given: readonly string[] | undefined, absent: string): readonly string[] =>
  given === undefined ? [absent] : given.map((name) => textFlag(flag, name) ?? name)

/** Reads the flags of `create`. Throws `invalid-options` with a sentence that says what to give. */
export const planSubscription = (flags: CreateFlags, nowMs: number): ClientInput => {
  const clientId = textFlag('--client-id', flags.clientId)
  const validFromMs = dateFlag('--valid-from', flags.validFrom) ?? nowMs
  const validUntilMs = dateFlag('--valid-until', flags.validUntil) ?? Infinity
  if (validUntilMs <= validFromMs) throw usageError('--valid-until must be after --valid-from.')
  if (validUntilMs <= nowMs) throw usageError('--valid-until is over already; give a later one.')
  return {
    ...(clientId === undefined ? {} : { clientId }),
    tenants: names('--tenant', flags.tenant, 'Default'),
    projects: names('--project', flags.project, everything),
    models: names('--model', flags.model, everything),
    validFromMs,
    validUntilMs,
    mayIntrospect: flags.introspect === true,
  }
}

const hourMs = 3_600_000
const longestOverlapMs = 30 * 24 * hourMs

/** How long the old secret stays good, in milliseconds; an hour unless it is said. */
export const planOverlap = ({ overlap }: RotateFlags): number =>
  durationFlag('--overlap', overlap, longestOverlapMs) ?? hourMs
