import { createReadStream, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, ElementHandle, Page } from 'puppeteer-core'
import { lastValueFrom } from 'rxjs'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { wavHeader } from '../../../src/audio.js'
import { readWav, recognize, transcript } from '../../../src/index.js'
import { launch, type BrowserName } from '../../service/test/browser/browsers.js'
import { startStudioServer, type StudioServer } from './studio-server.js'

const axe = readFileSync(require.resolve('axe-core'), 'utf8')
export const desktop = { width: 1280, height: 800 }
export const phone = { width: 390, height: 844 }

/** Something that is open from before the first test of a `describe` or file until after its last. */
const openForTests = <A>(open: () => Promise<A>, close: (opened: A) => Promise<unknown>): (() => A) => {
  let opened: A | undefined
  const get = (): A => {
    if (opened === undefined) throw new Error('It is open in tests only.')
    return opened
  }
  beforeAll(async () => {
    opened = await open()
  })
  afterAll(() => close(get()))
  return get
}

export const studioForTests = (): (() => StudioServer) => openForTests(startStudioServer, (studio) => studio.close())

export const browserForTests = (name: BrowserName): (() => Browser) =>
  openForTests(
    () => launch(name, { autoplays: true }),
    (browser) => browser.close(),
  )

/** The sample call up to the end of its fourth line, 0:11, which is recognized in less time. */
export const beginningOfCall = (): readonly Uint8Array[] => {
  const format = { encoding: 'ulaw', sampleRateHz: 8000, channels: 2 } as const
  const headerBytes = wavHeader(format, 0).length
  const samples = readFileSync('samples/call.wav').subarray(headerBytes, headerBytes + 11.7 * 16_000)
  return [wavHeader(format, samples.length), samples]
}

/** A page, and what it must not do: errors on the console, and requests to other origins. */
export interface OpenedPage {
  readonly page: Page
  readonly faults: string[]
}

/** The page of the studio, ready for a person, until the test ends. */
export const openStudio = async (
  browser: Pick<Browser, 'newPage'>,
  url: string,
  ready = '#choose-files:enabled',
): Promise<OpenedPage> => {
  const page = await browser.newPage()
  // More than the 30 s of puppeteer, because the machine may be busy.
  page.setDefaultTimeout(120_000)
  onTestFinished(async () => {
    if (!page.isClosed()) await page.close()
  })
  const faults: string[] = []
  page.on('console', (message) => {
    // Chromium has suggestions for forms of the type "verbose".
    if (['error', 'warn', 'verbose'].includes(message.type())) faults.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url())
    if (hostname !== '127.0.0.1' && protocol !== 'blob:' && protocol !== 'data:')
      faults.push(`A request to ${request.url()}`)
  })
  await page.setViewport(desktop)
  await page.goto(url)
  await page.waitForSelector(ready)
  return { page, faults }
}

/** The texts of all elements of a kind. */
export const textsOf = (page: Page, selector: string): Promise<readonly string[]> =>
  page.$$eval(selector, (all) => all.map((each) => (each as HTMLElement).innerText.trim()))

/** Waits until an element has a text. */
export const until = async (page: Page, selector: string, text: string): Promise<void> => {
  try {
    await page.waitForFunction(
      (query: string, expected: string) => document.querySelector(query)?.textContent.includes(expected),
      {},
      selector,
      text,
    )
  } catch {
    const shown = await page.$eval('body', (body) => body.innerText)
    throw new Error(`"${text}" does not appear in ${selector}. The page shows:\n${shown}`)
  }
}

/** Chooses files in an input. */
export const chooseFiles = async (page: Page, selector: string, ...paths: readonly string[]): Promise<void> => {
  const input = (await page.$(selector)) as ElementHandle<HTMLInputElement> | null
  if (input === null) throw new Error(`There is no ${selector}.`)
  await input.uploadFile(...paths)
}

/** Shows the instruments, which the page remembers from one test to the next. */
export const showInstruments = async (page: Page): Promise<void> => {
  await page.waitForSelector('#panel-toggle', { visible: true })
  if ((await page.$('#panel-toggle[aria-pressed=false]')) !== null) await page.click('#panel-toggle')
}

