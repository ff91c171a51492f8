/** How a node failed: it threw or errored; did not end in time; said too much; or held up its thread. */
export type FaultKind = 'threw' | 'hung' | 'flooded' | 'blocked'

/**
 * A node's failure as whoever hosts it found it; any other error of a node counts as `threw`. The message is for the
 * operator: it may hold what the node's author wrote. Told apart by `name`, for two builds of the package may meet.
 */
export class NodeFault extends Error {
  override readonly name = 'NodeFault'
  readonly kind: FaultKind

  constructor(kind: FaultKind, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options)
    this.kind = kind
  }
}

export const isNodeFault = (error: unknown): error is NodeFault =>
  error instanceof Error && error.name === 'NodeFault' && 'kind' in error
