import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'puppeteer-core'
import { build } from 'rolldown'
import { firstValueFrom } from 'rxjs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { nodeFetch } from '../../../../src/auth/node-fetch.js'
import { requestToken } from '../../../../src/auth/request-token.js'
import { noLoadLimits } from '../plain-service.js'
import { startDevelopmentService, type DevelopmentService } from '../../src/start/development-service.js'
import { blocksOf } from '../../../../test/docs/markdown.js'
import { callModels, credentialsOf } from '../interop/live-service.js'
import { turnsOf } from '../interop/sample-call.js'
import { freePort } from '../../../../test/transport/tcp-proxy.js'
import { launch, needBrowser, playAsMicrophone, type BrowserName, type LaunchOptions } from './browsers.js'
import { captionPage, captionProgram, type Seen } from './caption-page.js'
import {
  buildWithVite,
  createPageProject,
  serveFiles,
  serveWithVite,
  type PageProject,
  type ServedPage,
} from './page-project.js'
import { writeSpokenWav } from './spoken-wav.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

const [greeting = '', question = ''] = turnsOf(0)
/** The restaurant's first two sentences, and the pauses around them. */
const greetingMs = { fromMs: 0, toMs: 3_600 }
const questionMs = { fromMs: 6_400, toMs: 8_700 }

const folder = temporaryFolder()
let stateFolder: string
let service: DevelopmentService
let token: string
let port: number
let session: string
/** The page built by Vite, and its policy. */
let built: PageProject
let page: ServedPage

const startService = (): Promise<DevelopmentService> =>
  startDevelopmentService({
    modelFolders: [callModels],
    stateFolder,
    http: { host: '127.0.0.1', port },
    grpc: { host: '127.0.0.1', port: 0 },
    limits: noLoadLimits,
  })
const wavOf = async (name: string, ...parts: Parameters<typeof writeSpokenWav>[1]): Promise<string> => {
  const path = join(folder, `${name}.wav`)
  await writeSpokenWav(path, parts)
  return path
}
/** Allows files of the page's own origin, and connections to the service; no eval, and no Blob. */
const policy = (more = ''): Readonly<Record<string, string>> => ({
  'Content-Security-Policy': `default-src 'self'; connect-src 'self' ${new URL(service.access.wsUrl).origin}${more}`,
})

beforeAll(async () => {
  stateFolder = join(folder, 'state')
  port = await freePort()
  service = await startService()
  const fetch = nodeFetch({ ca: await readFile(service.access.ca) })
  token = (await firstValueFrom(requestToken({ ...credentialsOf(service.access), fetch }))).accessToken
  session = `#${String(new URLSearchParams({ url: service.access.wsUrl, token }))}`
  built = createPageProject({ 'main.js': captionProgram, 'index.html': captionPage() })
  page = await serveFiles(await buildWithVite(built.folder), policy())
})
afterAll(async () => {
  await page.close()
  built.remove()
  await service.close({ drainMs: 1_000 })
})

