// @ts-check
// What may import what: `npm run layers` checks src against these rules with dependency-cruiser.

/**
 * The folders of src, lowest layer first. A file imports from its own folder and from lower layers.
 *
 * @type {ReadonlyArray<ReadonlyArray<string>>}
 */
export const layers = [
  ['errors'],
  ['audio', 'kernel'],
  ['protocol'],
  ['proxy', 'tracing'],
  ['operators', 'transport', 'auth'],
  ['client', 'microphone'],
  ['cassette', 'react', 'service', 'speech-recognition'],
  ['testing', 'cli', 'studio'],
]

/**
 * What the folders inside a folder of src may import from each other. The files directly in it may import all of them.
 *
 * @type {Readonly<Record<string, Readonly<Record<string, ReadonlyArray<string>>>>>}
 */
export const innerLayers = {
  cassette: {
    format: [],
    record: ['format'],
    replay: ['format', 'record'],
  },
  testing: {
    faults: [],
    verifying: [],
  },
  service: {
    monitor: [],
    identity: ['monitor', 'threads', 'nats'],
    threads: [],
    nats: ['threads'],
    engines: ['threads', 'nats'],
    recognition: ['engines'],
    nodes: ['recognition', 'engines'],
    'custom-nodes': ['nodes', 'engines', 'threads'],
    project: ['nodes', 'engines', 'recognition', 'threads'],
    sessions: ['engines', 'identity', 'monitor', 'project', 'recognition'],
    recognizer: ['engines', 'monitor', 'recognition', 'sessions'],
    dataflow: ['engines', 'monitor', 'nodes', 'project', 'sessions'],
    listen: ['dataflow', 'recognizer', 'sessions', 'identity', 'monitor'],
    operations: ['engines', 'listen', 'monitor', 'threads'],
    workers: ['identity', 'listen', 'operations', 'sessions'],
    machines: ['identity', 'nats', 'sessions'],
    studio: ['engines', 'identity', 'sessions'],
    configuration: [
      'engines',
      'identity',
      'listen',
      'monitor',
      'nodes',
      'operations',
      'project',
      'sessions',
      'custom-nodes',
      'studio',
      'threads',
    ],
    start: [
      'configuration',
      'engines',
      'identity',
      'listen',
      'machines',
      'monitor',
      'nats',
      'nodes',
      'operations',
      'project',
      'recognition',
      'sessions',
      'custom-nodes',
      'studio',
      'threads',
      'workers',
    ],
  },
}

/** The files that users of the package import. No other file imports them. */
export const entryPoints = [
  'index.ts',
  'microphone.ts',
  'react.ts',
  'speech-recognition.ts',
  'grpc.ts',
  'cassette.ts',
  'service.ts',
  'nodes.ts',
  'testing.ts',
]
const entryPoint = `^src/(${entryPoints.join('|').replaceAll('.', '\\.')})$`

/** Programs, which are run and not imported. */
export const programs = [
  'cli/main.ts',
  'service/engines/catalogue/bunzip-worker.ts',
  'service/engines/sherpa-onnx/worker.ts',
  'service/engines/soundswallower/worker.ts',
  'service/custom-nodes/custom-node-worker.ts',
  'service/start/worker-main.ts',
]
const program = `^src/(${programs.join('|').replaceAll('.', '\\.')})$`

/** @param {readonly string[]} names */
const anyOf = (names) => `(${names.join('|')})`

const layerRules = layers.flatMap((folders, index) =>
  folders.map((folder) => {
    const others = [...folders.filter((other) => other !== folder), ...layers.slice(index + 1).flat()]
    return {
      name: `layer-${folder}`,
      comment:
        'A file imports from its own folder or a lower layer. Move shared code to a lower layer, or pass it as a parameter.',
      severity: 'error',
      from: { path: `^src/${folder}/` },
      to: { path: `^src/${anyOf(others)}/` },
    }
  }),
)

const innerRules = Object.entries(innerLayers).flatMap(([outer, folders]) =>
  Object.entries(folders).map(([folder, allowed]) => ({
    name: `${outer}-${folder}`,
    comment: 'This folder must not import that one. Pass what it needs as a parameter.',
    severity: 'error',
    from: { path: `^src/${outer}/${folder}/` },
    to: { path: `^src/${outer}/`, pathNot: `^src/${outer}/${anyOf([folder, ...allowed])}/` },
  })),
)

const isSubdivided = (/** @type {string} */ folder) => folder in innerLayers
const knownFolders = [
  ...layers.flat().filter((folder) => !isSubdivided(folder)),
  ...Object.entries(innerLayers).flatMap(([outer, folders]) =>
    Object.keys(folders).map((folder) => `${outer}/${folder}`),
  ),
]

export default {
  forbidden: [
    ...layerRules.filter(({ to }) => to.path !== '^src/()/'),
    ...innerRules,
    {
      name: 'known-folder',
      comment: 'This folder is in no layer: add it to scripts/dependency-rules.mjs.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: [
          '^src/[^/]+\\.ts$',
          `^src/${anyOf(knownFolders)}/`,
          `^src/${anyOf(Object.keys(innerLayers))}/[^/]+\\.ts$`,
        ],
      },
      to: {},
    },
    {
      name: 'no-cycle',
      comment: 'Files import each other.',
      severity: 'error',
      from: { path: '^src/' },
      to: { circular: true },
    },
    {
      name: 'no-folder-cycle',
      comment: 'Folders import each other.',
      severity: 'error',
      scope: 'folder',
      from: { path: '^src/' },
      to: { circular: true },
    },
    {
      name: 'entry-point',
      comment: 'Import the file that defines the name, not an entry point.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/studio/' },
      to: { path: entryPoint },
    },
    {
      name: 'studio',
      comment:
        'The studio is a page like those of users: it imports public entry points only, by the name of the package.',
      severity: 'error',
      from: { path: '^src/studio/' },
      to: { path: '^(src|dist)/', pathNot: '^src/(studio/|index\\.ts$|microphone\\.ts$)' },
    },
    {
      name: 'program',
      comment: 'A program is run, not imported: import the files that it uses.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: program, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'outside',
      comment: 'Files outside src are not in the build.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|bench|scripts|samples|docs)/' },
    },
    {
      name: 'unresolvable',
      comment: 'This import cannot be resolved.',
      severity: 'error',
      from: { path: '^src/' },
      to: { couldNotResolve: true },
    },
    {
      name: 'undeclared-package',
      comment: "This package is not among the package's dependencies: declare or remove it.",
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only', 'npm-peer'] },
    },
    {
      name: 'optional-package',
      comment: 'This package is optional: load it with await import() where it is needed.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/cli/' },
      to: { dependencyTypes: ['npm-optional'], dependencyTypesNot: ['type-only'], dynamic: false },
    },
    {
      name: 'no-package',
      comment: 'Functions on bytes and values import no package, not even RxJS.',
      severity: 'error',
      from: { path: '^src/(errors|audio)/' },
      to: { dependencyTypes: ['npm', 'npm-peer', 'npm-optional'], dependencyTypesNot: ['type-only'], dynamic: false },
    },
    {
      name: 'browser',
      comment: 'Browsers load this file: it must not import Node modules, gRPC or the service.',
      severity: 'error',
      from: { path: '-in-browser\\.ts$|^src/(audio|operators)/' },
      to: { path: '^src/(cassette|service|testing|cli|proxy)/|^src/transport/grpc/', reachable: true },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: 'specify',
    doNotFollow: { path: 'node_modules' },
    skipAnalysisNotInRules: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
}
