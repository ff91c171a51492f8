/** Every key that a project file knows, by the table it stands in. `docs/PROJECTS.md` is held equal by a test. */
export const projectKeys = {
  project: ['version', 'name', 'model', 'inputs', 'resources', 'nodes', 'wires', 'limits'],
  model: ['tenant', 'name', 'version'],
  inputs: ['encodings', 'sampleRatesHz', 'channels'],
  resource: ['model', 'file', 'secret'],
  secret: ['env'],
  node: ['node', 'options', 'onFault'],
  wire: ['from', 'to', 'holds', 'whenFull'],
  limits: ['maxSessionMs', 'idleMs', 'maxPendingAudioMs', 'finishWithinMs', 'maxCallMs'],
} as const

export const maxNodes = 100
export const maxWires = 400
export const maxResources = 100
/** The longest project file, in bytes. */
export const maxProjectBytes = 1_048_576
/** The longest file that a project may name as a resource, in bytes. */
export const maxResourceBytes = 10 * 1_048_576

/** What each limit of a project may be. A service takes the tighter of its own and the project's. */
export const limitRanges: Readonly<Record<(typeof projectKeys.limits)[number], readonly [number, number]>> = {
  maxSessionMs: [1000, 2 ** 31 - 1],
  idleMs: [1000, 2 ** 31 - 1],
  maxPendingAudioMs: [500, 60_000],
  finishWithinMs: [100, 600_000],
  maxCallMs: [10, 10_000],
}

/** What a wire may hold. An engine takes audio in steps of 100 ms; a wire that holds less than a few would stand still. */
export const holdsRanges = { ms: [500, 60_000], items: [2, 10_000] } as const

/** What a wire of events holds where the project says nothing. */
export const defaultHeldItems = 1000
