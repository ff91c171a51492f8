// @ts-check
// What may import what: `npm run layers` checks the packages against these rules with dependency-cruiser.

/**
 * The folders of the library, lowest layer first. A file imports from its own folder and from lower layers.
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
  ['ai-sdk', 'cassette', 'react', 'speech-recognition'],
  ['testing'],
]

/**
 * The other packages, each with the packages that it may import. The studio has a rule of its own.
 *
 * @type {Readonly<Record<string, ReadonlyArray<string>>>}
 */
export const packages = {
  engines: ['rxspeech'],
  server: ['rxspeech', 'engines'],
  nodes: ['rxspeech', 'server'],
  nats: ['rxspeech', 'engines', 'server'],
  dialects: ['rxspeech', 'engines', 'server'],
  service: ['rxspeech', 'engines', 'server', 'nodes', 'nats', 'dialects'],
}

/**
 * What the folders inside a folder may import from each other. The files directly in it may import all of them.
 *
 * @type {Readonly<Record<string, Readonly<Record<string, ReadonlyArray<string>>>>>}
 */
export const innerLayers = {
  'src/cassette': {
    format: [],
    record: ['format'],
    replay: ['format', 'record'],
  },
  'src/testing': {
    faults: [],
    verifying: [],
  },
  'packages/engines/src': {
    threads: [],
    models: [],
    offline: [],
    pool: ['models', 'offline', 'threads'],
    openai: ['models', 'offline'],
    remote: ['models'],
    'sherpa-onnx': ['models', 'offline', 'pool', 'threads'],
    soundswallower: ['models', 'pool', 'threads'],
    vosk: ['models'],
    wyoming: ['models', 'offline'],
    catalogue: ['models', 'sherpa-onnx', 'threads'],
    lint: ['models', 'openai', 'remote', 'sherpa-onnx', 'soundswallower', 'vosk', 'wyoming'],
  },
  'packages/server/src': {
    monitor: [],
    identity: ['monitor'],
    recognition: [],
    nodes: ['recognition'],
    'custom-nodes': ['nodes'],
    project: ['nodes', 'recognition'],
    sessions: ['identity', 'monitor', 'project', 'recognition'],
    recognizer: ['monitor', 'recognition', 'sessions'],
    dataflow: ['monitor', 'nodes', 'project', 'sessions'],
    listen: ['dataflow', 'recognizer', 'sessions', 'identity', 'monitor'],
    operations: ['listen', 'monitor', 'sessions'],
    studio: ['identity', 'sessions'],
  },
  'packages/nodes/src': {
    events: [],
    playback: [],
    recordings: [],
    signals: [],
    webhook: [],
  },
  'packages/nats/src': {
    connection: [],
    engines: ['connection'],
    identity: ['connection'],
    machines: ['connection'],
  },
  'packages/dialects/src': {
    conversation: [],
    'deepgram-listen': ['conversation'],
    'openai-errors': ['conversation'],
    'openai-realtime': ['conversation', 'openai-errors'],
    'openai-transcriptions': ['conversation', 'openai-errors'],
  },
  'packages/service/src': {
    workers: [],
    configuration: [],
    start: ['configuration', 'workers'],
    testing: ['start'],
    cli: ['configuration', 'start', 'testing'],
  },
}

/** The files that users of the packages import. No other file of their package imports them. */
export const entryPoints = [
  'src/index.ts',
  'src/ai-sdk.ts',
  'src/audio.ts',
  'src/captions.ts',
  'src/microphone.ts',
  'src/react.ts',
  'src/speech-recognition.ts',
  'src/grpc.ts',
  'src/cassette.ts',
  'src/testing.ts',
  'packages/service/src/index.ts',
  'packages/service/src/nodes.ts',
  'packages/service/src/testing.ts',
]

/** Programs, which are run and not imported. */
export const programs = [
  'packages/service/src/cli/main.ts',
  'packages/service/src/start/worker-main.ts',
  'packages/server/src/custom-nodes/custom-node-worker.ts',
  'packages/engines/src/catalogue/bunzip-worker.ts',
  'packages/engines/src/sherpa-onnx/worker.ts',
  'packages/engines/src/soundswallower/worker.ts',
]

