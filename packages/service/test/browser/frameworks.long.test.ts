import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'puppeteer-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf } from '../../../../test/docs/markdown.js'
import { turnsOf } from '../interop/sample-call.js'
import { launch, needBrowser, playAsMicrophone, type BrowserName } from './browsers.js'
import { serveProject, type ServedProject } from './served-project.js'

const [greeting = ''] = turnsOf(0)

/** The program of the recipe, and one that shows the component for a moment, then the same for the shim. */
const [recipe] = blocksOf(readFileSync('docs/recipes/react.md', 'utf8')).filter(({ language }) => language === 'jsx')
const files = {
  'tsconfig.json': JSON.stringify({ compilerOptions: { jsx: 'react-jsx' } }),
  'index.html': `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>React</title></head><body>
<div id="root"></div><script type="module" src="/count.js"></script><script type="module" src="/main.jsx"></script></body></html>`,
  // Counts the sockets of the page.
  'count.js': `globalThis.sockets = []
const Standard = WebSocket
globalThis.WebSocket = class extends Standard { constructor(...args) { super(...args); sockets.push(this) } }`,
  'main.jsx': recipe?.text ?? '',
  'unmount.html': `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>unmount</title></head><body>
<div id="root"></div><script type="module" src="/unmount.jsx"></script></body></html>`,
  'unmount.jsx': `import { useMemo } from 'react'
import { createRoot } from 'react-dom/client'
import { recognize } from 'rxspeech'
import { microphone } from 'rxspeech/microphone'
import { useTranscript } from 'rxspeech/react'
const service = await (await fetch('/session.json')).json()
const Live = () => {
  const session$ = useMemo(() => {
    const audio$ = microphone({ sampleRateHz: 8000 })
    return recognize({ ...service, format: audio$.format })(audio$)
  }, [])
  const { text, state } = useTranscript(session$)
  return <p id="live" data-state={state}>{text}</p>
}
const root = createRoot(document.querySelector('#root'))
root.render(<Live />)
globalThis.unmount = () => root.unmount()
document.title = 'ready'`,
  'shim.html': `<!doctype html><html lang="en-US"><head><meta charset="utf-8"><title>shim</title></head><body>
<button id="start">start</button><p id="text"></p><script type="module" src="/shim.js"></script></body></html>`,
  // As a page does that was written for the browser's own class.
  'shim.js': `import { createSpeechRecognition } from 'rxspeech/speech-recognition'
import { microphone } from 'rxspeech/microphone'
const { url, token, model } = await (await fetch('/session.json')).json()
const audio = () => microphone({ sampleRateHz: 8000 })
globalThis.SpeechRecognition = createSpeechRecognition({ url, token, audio, models: { 'en-US': model } })
globalThis.seen = []
const recognition = new SpeechRecognition()
recognition.interimResults = true
recognition.onresult = ({ results, resultIndex }) => {
  const result = results[resultIndex]
  seen.push(result.isFinal ? 'final' : 'interim')
  document.querySelector('#text').textContent = result[0].transcript
}
for (const type of ['start', 'end', 'error']) recognition.addEventListener(type, (event) => seen.push(event.error ?? type))
document.querySelector('#start').onclick = () => recognition.start()
document.title = 'ready'`,
}

declare const openStreams: readonly MediaStream[]

let project: ServedProject
beforeAll(async () => {
  project = await serveProject(files)
})
afterAll(() => project.close())

describe.each<BrowserName>(['chromium', 'firefox'])('frameworks in %s', (name) => {
  const needed = needBrowser(name)
  let browser: Browser | undefined
  afterEach(async () => {
    await browser?.close()
    browser = undefined
  })

  const open = async (path: string): Promise<Page> => {
    browser = await launch(name)
    const tab = await browser.newPage()
    await playAsMicrophone(tab, project.wav)
    await tab.goto(project.url + path)
    return tab
  }
  /** The page has opened one device, and it is live or ended. A busy machine opens it after the session. */
  const deviceIs = (tab: Page, state: 'live' | 'ended'): Promise<unknown> =>
    tab.waitForFunction(
      (expected) => openStreams.map((stream) => stream.getTracks()[0]?.readyState).join() === expected,
      {},
      state,
    )
  const test = (title: string, run: () => Promise<void>): void => {
    it.skipIf(needed.areAbsent)(needed.title(title), run)
  }

  test('shows dictation with the component of docs/recipes/react.md, in strict mode with one session and one device', async () => {
    const tab = await open('')
    await tab.waitForSelector('button')
    await tab.click('button')
    await tab.waitForFunction((text) => document.querySelector('p')?.textContent === text, {}, greeting)
    expect(await tab.$eval('button', ({ textContent }) => textContent)).toBe('Stop')
    expect(await tab.$eval('meter', (meter) => meter.getAttribute('aria-label'))).toBe('Microphone: live')
    expect(
      await tab.evaluate(() => (globalThis as unknown as { readonly sockets: readonly unknown[] }).sockets.length),
    ).toBe(1)
    await deviceIs(tab, 'live')
    await tab.click('button')
    await tab.waitForFunction(() => document.querySelector('button')?.textContent === 'Speak')
    expect(await tab.$eval('p', ({ textContent }) => textContent)).toBe(greeting)
    await deviceIs(tab, 'ended')
  })

  test('aborts the session of a component that is unmounted, and releases its device', async () => {
    const tab = await open('unmount.html')
    await tab.waitForFunction(() => document.querySelector('#live')?.getAttribute('data-state') === 'streaming')
    await deviceIs(tab, 'live')
    await tab.evaluate(() => (globalThis as unknown as { unmount: () => void }).unmount())
    await deviceIs(tab, 'ended')
  })

  test('runs a page of the Web Speech API', async () => {
    const tab = await open('shim.html')
    await tab.waitForFunction(() => document.title === 'ready')
    await tab.click('#start')
    const seen = (): Promise<readonly string[]> =>
      tab.evaluate(() => (globalThis as unknown as { readonly seen: readonly string[] }).seen)
    await tab.waitForFunction(() =>
      (globalThis as unknown as { readonly seen: readonly string[] }).seen.includes('end'),
    )
    const events = await seen()
    expect(events[0]).toBe('start')
    expect(events.slice(-2)).toEqual(['final', 'end'])
    expect(events).toContain('interim')
    expect(await tab.$eval('#text', ({ textContent }) => textContent)).toBe(greeting)
    await deviceIs(tab, 'ended')
  })
})
