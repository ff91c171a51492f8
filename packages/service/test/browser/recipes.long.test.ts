import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'puppeteer-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { blocksOf } from '../../../../test/docs/markdown.js'
import { turnsOf } from '../interop/sample-call.js'
import { launch, needBrowser, playAsMicrophone } from './browsers.js'
import { serveProject, type ServedProject } from './served-project.js'

// Packages of the registry, because the checkout needs them for nothing else: they would be half of its size.
const packages = [
  ...['core', 'common', 'compiler', 'platform-browser'].map((name) => `@angular/${name}@21.2.26`),
  ...['vue@3.5.45', '@vitejs/plugin-vue@6.0.11', '@vueuse/core@14.4.0'],
  ...['react@19.3.1', 'react-dom@19.3.1', 'react-speech-recognition@4.0.1', 'annyang@3.0.0'],
]

const [greeting = ''] = turnsOf(0)

/** The program in a recipe that begins with a comment that names its file. */
const programOf = (recipe: string, file: string): string => {
  const found = blocksOf(readFileSync(`docs/recipes/${recipe}.md`, 'utf8')).find(({ text }) =>
    new RegExp(`^(//|<!--) ${file}`).test(text),
  )
  if (found === undefined) throw new Error(`${recipe}.md has no program ${file}`)
  return found.text
}

const pageOf = (program: string): string => `<!doctype html><html lang="en-US"><head><meta charset="utf-8">
<title>recipe</title></head><body><div id="app"></div><app-root></app-root>
<script type="module" src="/${program}"></script></body></html>`

const files = {
  'tsconfig.json': JSON.stringify({
    compilerOptions: {
      target: 'es2022',
      module: 'esnext',
      moduleResolution: 'bundler',
      lib: ['es2023', 'dom', 'dom.iterable'],
      types: [],
      strict: true,
      skipLibCheck: true,
      noEmit: true,
      experimentalDecorators: true,
      useDefineForClassFields: false,
      jsx: 'react-jsx',
    },
    include: ['*.ts'],
  }),
  'vite.config.js': `import vue from '@vitejs/plugin-vue'
export default { plugins: [vue()] }
`,
  'angular.html': pageOf('angular.ts'),
  'captions.ts': programOf('angular', 'captions.ts'),
  // The captions can be removed, as a router does.
  'angular.ts': `import '@angular/compiler'
import { Component, signal } from '@angular/core'
import { bootstrapApplication } from '@angular/platform-browser'
import { Captions } from './captions'
@Component({
  selector: 'app-root',
  imports: [Captions],
  template: \`<button id="leave" (click)="isShown.set(false)">leave</button>@if (isShown()) { <app-captions /> }\`,
})
class Root {
  readonly isShown = signal(true)
}
void bootstrapApplication(Root)
`,
  'vue.html': pageOf('vue.js'),
  'use-captions.js': programOf('vue', 'use-captions.js'),
  'Captions.vue': programOf('vue', 'Captions.vue'),
  'vue.js': `import { createApp, h, ref } from 'vue'
import Captions from './Captions.vue'
const service = await (await fetch('/session.json')).json()
const isShown = ref(true)
const leave = () => h('button', { id: 'leave', onClick: () => (isShown.value = false) }, 'leave')
createApp({ render: () => [leave(), isShown.value ? h(Captions, { service }) : undefined] }).mount('#app')
`,
  'speech.js': programOf('web-speech', 'speech.js').replace("'dictation'", "'call'"),
  'annyang.html': pageOf('annyang.js'),
  'annyang.js': `import './speech.js'
import * as library from 'annyang'
const annyang = library.default ?? library
const [button, text] = [document.createElement('button'), document.createElement('p')]
document.querySelector('#app').append(button, text)
annyang.addCommands({ 'good evening *rest': (rest) => (text.textContent = 'good evening ' + rest) })
button.textContent = 'Speak'
button.onclick = () => annyang.start({ autoRestart: false, continuous: false })
`,
  'react-speech-recognition.html': pageOf('react-speech-recognition.jsx'),
  'react-speech-recognition.jsx': `import './speech.js'
import { createRoot } from 'react-dom/client'
import SpeechRecognition, { useSpeechRecognition } from 'react-speech-recognition'
SpeechRecognition.applyPolyfill(window.SpeechRecognition)
const Dictaphone = () => {
  const { finalTranscript, listening } = useSpeechRecognition()
  return (
    <>
      <button onClick={() => (listening ? SpeechRecognition.stopListening() : SpeechRecognition.startListening({ continuous: true }))}>
        {listening ? 'Stop' : 'Speak'}
      </button>
      <p>{finalTranscript}</p>
    </>
  )
}
createRoot(document.querySelector('#app')).render(<Dictaphone />)
`,
  'vueuse.html': pageOf('vueuse.js'),
  'vueuse.js': `import './speech.js'
import { createApp, h } from 'vue'
import { useSpeechRecognition } from '@vueuse/core'
createApp({
  setup() {
    const { isListening, isFinal, result, toggle } = useSpeechRecognition()
    return () => [
      h('button', { onClick: () => toggle() }, isListening.value ? 'Stop' : 'Speak'),
      h('p', isFinal.value ? result.value.trim() : ''),
    ]
  },
}).mount('#app')
`,
}

