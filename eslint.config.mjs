import js from '@eslint/js'
import rxjs from 'eslint-plugin-rxjs-x'
import { defineConfig, globalIgnores } from 'eslint/config'
import tseslint from 'typescript-eslint'
import { observableNames } from './scripts/lint/observable-names.mjs'

const typed = [
  'src/**/*.ts',
  'test/**/*.ts',
  'packages/*/{src,test}/**/*.ts',
  'bench/**/*.ts',
  'samples/**/*.ts',
  'scripts/**/*.ts',
  'docs/**/*.ts',
  '*.mts',
]

/** `export *` hides what an entry point exports, and exposes new internal names by accident. */
const noExportStar = { selector: 'ExportAllDeclaration', message: 'Name what is exported, one by one.' }

export default defineConfig(
  globalIgnores([
    '**/dist/',
    'coverage/',
    '**/node_modules/',
    'packages/service/samples/',
    '.rxspeech/',
    'docs/notebooks/',
  ]),
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  {
    name: 'rxspeech/every-file',
    rules: {
      eqeqeq: 'error',
      'no-duplicate-imports': 'error',
      'no-restricted-syntax': ['error', noExportStar],
      'object-shorthand': 'error',
      'prefer-const': 'error',
    },
  },
  {
    name: 'rxspeech/scripts',
    files: ['**/*.mjs', '**/*.js', '**/*.cjs'],
    languageOptions: {
      globals: Object.fromEntries(
        [
          'process',
          'console',
          'URL',
          'FormData',
          'Blob',
          'Buffer',
          'performance',
          'fetch',
          'globalThis',
          'queueMicrotask',
          'AbortController',
        ]
          .concat(['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'clearImmediate'])
          .concat(['TextEncoder', 'TextDecoder', 'AbortSignal', 'URLSearchParams', 'structuredClone', 'WebSocket'])
          .map((name) => [name, 'readonly']),
      ),
    },
  },
  {
    name: 'rxspeech/typed',
    files: typed,
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked, rxjs.configs.recommended],
    plugins: { rxspeech: { rules: { 'observable-names': observableNames } } },
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-exports': 'error',
      '@typescript-eslint/no-empty-object-type': ['error', { allowInterfaces: 'with-single-extends' }],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true, requireDefaultForNonUnion: false },
      ],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // Numbers and booleans in a template are what they look like; the rule stays for objects, null and undefined.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      // `() => subscription.unsubscribe()` reads better than a block.
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      // `Link<void>`, `Observable<void>` and `Promise<void>` are shapes of the seams.
      '@typescript-eslint/no-invalid-void-type': ['error', { allowInGenericTypeArguments: true }],
      // A codec is annotated with its model type, `const x: t.Type<X>`; `type` and `interface` models are fine there.
      '@typescript-eslint/consistent-type-definitions': 'off',
      // Deprecated names of a dependency are the business of its upgrade, and the rule is slow.
      '@typescript-eslint/no-deprecated': 'off',
      // An empty function is a listener that has nothing to do; naming it would say no more.
      '@typescript-eslint/no-empty-function': 'off',
      // It does not see that a call in between (`next` re-enters, a listener closes) changes what was asked before.
      '@typescript-eslint/no-unnecessary-condition': 'off',
      // `@typescript-eslint/unbound-method` asks the same and knows a bound arrow function when it sees one.
      'rxjs-x/no-unbound-methods': 'off',
      // `takeWhile(() => !subscriber.closed)` asks the state, not the value.
      'rxjs-x/no-ignored-takewhile-value': 'off',
      'rxspeech/observable-names': 'error',
      'rxjs-x/no-floating-observables': 'error',
      'rxjs-x/no-sharereplay-before-takeuntil': 'error',
      'rxjs-x/no-exposed-subjects': 'error',
      'rxjs-x/no-subclass': 'error',
      'rxjs-x/no-internal': 'error',
      'rxjs-x/no-nested-subscribe': 'error',
      'rxjs-x/no-subscribe-in-pipe': 'error',
      // A partial observer is what `tap` and `subscribe` take here; a lone next function is as clear.
      'rxjs-x/prefer-observer': 'off',
      'no-restricted-imports': [
        'error',
        {
          paths: [{ name: 'rxjs/operators', message: "Import from 'rxjs'; RxJS 8 has no other entry point." }],
          patterns: [
            { group: ['fp-ts/*', 'io-ts/*'], message: "Deep paths fail in Node ESM: import { … } from 'fp-ts'." },
            { group: ['rxjs/internal/*', 'rxjs/dist/*'], message: 'Internals of RxJS change without notice.' },
          ],
        },
      ],
    },
  },
  {
    name: 'rxspeech/library',
    files: ['src/**/*.ts', 'packages/*/src/**/*.ts'],
    rules: {
      // A subscription that nobody keeps can't be ended: shutdown would wait for it.
      'rxjs-x/no-ignored-subscription': 'error',
      'no-console': 'error',
    },
  },
  {
    name: 'rxspeech/browsers',
    files: [
      'src/{errors,audio,kernel,protocol,operators,client}/**/*.ts',
      'packages/studio/src/**/*.ts',
      'src/transport/{,memory/,websocket/}*.ts',
    ],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['Buffer', 'process', '__dirname', '__filename', 'require', 'setImmediate', 'global'].map((name) => ({
          name,
          message: 'Only Node has it. Use what browsers have, too.',
        })),
      ],
    },
  },
  {
    name: 'rxspeech/programs',
    files: ['packages/service/src/cli/**/*.ts'],
    rules: { 'no-console': 'off' },
  },
  {
    name: 'rxspeech/tests',
    files: ['test/**/*.ts', 'packages/*/test/**/*.ts', 'bench/**/*.ts', 'samples/**/*.ts', 'docs/**/*.ts'],
    rules: {
      // A test may read what it asserts on in the shape it likes, and hands wrong types in on purpose.
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/require-await': 'off',
      'rxjs-x/no-exposed-subjects': 'off',
    },
  },
)