/** Chooses an option as a person does. */
export const choose = (page: Page, selector: string, index: number): Promise<unknown> =>
  page.$eval(
    selector,
    (select, chosen) => {
      ;(select as HTMLSelectElement).selectedIndex = chosen
      select.dispatchEvent(new Event('change'))
    },
    index,
  )

/** What the page would save in a format. */
export const exported = async (page: Page, format: string): Promise<readonly [name: string, content: string]> => {
  await page.evaluate(() => {
    const original = URL.createObjectURL.bind(URL)
    URL.createObjectURL = (blob: Blob) => {
      Object.assign(globalThis, { saved: blob.text() })
      return original(blob)
    }
    HTMLAnchorElement.prototype.click = function () {
      Object.assign(globalThis, { savedName: this.download })
    }
  })
  await page.click('#export-summary')
  await page.click(`[data-format=${format}]`)
  await page.waitForFunction(() => 'savedName' in globalThis)
  const result = await page.evaluate(async () => {
    const { saved, savedName } = globalThis as unknown as { saved: Promise<string>; savedName: string }
    return [savedName, await saved] as const
  })
  await page.evaluate(() => Reflect.deleteProperty(globalThis, 'savedName'))
  return result
}

export const seriousFindings = async (page: Page): Promise<readonly string[]> => {
  await page.evaluate(axe)
  return page.evaluate(async () => {
    const { violations } = await (
      globalThis as unknown as {
        axe: { run: () => Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }> }
      }
    ).axe.run()
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
  })
}

/**
 * Checks a state of the page in both schemes on a phone and a desktop, without motion, because axe would measure colors
 * that still change. Writes pictures into the folder `STUDIO_SHOTS`, if there is one.
 */
export const checkAccess = async (page: Page, state: string): Promise<void> => {
  for (const value of ['light', 'dark']) {
    await page.emulateMediaFeatures([
      { name: 'prefers-color-scheme', value },
      { name: 'prefers-reduced-motion', value: 'reduce' },
    ])
    for (const viewport of [phone, desktop]) {
      await page.setViewport(viewport)
      const findings = await seriousFindings(page)
      const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)
      expect({ state, value, ...viewport, findings, isWide }).toEqual({
        ...{ state, value, ...viewport },
        ...{ findings: [], isWide: false },
      })
      const { STUDIO_SHOTS: folder } = process.env
      if (folder !== undefined) await page.screenshot({ path: join(folder, `${state}-${value}-${viewport.width}.png`) })
    }
  }
}

export const textOf = (page: Page, selector: string): Promise<string> =>
  page.$eval(selector, (found) => found.textContent)

/** The definitive text of each speaker. */
export const speakersOf = (page: Page): Promise<Record<string, string>> =>
  page.$$eval('.line', (lines) =>
    lines.reduce<Record<string, string>>((texts, line) => {
      const speaker = String(line.querySelector('.name')?.textContent)
      return {
        ...texts,
        [speaker]: `${texts[speaker] ?? ''} ${String(line.querySelector('.text')?.textContent)}`.trim(),
      }
    }, {}),
  )

/** The text of the sample call by a session in Node, without a loss. */
export const transcribeCall = async (studio: StudioServer): Promise<Record<string, string>> => {
  const { format, audio } = await readWav(createReadStream('samples/call.wav'))
  const { wsUrl: url, defaultModel: model = '' } = studio.service
  const session = recognize({ url, model, format, token: await studio.token() })
  const { channels } = await lastValueFrom(session(audio).pipe(transcript()))
  const [restaurant = '', guest = ''] = channels.map(({ committed }) => committed.trim())
  return { Restaurant: restaurant, Guest: guest }
}

/** A file of a second without speech. */
export const silenceIn = async (folder: string): Promise<string> => {
  const file = join(folder, 'silence.wav')
  const samples = Buffer.alloc(16_000)
  await writeFile(file, [wavHeader({ encoding: 'pcm', sampleRateHz: 8000, channels: 1 }, samples.length), samples])
  return file
}