declare const openStreams: readonly MediaStream[]

const browsers = (['chromium', 'firefox'] as const).map((name) => ({ name, needed: needBrowser(name) }))

let project: ServedProject | undefined
beforeAll(async () => {
  if (browsers.every(({ needed }) => needed.areAbsent)) return
  project = await serveProject(files, packages)
})
afterAll(() => project?.close())

it('compiles the component of docs/recipes/angular.md with strict types', () => {
  const compiler = join('node_modules', 'typescript-5', 'bin/tsc')
  expect(execFileSync(process.execPath, [compiler], { cwd: project?.folder, encoding: 'utf8' })).toBe('')
})

describe.each(browsers)('recipes in $name', ({ name, needed }) => {
  // One browser for all pages, because Firefox takes seconds to start.
  let browser: Browser
  beforeAll(async () => {
    if (!needed.areAbsent) browser = await launch(name)
  })
  afterAll(async () => {
    if (!needed.areAbsent) await browser.close()
  })
  const open = async (path: string): Promise<{ readonly tab: Page; readonly faults: readonly string[] }> => {
    const tab = await browser.newPage()
    onTestFinished(() => tab.close())
    const faults: string[] = []
    tab.on('pageerror', (error) => faults.push(String(error)))
    await playAsMicrophone(tab, project?.wav ?? '')
    await tab.goto((project?.url ?? '') + path)
    await tab.waitForSelector('button', { timeout: 60_000 }).catch((cause: unknown) => {
      throw new Error(`The page shows no button. ${faults.join(' ')}`, { cause })
    })
    return { tab, faults }
  }
  // By `evaluate`, which counts as a gesture of the user: without one, a page's audio does not start.
  const click = (tab: Page, label: string): Promise<void> =>
    tab.evaluate((text) => {
      const buttons = [...document.querySelectorAll('button')]
      buttons.find(({ textContent }) => textContent === text)?.click()
    }, label)
  const hasParagraph = async (tab: Page, text: string): Promise<unknown> =>
    tab.waitForFunction(
      (expected) => [...document.querySelectorAll('p')].some(({ textContent }) => textContent.trim() === expected),
      { timeout: 60_000 },
      text,
    )
  const trackStates = (tab: Page): Promise<readonly (string | undefined)[]> =>
    tab.evaluate(() => openStreams.map((stream) => stream.getTracks()[0]?.readyState))
  const test = (title: string, run: () => Promise<void>): void => {
    it.skipIf(needed.areAbsent)(needed.title(title), run)
  }

  for (const framework of ['angular', 'vue']) {
    test(`shows dictation with the component of docs/recipes/${framework}.md, which the user ends`, async () => {
      const { tab, faults } = await open(`${framework}.html`)
      await click(tab, 'Speak')
      await hasParagraph(tab, greeting)
      expect(await trackStates(tab)).toEqual(['live'])
      await click(tab, 'Stop')
      await tab.waitForFunction(() => openStreams[0]?.getTracks()[0]?.readyState === 'ended')
      await hasParagraph(tab, greeting)
      // Another session. A click has no effect until the first one has its last results, so clicks are repeated.
      await vi.waitFor(
        async () => {
          if ((await trackStates(tab)).length < 2) await click(tab, 'Speak')
          expect(await trackStates(tab)).toEqual(['ended', 'live'])
        },
        { timeout: 60_000, interval: 100 },
      )
      expect(faults).toEqual([])
    })

    test(`releases the microphone when the component of docs/recipes/${framework}.md is removed`, async () => {
      const { tab, faults } = await open(`${framework}.html`)
      await click(tab, 'Speak')
      await tab.waitForFunction(() => openStreams[0]?.getTracks()[0]?.readyState === 'live')
      await click(tab, 'leave')
      await tab.waitForFunction(() => openStreams[0]?.getTracks()[0]?.readyState === 'ended')
      expect(faults).toEqual([])
    })
  }

  for (const library of ['react-speech-recognition', 'annyang', 'vueuse']) {
    test(`gives ${library} a class that it recognizes with`, async () => {
      const { tab, faults } = await open(`${library}.html`)
      await click(tab, 'Speak')
      await hasParagraph(tab, greeting)
      await click(tab, 'Stop')
      await tab.waitForFunction(() => openStreams[0]?.getTracks()[0]?.readyState === 'ended')
      expect(faults).toEqual([])
    })
  }
})
