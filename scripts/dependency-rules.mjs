// @ts-check
// What may import what: `npm run dependencies` checks src against these rules with dependency-cruiser.

/**
 * The folders of src, lowest layer first. A file imports from its own folder and from lower layers.
 *
 * @type {ReadonlyArray<ReadonlyArray<string>>}
 */
const layers = [
  ['errors'],
  ['audio', 'kernel'],
  ['protocol'],
  ['proxy'],
  ['operators', 'transport', 'auth'],
  ['session'],
  ['cassette', 'service'],
  ['testing'],
  ['cli'],
]

/**
 * What the folders of src/service may import from each other. The files directly in src/service put them together and may
 * import all of them.
 *
 * @type {Readonly<Record<string, ReadonlyArray<string>>>}
 */
const serviceFolders = {
  monitor: [],
  identity: ['monitor'],
  engine: [],
  access: ['engine', 'identity'],
  recognition: ['engine'],
  nodes: ['recognition', 'engine'],
  'custom-nodes': ['nodes', 'engine'],
  project: ['nodes', 'engine', 'recognition'],
  conversation: ['access', 'engine', 'monitor', 'nodes', 'project', 'recognition'],
  listen: ['conversation', 'identity', 'monitor'],
  operation: ['engine', 'listen', 'monitor'],
  configuration: ['conversation', 'listen', 'operation', 'project'],
}

/** The files that users of the package import. Nothing inside imports them. */
const entryPoints = '^src/(index|browser|grpc|cassette/index|service/index|service/nodes/index|testing/index)\\.ts$'

/** Programs, which are run and not imported. */
const programs =
  '^src/(cli/main|service/engine/sherpa-onnx/sherpa-(trial|worker)|service/engine/soundswallower/soundswallower-worker|service/custom-nodes/custom-node-worker)\\.ts$'

/** @param {readonly string[]} names */
const anyOf = (names) => `(${names.join('|')})`

const layerRules = layers.flatMap((folders, index) =>
  folders.map((folder) => {
    const others = [...folders.filter((other) => other !== folder), ...layers.slice(index + 1).flat()]
    return {
      name: `layer-${folder}`,
      comment: 'A file imports from its own folder or a lower layer. Move what both need down, or pass it as a parameter.',
      severity: 'error',
      from: { path: `^src/${folder}/`, pathNot: entryPoints },
      to: { path: `^src/${anyOf(others)}/` },
    }
  }),
)

const serviceRules = Object.entries(serviceFolders).map(([folder, allowed]) => ({
  name: `service-${folder}`,
  comment: 'This folder of the service may not import that one. Pass what it needs as a parameter.',
  severity: 'error',
  from: { path: `^src/service/${folder}/`, pathNot: entryPoints },
  to: { path: '^src/service/', pathNot: `^src/service/${anyOf([folder, ...allowed])}/` },
}))

const knownFolders = [...layers.flat().filter((folder) => folder !== 'service')]

export default {
  forbidden: [
    ...layerRules.filter(({ to }) => to.path !== '^src/()/'),
    ...serviceRules,
    {
      name: 'known-folder',
      comment: 'This folder is in no layer: add it to scripts/dependency-rules.mjs.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: [
          '^src/[^/]+\\.ts$',
          `^src/${anyOf(knownFolders)}/`,
          '^src/service/[^/]+\\.ts$',
          `^src/service/${anyOf(Object.keys(serviceFolders))}/`,
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
      comment: 'Folders import each other, though their files may not.',
      severity: 'error',
      scope: 'folder',
      from: { path: '^src/' },
      to: { circular: true },
    },
    {
      name: 'entry-point',
      comment: 'Inner code imports the file that holds the name, not an entry point.',
      severity: 'error',
      from: { path: '^src/', pathNot: entryPoints },
      to: { path: entryPoints },
    },
    {
      name: 'program',
      comment: 'A program is run and not imported: import what it is made of.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: programs, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'outside',
      comment: 'What is not in src is not in the build.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|bench|scripts|samples|docs)/' },
    },
    {
      name: 'unresolvable',
      comment: 'This import names nothing.',
      severity: 'error',
      from: { path: '^src/' },
      to: { couldNotResolve: true },
    },
    {
      name: 'undeclared-package',
      comment: "This package is not among the package's dependencies: declare it, or do without.",
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
      comment: 'Functions on bytes and values load no package, RxJS least of all.',
      severity: 'error',
      from: { path: '^src/(errors|audio)/' },
      to: { path: '^node_modules/', dependencyTypesNot: ['type-only'], dynamic: false },
    },
    {
      name: 'browser',
      comment: 'Browsers load this file: it needs no Node, no gRPC and nothing of the service.',
      severity: 'error',
      from: { path: '^src/browser\\.ts$' },
      to: { path: '^src/(cassette|service|testing|cli|proxy)/|^src/transport/grpc/', reachable: true },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: 'specify',
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'require', 'node', 'default', 'types'] },
  },
}
