import type * as Jose from 'jose' with { 'resolution-mode': 'import' }

/**
 * Loads the optional package jose. Rejects with `missing-dependency`. In a separate file, so that no declaration of the
 * package needs the types of jose.
 */
export const loadJose = (): Promise<typeof Jose> => import('jose')
