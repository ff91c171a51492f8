// @ts-check
// The one table of floors. A file imports from its own folder or from a lower floor; `docs/ARCHITECTURE.md` draws it.

/**
 * The folders of src, lowest floor first.
 *
 * @type {ReadonlyArray<ReadonlyArray<string>>}
 */
export const floors = [
  ['errors'],
  ['audio', 'kernel'],
  ['protocol'],
  ['proxy'],
  ['operators', 'transport', 'auth'],
  ['client'],
  ['cassette', 'service'],
  ['testing', 'cli', 'web'],
]

/**
 * Imports between folders of one floor that are allowed all the same, as `from: [to]`.
 *
 * @type {Readonly<Record<string, ReadonlyArray<string>>>}
 */
export const sideways = {}

/**
 * What the folders inside a folder may import from each other. The files that lie directly in it stand above them all.
 *
 * @type {Readonly<Record<string, Readonly<Record<string, ReadonlyArray<string>>>>>}
 */
export const rooms = {
  cassette: {
    format: [],
    record: ['format'],
    replay: ['format', 'record'],
    chart: ['format'],
  },
  testing: {
    faults: [],
    verifying: [],
  },
  service: {
    monitor: [],
    identity: ['monitor'],
    engine: [],
    recognition: ['engine'],
    nodes: ['recognition', 'engine'],
    'custom-nodes': ['nodes', 'engine'],
    project: ['nodes', 'engine', 'recognition'],
    sessions: ['engine', 'identity', 'monitor', 'project'],
    recognizer: ['engine', 'monitor', 'recognition', 'sessions'],
    dataflow: ['engine', 'monitor', 'nodes', 'project', 'sessions'],
    listen: ['dataflow', 'recognizer', 'sessions', 'identity', 'monitor'],
    operations: ['engine', 'listen', 'monitor'],
    configuration: ['sessions', 'listen', 'operations', 'project'],
    start: [
      'engine',
      'identity',
      'listen',
      'monitor',
      'nodes',
      'operations',
      'project',
      'recognition',
      'sessions',
      'custom-nodes',
    ],
  },
}

/** The files that users of the package import. They may import anything that they re-export. */
export const doors = [
  'index.ts',
  'browser.ts',
  'grpc.ts',
  'cassette/index.ts',
  'service/index.ts',
  'service/nodes/index.ts',
  'testing/index.ts',
]

/** The door that runs in browsers, and all that may be reached from it. */
export const browserDoor = {
  file: 'browser.ts',
  packages: ['rxjs', 'fp-ts', 'io-ts', 'isomorphic-ws'],
  folders: ['errors', 'audio', 'kernel', 'protocol', 'operators', 'transport', 'auth', 'client'],
  /** Names that only Node has; a file that asks `typeof process` first may use them. */
  nodeGlobals: ['Buffer', 'process', '__dirname', '__filename', 'require', 'setImmediate', 'global'],
}

/** Files that are run, not imported: the only ones whose top level may do something. */
export const programs = [
  'cli/main.ts',
  'service/engine/sherpa-onnx/sherpa-trial.ts',
  'service/engine/sherpa-onnx/sherpa-worker.ts',
  'service/engine/soundswallower/soundswallower-worker.ts',
  'service/custom-nodes/custom-node-worker.ts',
]

/** Folders of pure functions on bytes and values: no package is loaded with them, RxJS least of all. */
export const packageless = ['errors', 'audio']
