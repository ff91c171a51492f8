/** Whether new sessions are welcome, and why not. */
export type Readiness =
  | { readonly type: 'starting' }
  | { readonly type: 'ready' }
  | { readonly type: 'without-engine' }
  | { readonly type: 'draining' }

const sentences: Readonly<Record<Readiness['type'], string>> = {
  starting: 'starting: the service does not listen yet, or its first engine is not loaded',
  ready: 'ready',
  'without-engine': 'without-engine: no model can be loaded; the log says why',
  draining: 'draining: the service is closing',
}

/** One line for `/readyz`. */
export const readinessLine = ({ type }: Readiness): string => `${sentences[type]}\n`

export interface ReadinessInputs {
  readonly isOpen: boolean
  readonly isDraining: boolean
  /** Whether an engine that is to be there from the beginning is still awaited. */
  readonly isWarming: boolean
  readonly hasEngine: boolean
}

export const readinessOf = ({ isOpen, isDraining, isWarming, hasEngine }: ReadinessInputs): Readiness => {
  if (isDraining) return { type: 'draining' }
  if (!isOpen || isWarming) return { type: 'starting' }
  return hasEngine ? { type: 'ready' } : { type: 'without-engine' }
}
