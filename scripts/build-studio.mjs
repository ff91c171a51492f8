// @ts-check
// Builds the page of the studio into packages/studio/dist, with the library as it was just built for browsers.
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const root = new URL('../', import.meta.url)
const path = (/** @type {string} */ file) => fileURLToPath(new URL(file, root))

await build({
  configFile: false,
  root: path('packages/studio/src'),
  base: './',
  logLevel: 'warn',
  resolve: {
    alias: [
      { find: /^rxspeech$/, replacement: path('dist/esm/browser.js') },
      { find: /^rxspeech\/audio$/, replacement: path('dist/esm/audio.js') },
      { find: /^rxspeech\/(captions|microphone)$/, replacement: path('dist/esm/$1-browser.js') },
    ],
  },
  build: {
    outDir: path('packages/studio/dist'),
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: false,
    reportCompressedSize: false,
    // A content security policy may allow files of the same origin only.
    assetsInlineLimit: 0,
    // The package that ships them has CommonJS in its files of the name `.js`.
    rolldownOptions: {
      output: { entryFileNames: 'assets/[name]-[hash].mjs', chunkFileNames: 'assets/[name]-[hash].mjs' },
    },
  },
})