/** @param {readonly string[]} names */
const anyOf = (names) => `(${names.join('|')})`
/** @param {readonly string[]} files */
const oneOf = (files) => `^${anyOf(files.map((file) => file.replaceAll('.', '\\.')))}$`
/** The folder of the sources of a package. @param {string} name */
const sourceOf = (name) => (name === 'rxspeech' ? 'src' : `packages/${name}/src`)
const everySource = '^(src|packages/[^/]+/src)/'

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

const packageRules = [...Object.entries(packages), /** @type {const} */ (['rxspeech', []])].map(([name, allowed]) => ({
  name: `package-${name}`,
  comment: 'This package must not import that one. Pass what it needs as a parameter.',
  severity: 'error',
  from: { path: `^${sourceOf(name)}/` },
  to: { path: everySource, pathNot: `^${anyOf([name, ...allowed].map(sourceOf))}/` },
}))

const innerRules = Object.entries(innerLayers).flatMap(([outer, folders]) =>
  Object.entries(folders).map(([folder, allowed]) => ({
    name: `${outer.replace(/^packages\/|\/src$/g, '').replaceAll('/', '-')}-${folder}`,
    comment: 'This folder must not import that one. Pass what it needs as a parameter.',
    severity: 'error',
    from: { path: `^${outer}/${folder}/` },
    to: { path: `^${outer}/[^/]+/`, pathNot: `^${outer}/${anyOf([folder, ...allowed])}/` },
  })),
)

const knownFolders = [
  ...layers.flat().map((folder) => `src/${folder}`),
  ...Object.entries(innerLayers).flatMap(([outer, folders]) =>
    Object.keys(folders).map((folder) => `${outer}/${folder}`),
  ),
]

export default {
  forbidden: [
    ...layerRules.filter(({ to }) => to.path !== '^src/()/'),
    ...packageRules,
    ...innerRules,
    {
      name: 'known-folder',
      comment: 'This folder has no place: add it to scripts/dependency-rules.mjs.',
      severity: 'error',
      from: {
        path: everySource,
        pathNot: ['^(src|packages/[^/]+/src)/[^/]+\\.ts$', `^${anyOf(knownFolders)}/`, '^packages/studio/src/'],
      },
      to: {},
    },
    {
      name: 'no-cycle',
      comment: 'Files import each other.',
      severity: 'error',
      from: { path: everySource },
      to: { circular: true },
    },
    {
      name: 'no-folder-cycle',
      comment: 'Folders import each other.',
      severity: 'error',
      scope: 'folder',
      from: { path: '^(src|packages/(server|nodes|nats|dialects|service)/src)/.' },
      to: { circular: true },
    },
    {
      name: 'entry-point',
      comment: 'Import the file that defines the name, not an entry point.',
      severity: 'error',
      // The studio and the session of Node have what users have.
      from: { path: everySource, pathNot: '^packages/(studio/|service/src/cli/repl/)' },
      to: { path: oneOf(entryPoints) },
    },
    {
      name: 'studio',
      comment:
        'The studio is a page like those of users: it imports public entry points only, by the name of the package.',
      severity: 'error',
      from: { path: '^packages/studio/src/' },
      to: {
        path: '^(src|dist|packages)/',
        pathNot: '^(packages/studio/src/|src/(index|audio|captions|microphone)\\.ts$)',
      },
    },
    {
      name: 'program',
      comment: 'A program is run, not imported: import the files that it uses.',
      severity: 'error',
      from: { path: everySource },
      to: { path: oneOf(programs), dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'outside',
      comment: 'Files outside the sources are not in the build.',
      severity: 'error',
      from: { path: everySource },
      to: { path: ['^(test|bench|scripts|samples|docs)/', '^packages/[^/]+/test/'] },
    },
    {
      name: 'unresolvable',
      comment: 'This import cannot be resolved.',
      severity: 'error',
      from: { path: everySource },
      to: { couldNotResolve: true },
    },
    {
      name: 'undeclared-package',
      comment: "This package is not among the package's dependencies: declare or remove it.",
      severity: 'error',
      from: { path: everySource, pathNot: '^packages/studio/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only', 'npm-peer'] },
    },
    {
      name: 'optional-package',
      comment: 'This package is optional: load it with await import() where it is needed.',
      severity: 'error',
      from: { path: everySource },
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
      from: { path: '^src/.*-in-browser\\.ts$|^src/(audio|operators)/' },
      to: { path: '^src/(cassette|testing|proxy)/|^src/transport/grpc/', reachable: true },
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