describe.each<BrowserName>(['chromium', 'firefox'])('microphone in %s', (name) => {
  const needed = needBrowser(name)
  let browser: Browser | undefined
  const cleanups: (() => unknown)[] = []
  afterEach(async () => {
    await browser?.close()
    browser = undefined
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  })

  interface Opened {
    readonly tab: Page
    readonly seen: () => Promise<Seen>
    /** Waits until what the page shows meets a condition. */
    readonly until: (isMet: (seen: Seen) => boolean) => Promise<Seen>
  }

  /** Opens a page; with a WAV file as its microphone, or else with the fake device of the browser. */
  const open = async (url: string, wav?: string, options: LaunchOptions = {}): Promise<Opened> => {
    browser = await launch(name, options)
    const tab = await browser.newPage()
    if (wav !== undefined) await playAsMicrophone(tab, wav)
    await tab.goto(url)
    await tab.waitForFunction(() => document.title === 'ready')
    const seen = (): Promise<Seen> => tab.evaluate(() => (globalThis as unknown as { readonly seen: Seen }).seen)
    const until = async (isMet: (seen: Seen) => boolean): Promise<Seen> => {
      const deadline = Date.now() + 120_000
      for (;;) {
        const now = await seen()
        if (isMet(now)) return now
        if (Date.now() > deadline)
          throw new Error(`The page shows only ${JSON.stringify({ ...now, events: now.events.slice(-9) })}`)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
    return { tab, seen, until }
  }
  const hasText = (text: string) => (seen: Seen) => seen.text.includes(text)
  const hasEnded = (seen: Seen): boolean => seen.ended !== ''
  const test = (title: string, run: () => Promise<void>): void => {
    it.skipIf(needed.areAbsent)(needed.title(title), run)
  }

  test('shows the words of a call on a page built by Vite under a strict policy, and the final after a stop', async () => {
    const { tab, until } = await open(page.url + session, await wavOf('greeting', greetingMs))
    await tab.click('#start')
    await until(hasText(greeting))
    await tab.click('#stop')
    const seen = await until(hasEnded)
    expect(seen.ended).toBe('completed')
    expect(seen.events).toContainEqual(expect.objectContaining({ type: 'final', text: greeting }))
    expect(seen.events.some(({ type }) => type === 'partial')).toBe(true)
    expect(seen.states).toEqual(['idle', 'requesting', 'live', 'idle'])
    expect(seen.peak).toBeGreaterThan(0.1)
    expect(
      await tab.evaluate(() => openStreams.map((each) => each.getTracks().map(({ readyState }) => readyState))),
    ).toEqual([['ended']])
  })

  test('shows captions with the program of docs/recipes/microphone.md, from the development server of Vite', async () => {
    const blocks = blocksOf(readFileSync('docs/recipes/microphone.md', 'utf8'))
    const blockOf = (file: string): string => blocks.find(({ text }) => text.includes(` ${file}`))?.text ?? ''
    const project = createPageProject({
      // The service of this test has the model of the call alone.
      'src/main.js': `${blockOf('main.js:').replace("'English'", "'call'")}\ndocument.title = 'ready'`,
      'index.html': blockOf('index.html -->'),
      'public/session.json': JSON.stringify({ url: service.access.wsUrl, token }),
    })
    cleanups.push(() => project.remove())
    const vite = await serveWithVite(project.folder)
    cleanups.push(() => vite.close())
    const { tab } = await open(vite.url, await wavOf('dev', greetingMs))
    await tab.click('#start')
    await tab.waitForFunction((text) => document.querySelector('#captions')?.textContent === text, {}, greeting)
    expect(await tab.$eval('#state', ({ textContent }) => textContent)).toBe('live')
    await tab.click('#stop')
    await tab.waitForFunction(() => document.querySelector('#state')?.textContent === 'idle')
  })

  test('works without a bundler: a module script, an import map and a strict policy', async () => {
    const imports = {
      ...Object.fromEntries(['rxjs', 'fp-ts', 'io-ts'].map((vendor) => [vendor, `/vendor/${vendor}.js`])),
      rxspeech: '/node_modules/rxspeech/dist/esm/browser.js',
      'rxspeech/microphone': '/node_modules/rxspeech/dist/esm/microphone-browser.js',
    }
    const importMap = JSON.stringify({ imports })
    const head = `<script type="importmap">${importMap}</script><script type="module" src="/main.js"></script>`
    const project = createPageProject({ 'main.js': captionProgram, 'index.html': captionPage(head) })
    cleanups.push(() => project.remove())
    for (const vendor of ['rxjs', 'fp-ts', 'io-ts']) {
      await build({
        cwd: project.folder,
        input: { [vendor]: vendor },
        platform: 'browser',
        output: { dir: join(project.folder, 'vendor'), format: 'es' },
        logLevel: 'silent',
      })
    }
    const hash = createHash('sha256').update(importMap).digest('base64')
    const plain = await serveFiles(project.folder, policy(`; script-src 'self' 'sha256-${hash}'`))
    cleanups.push(() => plain.close())
    const { tab, until } = await open(plain.url + session, await wavOf('plain', greetingMs))
    await tab.click('#start')
    await until(hasText(greeting))
  })

  test('uses a Blob where the file of the worklet is missing, and says what to do where a policy forbids it', async () => {
    const project = createPageProject({ 'main.js': captionProgram, 'index.html': captionPage() })
    cleanups.push(() => project.remove())
    const dist = await buildWithVite(project.folder)
    for (const file of readdirSync(join(dist, 'assets'))) {
      if (/^worklet-(?!source).*\.js$/.test(file)) rmSync(join(dist, 'assets', file))
    }
    const free = await serveFiles(dist, {})
    const strict = await serveFiles(dist, policy())
    cleanups.push(
      () => free.close(),
      () => strict.close(),
    )
    const { tab, until } = await open(free.url + session, await wavOf('blob', greetingMs))
    await tab.click('#start')
    await until(({ pieces }) => pieces > 10)
    await tab.goto(strict.url + session)
    await tab.waitForFunction(() => document.title === 'ready')
    await tab.click('#start')
    expect((await until(hasEnded)).ended).toMatch(/^source-failed: .*worklet.* set workletUrl/)
  })

  test('loses no word when the service is restarted in the middle of a sentence', async () => {
    const wav = await wavOf('restart', greetingMs, questionMs, { silenceMs: 1_000 })
    const { tab, until } = await open(page.url + session, wav)
    await tab.click('#start')
    // In the middle of the second sentence.
    await until(({ events }) =>
      events.some(({ type, text }) => type === 'partial' && String(text).includes('of course which')),
    )
    await service.close({ drainMs: 0 })
    service = await startService()
    const seen = await until(hasText(question))
    expect(seen.text.trim()).toBe(`${greeting} ${question}`)
    expect(seen.events).toContainEqual(expect.objectContaining({ type: 'resumed' }))
    expect(seen.events.filter(({ type }) => type === 'gap')).toEqual([])
    await tab.click('#stop')
    expect((await until(hasEnded)).ended).toBe('completed')
  })

  test('continues a session over 13 s of silence, and over a mute', async () => {
    // The mute is over before the question, also on a machine that is busy when the greeting ends.
    const wav = await wavOf('silence', greetingMs, { silenceMs: 13_000 }, questionMs, { silenceMs: 1_000 })
    const { tab, until } = await open(page.url + session, wav)
    await tab.click('#start')
    await until(hasText(greeting))
    const before = await tab.evaluate(() => {
      for (const track of openStreams.flatMap((each) => each.getTracks())) track.enabled = false
      return (globalThis as unknown as { readonly seen: Seen }).seen.pieces
    })
    // Two seconds of silence of a muted track.
    await until(({ pieces }) => pieces > before + 100)
    await tab.evaluate(() => {
      for (const track of openStreams.flatMap((each) => each.getTracks())) track.enabled = true
    })
    await until(hasText(question))
    await tab.click('#stop')
    const seen = await until(hasEnded)
    expect(seen.ended).toBe('completed')
    expect(seen.events.filter(({ type, cause }) => type === 'gap' && cause !== 'silence')).toEqual([])
  })

  test('ends with microphone-denied when the permission is refused', async () => {
    const { tab, until } = await open(page.url + session, undefined, { permission: 'denied' })
    await tab.click('#start')
    expect((await until(hasEnded)).ended).toMatch(/^microphone-denied: /)
  })

  test('ends with microphone-missing for a device that does not exist', async () => {
    const { tab, until } = await open(page.url + session.replace('#', '#deviceId=none&'))
    await tab.click('#start')
    expect((await until(hasEnded)).ended).toMatch(/^microphone-missing: .*deviceId/)
  })

  test('records the device of the browser', async () => {
    const { tab, until } = await open(page.url + session)
    await tab.click('#start')
    const seen = await until(({ pieces, peak }) => pieces > 50 && peak > 0.01)
    expect(seen.states).toEqual(['idle', 'requesting', 'live'])
  })

  test('ends with microphone-lost when the device ends, releases it, and can be started again', async () => {
    await writeSpokenWav(join(built.folder, 'dist/greeting.wav'), [greetingMs])
    const { tab, until } = await open(page.url + session)
    await tab.evaluate(() => {
      Object.assign(globalThis, { openStreams: [] })
      // The track of an element that plays ends with the element, as that of a device that is removed. Firefox delivers
      // no event that a page dispatches on a track itself.
      navigator.mediaDevices.getUserMedia = async () => {
        const audio = new Audio('/greeting.wav') as HTMLAudioElement & Capturing
        const stream = (audio.mozCaptureStream ?? audio.captureStream)?.call(audio) ?? new MediaStream()
        await audio.play()
        openStreams.push(stream)
        return stream
      }
    })
    await tab.click('#start')
    const seen = await until(hasEnded)
    expect(seen.ended).toMatch(/^microphone-lost: /)
    expect(seen.pieces).toBeGreaterThan(100)
    expect(seen.states).toContain('live')
    expect(seen.states.at(-1)).toBe('idle')
    await tab.click('#start')
    await until(({ pieces }) => pieces > seen.pieces + 10)
  })

  test('releases the device when the session is unsubscribed', async () => {
    const { tab, until } = await open(page.url + session, await wavOf('release', greetingMs))
    await tab.click('#start')
    await until(({ pieces }) => pieces > 10)
    const [pieces, states] = await tab.evaluate(async () => {
      const { seen, session: running } = globalThis as unknown as { seen: Seen; session: { unsubscribe: () => void } }
      running.unsubscribe()
      const before = seen.pieces
      await new Promise((resolve) => setTimeout(resolve, 300))
      return [seen.pieces - before, openStreams.map((each) => each.getTracks()[0]?.readyState)] as const
    })
    expect(pieces).toBe(0)
    expect(states).toEqual(['ended'])
  })
})

/** What both browsers have and the types do not. */
interface Capturing {
  readonly captureStream?: () => MediaStream
  readonly mozCaptureStream?: () => MediaStream
}

/** The streams that the page has opened. */
declare const openStreams: MediaStream[]
