import { createReadStream, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'puppeteer-core'
import { lastValueFrom } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { parseCassette } from '../../../src/cassette.js'
import { transcript, readWav, recognize } from '../../../src/index.js'
import { wavHeader } from '../../../src/audio.js'
import { launch } from '../../service/test/browser/browsers.js'
import { startStudioServer, type StudioServer } from './studio-server.js'
import { temporaryFolder } from '../../../test/temporary-folder.js'

// Long because the sample call is played at the pace of speech, and browsers start slowly.

const axe = readFileSync(require.resolve('axe-core'), 'utf8')
const desktop = { width: 1280, height: 800 }
const phone = { width: 390, height: 844 }

let studio: StudioServer
const folder = temporaryFolder()

beforeAll(async () => {
  studio = await startStudioServer()
})

afterAll(async () => {
  await studio.close()
})

/** A page, and what it must not do: errors on the console, and requests to other origins. */
interface Opened {
  readonly page: Page
  readonly faults: string[]
}

const openPage = async (browser: Browser): Promise<Opened> => {
  const page = await browser.newPage()
  onTestFinished(() => page.close())
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
  await page.goto(studio.url)
  await page.waitForSelector('#start:enabled')
  return { page, faults }
}

const textOf = (page: Page, selector: string): Promise<string> => page.$eval(selector, (found) => found.textContent)
const until = async (page: Page, selector: string, text: string): Promise<void> => {
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

/** The definitive text of each speaker. */
const textsOf = (page: Page): Promise<Record<string, string>> =>
  page.$$eval('.turn', (turns) =>
    turns.reduce<Record<string, string>>((texts, { children: [name, text] }) => {
      const speaker = String(name?.textContent)
      return { ...texts, [speaker]: `${texts[speaker] ?? ''} ${String(text?.textContent)}`.trim() }
    }, {}),
  )

/** The text of the sample call by a session in Node, without a loss. */
const undisturbed = async (): Promise<Record<string, string>> => {
  const { format, audio } = await readWav(createReadStream('samples/call.wav'))
  const { wsUrl: url, defaultModel: model = '' } = studio.service
  const session = recognize({ url, model, format, token: await studio.token() })
  const { channels } = await lastValueFrom(session(audio).pipe(transcript()))
  const [restaurant = '', guest = ''] = channels.map(({ committed }) => committed.trim())
  return { Restaurant: restaurant, Guest: guest }
}

/** Chooses an export, and returns its name and content. */
const exported = async (page: Page, format: string): Promise<readonly [name: string, content: string]> => {
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
  await page.click('#export summary')
  await page.click(`[data-format=${format}]`)
  await page.waitForFunction(() => 'savedName' in globalThis)
  const result = await page.evaluate(async () => {
    const { saved, savedName } = globalThis as unknown as { saved: Promise<string>; savedName: string }
    return [savedName, await saved] as const
  })
  await page.evaluate(() => Reflect.deleteProperty(globalThis, 'savedName'))
  return result
}

const seriousFindings = async (page: Page): Promise<readonly string[]> => {
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

const isWiderThanScreen = (page: Page): Promise<boolean> =>
  page.evaluate(() => document.documentElement.scrollWidth > innerWidth)

describe('the studio in Chromium', () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await launch('chromium', { autoplays: true })
  })

  afterAll(() => browser.close())

  it('plays the sample call, and loses no word when the line is cut', async () => {
    const { page, faults } = await openPage(browser)
    await page.click('#play-sample')
    await until(page, '#turns', 'good evening')
    expect(await textOf(page, '#announcer')).toContain('good evening')
    await until(page, '#live', 'hello')
    await page.keyboard.press('x')
    await until(page, '#incident', 'nothing lost')
    expect(await textOf(page, '#incident')).toMatch(
      /^Connection cut at \d+\.\d s on 2 channels, resumed after \d+\.\d s, \d+\.\d s of audio sent again, nothing lost\.$/,
    )
    await until(page, '#status-text', 'Ended. All results have arrived.')
    expect(await textsOf(page)).toEqual(await undisturbed())
    const ledger = await page.$$eval('#ledger-legend b', (parts) => parts.map(({ textContent }) => textContent))
    expect(ledger).toEqual([expect.stringMatching(/^65\.\d s$/), '0.0 s', '0.0 s', '0.0 s'])

    const saved: Record<string, string> = {}
    for (const format of ['text', 'vtt', 'srt', 'ndjson', 'cassette']) {
      const [, content] = await exported(page, format)
      saved[format] = content
    }
    expect(saved['text']).toMatch(/^\[0:00\] Restaurant: good evening .+\n\[0:03\] Guest: hello /)
    expect(saved['vtt']).toMatch(/^WEBVTT\n\n1\n00:00:00\.\d{3} --> 00:00:0\d\.\d{3}\n<v Restaurant>good evening/)
    expect(saved['srt']).toMatch(/^1\n00:00:00,\d{3} --> 00:00:0\d,\d{3}\nRestaurant: good evening/)
    const events = saved['ndjson']
      ?.trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type)
    // A busy service also sends other events.
    expect(events).toEqual(
      expect.arrayContaining(['connection', 'response', 'partial', 'milestone', 'resumed', 'ledger', 'final']),
    )

    const { header, lines } = parseCassette(saved['cassette'] ?? '')
    expect(header).toMatchObject({
      transport: 'websocket',
      format: { encoding: 'pcm', sampleRateHz: 8000, channels: 2 },
    })
    const channels = lines.flatMap((line) => (line.event === 'dial' ? [line.channel] : []))
    expect(channels.sort()).toEqual([0, 0, 1, 1])
    expect(saved['cassette']).not.toContain(await studio.token())
    expect(saved['cassette']).toContain('bearer.[redacted]')

    const file = join(folder, 'session.jsonl')
    await writeFile(file, saved['cassette'] ?? '')
    const before = await textsOf(page)
    const input = await page.$('#cassette')
    await (input as unknown as { uploadFile: (path: string) => Promise<void> }).uploadFile(file)
    await page.waitForSelector('#scrub-label:not([hidden])')
    expect(Object.values(await textsOf(page))).toEqual(Object.values(before))
    expect(await textOf(page, '#incident')).toContain('nothing lost')
    await page.$eval('#scrub', (slider) => {
      Object.assign(slider, { value: 5000 })
      slider.dispatchEvent(new Event('input'))
    })
    await page.waitForFunction(() => document.querySelectorAll('.turn').length === 1)
    expect(Object.values(await textsOf(page))).toEqual([expect.stringContaining('good evening')])
    expect(faults).toEqual([])

    // A new page shows all of the cassette on its timeline, so the middle is the middle of the call.
    const { page: newPage } = await openPage(browser)
    const newInput = await newPage.$('#cassette')
    await (newInput as unknown as { uploadFile: (path: string) => Promise<void> }).uploadFile(file)
    await newPage.waitForSelector('#scrub-label:not([hidden])')
    await newPage.click('#canvas')
    expect(await textOf(newPage, '#scrub-time')).toMatch(/^0:1\d/)
  })

  it('plays the sample call with its model, and everything else with another one', async () => {
    const models = [
      { name: 'animals', version: '1' },
      { name: 'call', version: '1', isSample: true },
    ]
    const other = await startStudioServer({ config: { models } })
    const page = await browser.newPage()
    await page.goto(other.url)
    await page.waitForSelector('#play-sample:enabled')
    const chosen = (): Promise<number> => page.$eval('#model', (select) => (select as HTMLSelectElement).selectedIndex)
    expect(await chosen()).toBe(1)
    await page.click('#source-microphone')
    expect(await chosen()).toBe(0)
    await page.click('#source-sample')
    expect(await chosen()).toBe(1)
    await page.close()
    await other.close()
  })

  it('proposes a model for any speech where a model of sentences found none, and starts again with it', async () => {
    const models = [
      { name: 'call', version: '1', reads: 'sentences of call.gram' },
      { name: 'call', version: '1', reads: 'any English speech' },
    ]
    const other = await startStudioServer({ config: { models, sampleCall: null } })
    const page = await browser.newPage()
    await page.goto(other.url)
    await page.waitForSelector('#start:enabled')
    const file = join(folder, 'silence.wav')
    const samples = Buffer.alloc(16_000)
    await writeFile(file, [wavHeader({ encoding: 'pcm', sampleRateHz: 8000, channels: 1 }, samples.length), samples])
    const input = await page.$('#file')
    await (input as unknown as { uploadFile: (path: string) => Promise<void> }).uploadFile(file)
    await until(page, '#proposal-text', 'The model call recognizes sentences of call.gram only, and found none.')
    await page.waitForSelector('#proposal-take', { visible: true })
    await page.click('#proposal-take')
    await page.waitForSelector('#proposal', { hidden: true })
    await until(page, '#status-text', 'Ended.')
    expect(await page.$eval('#model', (select) => (select as HTMLSelectElement).selectedIndex)).toBe(1)
    expect(await page.$eval('#proposal', (shown) => (shown as HTMLElement).hidden)).toBe(true)
    await page.close()
    await other.close()
  })

  it('plays the word at the cursor, moved by the keys', async () => {
    const { page, faults } = await openPage(browser)
    await page.keyboard.press('Space')
    await until(page, '#turns', 'good evening')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    await page.waitForFunction(() => document.querySelector('.word.current')?.textContent === 'evening')
    // It begins when its mark was seen: the page of a busy machine could be drawn only after it.
    await page.evaluate(() => {
      const { start } = AudioBufferSourceNode.prototype
      AudioBufferSourceNode.prototype.start = function () {
        Object.assign(globalThis, { begin: () => start.call(this) })
      }
    })
    await page.keyboard.press('Enter')
    await page.waitForFunction(() => document.querySelector('.word.playing')?.textContent === 'evening')
    await page.waitForFunction(() => 'begin' in globalThis)
    await page.evaluate(() => (globalThis as unknown as { readonly begin: () => void }).begin())
    await page.waitForFunction(() => document.querySelector('.word.playing') === null)
    await page.keyboard.press('?')
    expect(await page.$eval('#keys', (dialog) => dialog.hasAttribute('open'))).toBe(true)
    await page.keyboard.press('Escape')
    // Closed, and without the focus, which the browser moves later.
    await page.waitForFunction(() => document.querySelector('#keys :focus, #keys[open]') === null)
    await page.keyboard.press('Space')
    await until(page, '#status-text', 'Stopped.')
    expect(faults).toEqual([])
  })

  it('mutes its source, moves its timeline, and shows what came while it was in the background', async () => {
    const { page, faults } = await openPage(browser)
    const untilLive = (isLive: boolean): Promise<unknown> => page.waitForSelector(`#zoom-live[aria-pressed=${isLive}]`)
    await page.click('#play-sample')
    await until(page, '#turns', 'good evening')

    const box = await (await page.$('#canvas'))?.boundingBox()
    if (!box) throw new Error('The timeline is not shown.')
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
    await untilLive(true)
    await page.mouse.move(x, y)
    await page.mouse.down()
    await page.mouse.move(x + 40, y, { steps: 4 })
    await page.mouse.up()
    await untilLive(false)
    expect(await page.$('.word.current')).toBeNull()
    await page.click('#zoom-live')
    await untilLive(true)
    await page.mouse.move(x, y)
    await page.mouse.wheel({ deltaX: 30 })
    await untilLive(false)
    await page.click('#zoom-fit')
    // From the left, until there are words.
    let clickX = box.x + 88
    await expect
      .poll(async () => {
        await page.mouse.click((clickX += 12), y)
        return page.$('.word.current')
      })
      .not.toBeNull()

    const other = await browser.newPage()
    onTestFinished(() => other.close())
    await other.bringToFront()
    await page.waitForFunction(() => document.hidden, { polling: 100 })
    const turnsBefore = (await page.$$('.turn')).length
    await new Promise((resolve) => setTimeout(resolve, 4000))
    expect((await page.$$('.turn')).length).toBe(turnsBefore)
    await page.bringToFront()
    await until(page, '#turns', 'which day would you like')

    await page.click('#mute')
    await until(page, '#mute', 'Muted')
    expect(await page.$eval('#mute', (button) => button.hasAttribute('disabled'))).toBe(true)
    await page.click('#stop')
    await until(page, '#status-text', 'Stopped.')
    expect(faults).toEqual([])
  })

  it('starts with a dropped file, whose channels it names', async () => {
    const { page, faults } = await openPage(browser)
    await page.evaluate(async () => {
      const dataTransfer = new DataTransfer()
      dataTransfer.items.add(new File([await (await fetch('/studio/call.wav')).blob()], 'evening.wav'))
      document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }))
    })
    await until(page, '#turns', 'good evening')
    expect(await textOf(page, '#facts-list')).toContain('evening.wav')
    expect(Object.keys(await textsOf(page))).toEqual(['Channel 1'])
    await page.click('#stop')
    await until(page, '#status-text', 'Stopped.')
    expect(faults).toEqual([])
  })

  /** Both schemes on a phone and a desktop, without motion, because axe would measure colors that still change. */
  const checkAccess = async (page: Page, state: string): Promise<void> => {
    for (const value of ['light', 'dark']) {
      await page.emulateMediaFeatures([
        { name: 'prefers-color-scheme', value },
        { name: 'prefers-reduced-motion', value: 'reduce' },
      ])
      for (const viewport of [phone, desktop]) {
        await page.setViewport(viewport)
        const findings = await seriousFindings(page)
        expect({ state, value, ...viewport, findings, isWide: await isWiderThanScreen(page) }).toEqual({
          state,
          value,
          ...viewport,
          findings: [],
          isWide: false,
        })
        const name = `${state}-${value}-${viewport.width}.png`
        if (process.env['STUDIO_SHOTS'] !== undefined)
          await page.screenshot({ path: join(process.env['STUDIO_SHOTS'], name) })
      }
    }
  }

  it('has no serious finding of axe, and fits a phone, in both schemes and all states of a session', async () => {
    const { page, faults } = await openPage(browser)
    await checkAccess(page, 'empty')
    await page.click('#help')
    await checkAccess(page, 'keys')
    await page.keyboard.press('Escape')
    await page.click('#play-sample')
    await until(page, '#live', 'hello')
    await page.click('#cut')
    await until(page, '#incident', 'nothing lost')
    await page.click('#facts summary')
    await checkAccess(page, 'running')
    await page.click('#stop')
    await until(page, '#status-text', 'Stopped.')
    await page.click('#export summary')
    await checkAccess(page, 'after')
    await page.click('#export summary')
    const [, content] = await exported(page, 'cassette')
    const file = join(folder, 'stopped.jsonl')
    await writeFile(file, content)
    const input = await page.$('#cassette')
    await (input as unknown as { uploadFile: (path: string) => Promise<void> }).uploadFile(file)
    await page.waitForSelector('#scrub-label:not([hidden])')
    await checkAccess(page, 'cassette')
    await page.click('#nav-operations')
    await page.waitForSelector('#operations-tables td')
    await checkAccess(page, 'operations')
    expect(faults).toEqual([])
  })

  it('has no serious finding of axe where a person has to enter a token', async () => {
    const other = await startStudioServer({ config: { token: null, models: [], sampleCall: null } })
    onTestFinished(() => other.close())
    const page = await browser.newPage()
    onTestFinished(() => page.close())
    await page.goto(other.url)
    await until(page, '#source-error', 'Enter a token above')
    await page.click('#source-microphone')
    expect(await textOf(page, '#source-error')).toContain('Enter a token above')
    expect(
      await page.$$eval('#play-sample, #source-sample', (all) => all.map((each) => each.hasAttribute('hidden'))),
    ).toEqual([true, true])
    await checkAccess(page, 'token')
  })

  it('loses no word over a slow network that fails for seconds while the service restarts', async () => {
    const { page } = await openPage(browser)
    const slow = { download: 50_000, upload: 30_000, latency: 400 }
    await page.emulateNetworkConditions(slow)
    await page.click('#play-sample')
    await until(page, '#status-text', 'Loading the sample call: ')
    await until(page, '#turns', 'good evening')
    await page.emulateNetworkConditions({ ...slow, offline: true })
    await until(page, '#status-text', 'This computer is offline. Audio is kept meanwhile.')
    const pendingMs = async (): Promise<number> =>
      Number.parseFloat(await page.$eval('#ledger-legend li:nth-child(2) b', ({ textContent }) => textContent)) * 1000
    const before = await pendingMs()
    await studio.restart()
    // Of two channels.
    await expect.poll(pendingMs).toBeGreaterThan(before + 6000)
    await page.emulateNetworkConditions(slow)
    await until(page, '#incident', 'nothing lost')
    await until(page, '#status-text', 'Ended. All results have arrived.')
    expect(await textsOf(page)).toEqual(await undisturbed())
  })

  it('says what to do about a file that is not audio', async () => {
    const { page } = await openPage(browser)
    const file = join(folder, 'notes.wav')
    await writeFile(file, 'not audio')
    const input = await page.$('#file')
    await (input as unknown as { uploadFile: (path: string) => Promise<void> }).uploadFile(file)
    await until(page, '#source-error', 'notes.wav: The browser cannot decode this file. Choose a WAV, MP3')
  })
})

describe('the studio in Firefox', () => {
  it('shows words, and goes on after the line was cut', async () => {
    const browser = await launch('firefox', { autoplays: true })
    onTestFinished(() => browser.close())
    const { page, faults } = await openPage(browser)
    await page.click('#play-sample')
    await until(page, '#turns', 'good evening')
    await page.click('#cut')
    await until(page, '#incident', 'nothing lost')
    await until(page, '#turns', 'hello i would like')
    await page.click('#finalize')
    await until(page, '#status-text', 'Ended.')
    expect(faults).toEqual([])
  })
})
