/** The keys of a project file, by table. A test keeps `docs/PROJECTS.md` equal. */
export const projectKeys = {
  project: ['version', 'name', 'model', 'inputs', 'resources', 'nodes', 'wires', 'limits'],
  model: ['tenant', 'name', 'version'],
  inputs: ['encodings', 'sampleRatesHz', 'channels'],
  resource: ['model', 'file', 'secret'],
  secret: ['env'],
  node: ['node', 'options', 'onFault'],
  wire: ['from', 'to', 'capacity', 'whenFull'],
  limits: ['maxSessionMs', 'idleMs', 'maxPendingAudioMs', 'finishWithinMs', 'maxCallMs'],
} as const

export const maxNodes = 100
export const maxWires = 400
export const maxResources = 100
/** The maximum size of a project file. */
export const maxProjectBytes = 1_048_576
/** The maximum size of a resource file. */
export const maxResourceBytes = 10 * 1_048_576

/** The range of each limit. The tighter of the service's limit and the project's counts. */
export const limitRanges: Readonly<Record<(typeof projectKeys.limits)[number], readonly [number, number]>> = {
  maxSessionMs: [1000, 2 ** 31 - 1],
  idleMs: [1000, 2 ** 31 - 1],
  maxPendingAudioMs: [500, 60_000],
  finishWithinMs: [100, 600_000],
  maxCallMs: [10, 10_000],
}

/** The range of a wire's capacity. Engines take steps of 100 ms: a wire that cannot hold several would block. */
export const capacityRanges = { ms: [500, 60_000], items: [2, 10_000] } as const

/** The capacity of a wire of events for which the project sets none. */
export const defaultCapacityItems = 1000
