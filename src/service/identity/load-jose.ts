import type * as Jose from 'jose' with { 'resolution-mode': 'import' }
import { loadOptional } from '../../errors/load-optional.js'

/** Loads jose, which is optional. Rejects with `missing-dependency`. */
export const loadJose = (): Promise<typeof Jose> => loadOptional('jose', 'The identity service', () => import('jose'))
