import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'puppeteer-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parseCassette } from '../../../src/cassette.js'
import {
  browserForTests,
  checkAccess,
  choose,
  chooseFiles,
  desktop,
  exported,
  openStudio,
  phone,
  seriousFindings,
  showInstruments,
  silenceIn,
  speakersOf,
  studioForTests,
  textOf,
  transcribeCall,
  until,
  type OpenedPage,
} from './studio-page.js'
import { startStudioServer } from './studio-server.js'
import { temporaryFolder } from '../../../test/temporary-folder.js'

// Long because the sample call is played at the pace of speech, and browsers start slowly.

const studio = studioForTests()
const folder = temporaryFolder()

const openPage = (browser: Browser): Promise<OpenedPage> => openStudio(browser, studio().url)

/** A page whose service says something else of itself. */
const openOther = async (browser: Browser, config: Readonly<Record<string, unknown>>): Promise<OpenedPage> => {
  const other = await startStudioServer({ config })
  onTestFinished(() => other.close())
  return openStudio(browser, other.url, '#choose-files')
}

/** Resolves once the service has sent the page another message with a text. */
const messageTo = async (page: Page, text: string): Promise<void> => {
  const devTools = await page.createCDPSession()
  await devTools.send('Network.enable')
  await new Promise<void>((resolve) => {
    devTools.on('Network.webSocketFrameReceived', ({ response: { payloadData } }) => {
      if (payloadData.includes(text)) resolve()
    })
  })
  await devTools.detach()
}

describe('the studio in Chromium', () => {
  const browser = browserForTests('chromium')

  it('plays the sample call, and loses no word when the line is cut', async () => {
    const { page, faults } = await openPage(browser())
    await page.click('#play-sample')
    await showInstruments(page)
    await until(page, '#lines', 'good evening')
    expect(await textOf(page, '#announcer')).toContain('good evening')
    await until(page, '#live', 'hello')
    await page.keyboard.press('x')
    await until(page, '#incident', 'nothing lost')
    expect(await textOf(page, '#incident')).toMatch(
      /^Connection cut at \d+\.\d s on 2 channels, resumed after \d+\.\d s, \d+\.\d s of audio sent again, nothing lost\.$/,
    )
    await until(page, '#status-text', 'Done')
    expect(await speakersOf(page)).toEqual(await transcribeCall(studio()))
    const ledger = await page.$$eval('#ledger-legend b', (parts) => parts.map(({ textContent }) => textContent))
    expect(ledger).toEqual([expect.stringMatching(/^65\.\d s$/), '0.0 s', '0.0 s', '0.0 s'])

    const events = (await exported(page, 'ndjson'))[1]
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type)
    // A busy service also sends other events.
    expect(events).toEqual(
      expect.arrayContaining(['connection', 'response', 'partial', 'milestone', 'resumed', 'ledger', 'final']),
    )

    const [, cassette] = await exported(page, 'cassette')
    const { header, lines } = parseCassette(cassette)
    expect(header).toMatchObject({
      transport: 'websocket',
      format: { encoding: 'pcm', sampleRateHz: 8000, channels: 2 },
    })
    const channels = lines.flatMap((line) => (line.event === 'dial' ? [line.channel] : []))
    expect(channels.sort()).toEqual([0, 0, 1, 1])
    expect(cassette).not.toContain(await studio().token())
    expect(cassette).toContain('bearer.[redacted]')

    const file = join(folder, 'session.jsonl')
    await writeFile(file, cassette)
    const before = await speakersOf(page)
    await chooseFiles(page, '#cassette', file)
    await page.waitForSelector('#scrub-label:not([hidden])')
    expect(Object.values(await speakersOf(page))).toEqual(Object.values(before))
    expect(await textOf(page, '#incident')).toContain('nothing lost')
    // How late a result is depends on the machine.
    let atMs = 0
    const linesAt = async (): Promise<number> => {
      atMs += 500
      await page.$eval(
        '#scrub',
        (slider, value) => {
          Object.assign(slider, { value })
          slider.dispatchEvent(new Event('input'))
        },
        atMs,
      )
      await page.evaluate(() => new Promise(requestAnimationFrame))
      return (await page.$$('.line')).length
    }
    await expect.poll(linesAt, { timeout: 60_000 }).toBe(1)
    expect(Object.values(await speakersOf(page))).toEqual([expect.stringContaining('good evening')])
    expect(faults).toEqual([])

    // A new page shows all of the cassette on its timeline, so the middle is the middle of the call.
    const { page: newPage } = await openPage(browser())
    await chooseFiles(newPage, '#cassette', file)
    await newPage.waitForSelector('#scrub-label:not([hidden])')
    await newPage.click('#canvas')
    expect(await textOf(newPage, '#scrub-time')).toMatch(/^0:1\d/)
  })

  it('plays the sample call with its model, and offers the others, of which one for any speech is chosen', async () => {
    const models = [
      { name: 'animals', version: '1', reads: 'sentences of animals.gram', takesPhrases: true },
      { name: 'English', version: '2', reads: 'any English speech', takesPhrases: false, languages: ['en', 'de'] },
      { name: 'call', version: '1', isSample: true },
    ]
    const { page } = await openOther(browser(), { models })
    expect(await page.$$eval('#model option', (all) => all.map(({ textContent }) => textContent))).toEqual([
      'animals: sentences of animals.gram',
      'English, version 2: any English speech',
    ])
    expect(await page.$eval('#model', (select) => (select as HTMLSelectElement).selectedIndex)).toBe(1)
    const isShown = (id: string): Promise<boolean> => page.$eval(id, (found) => !(found as HTMLElement).hidden)
    const shownOptions = () => Promise.all(['#language-label', '#reject-label', '#phrases-label'].map(isShown))
    expect(await shownOptions()).toEqual([true, false, false])
    await choose(page, '#model', 0)
    expect(await shownOptions()).toEqual([false, true, true])
    await page.reload()
    await page.waitForSelector('#choose-files:enabled')
    expect(await page.$eval('#model', (select) => (select as HTMLSelectElement).selectedIndex)).toBe(0)
    await page.click('#play-sample')
    await until(page, '#lines', 'good evening')
    await showInstruments(page)
    await page.click('#facts summary')
    expect(await textOf(page, '#facts-list')).toContain('call, version 1')
  })

  it('proposes a model for any speech where a model of sentences found none, and starts again with it', async () => {
    const models = [
      { name: 'call', version: '1', reads: 'sentences of call.gram' },
      { name: 'call', version: '1', reads: 'any English speech' },
    ]
    const { page } = await openOther(browser(), { models, sampleCall: null })
    await choose(page, '#model', 0)
    await chooseFiles(page, '#file', await silenceIn(folder))
    await until(page, '#proposal-text', 'The model call recognizes sentences of call.gram only, and found none.')
    await until(page, '#placeholder', 'No words were found. The session is here until this page closes.')
    expect(await textOf(page, '#jobs')).toContain('No words were found. Not kept.')
    expect(await page.$eval('#copy', (button) => (button as HTMLElement).hidden)).toBe(true)
    await page.waitForSelector('#proposal-take', { visible: true })
    await page.click('#proposal-take')
    await page.waitForSelector('#proposal', { hidden: true })
    await until(page, '#status-text', 'Done')
    expect(await page.$eval('#proposal', (shown) => (shown as HTMLElement).hidden)).toBe(true)
  })

  it('plays the word at the cursor, moved by the keys', async () => {
    const { page, faults } = await openPage(browser())
    await page.keyboard.press('Space')
    await until(page, '#lines', 'good evening')
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
    await until(page, '#status-text', 'Done')
    expect(faults).toEqual([])
  })

  it('mutes its source, moves its timeline, and shows what came while it was in the background', async () => {
    const { page, faults } = await openPage(browser())
    const untilLive = (isLive: boolean): Promise<unknown> => page.waitForSelector(`#zoom-live[aria-pressed=${isLive}]`)
    await page.click('#play-sample')
    await showInstruments(page)
    await until(page, '#lines', 'good evening')

    const box = await (await page.$('#canvas'))?.boundingBox()
    if (!box) throw new Error('The timeline is not shown.')
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
    await untilLive(true)
    await page.mouse.move(x, y)
    await page.mouse.down()
    await page.mouse.move(x + 40, y, { steps: 4 })
    await page.mouse.up()
    await untilLive(false)
    expect(await page.$('.word.playing')).toBeNull()
    await page.click('#zoom-live')
    await untilLive(true)
    await page.mouse.move(x, y)
    await page.mouse.wheel({ deltaX: 30 })
    await untilLive(false)
    await page.click('#zoom-fit')
    // From the left, until there are words. The sample is heard, so it goes on from the word that was clicked.
    let clickX = box.x + 88
    await expect
      .poll(async () => {
        await page.mouse.click((clickX += 12), y)
        return page.$('.word.playing')
      })
      .not.toBeNull()

    const other = await browser().newPage()
    onTestFinished(() => other.close())
    await other.bringToFront()
    await page.waitForFunction(() => document.hidden, { polling: 100 })
    const nextMilestone = messageTo(page, 'milestone-result')
    const turnsBefore = (await page.$$('.line')).length
    await nextMilestone
    expect((await page.$$('.line')).length).toBe(turnsBefore)
    await page.bringToFront()
    await until(page, '#lines', 'which day would you like')

    await page.click('#mute')
    await until(page, '#mute', 'Muted')
    expect(await page.$eval('#mute', (button) => button.hasAttribute('disabled'))).toBe(true)
    await page.click('#stop')
    await until(page, '#status-text', 'Stopped.')
    expect(faults).toEqual([])
  })

  it('starts with dropped files, whose channels it names', async () => {
    const { page, faults } = await openPage(browser())
    await page.evaluate(async () => {
      const dataTransfer = new DataTransfer()
      const call = await (await fetch('/studio/call.wav')).blob()
      for (const name of ['evening.wav', 'night.wav']) dataTransfer.items.add(new File([call], name))
      document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }))
    })
    await until(page, '#lines', 'good evening')
    expect(await textOf(page, '#session-title')).toBe('evening.wav')
    expect(Object.keys(await speakersOf(page))).toContain('Channel 1')
    await until(page, '#jobs', 'night.wav')
    expect(faults).toEqual([])
  })

  it('has no serious finding of axe, and fits a phone, in both schemes and all states of a session', async () => {
    const { page, faults } = await openPage(browser())
    await checkAccess(page, 'empty')
    await page.click('#options summary')
    await checkAccess(page, 'options')
    await page.click('#help')
    await checkAccess(page, 'keys')
    await page.keyboard.press('Escape')
    await page.click('#play-sample')
    await until(page, '#live', 'hello')
    await checkAccess(page, 'running')
    await page.setViewport(phone)
    const share = await page.$eval('.captions', (captions) => captions.clientHeight / innerHeight)
    expect(share).toBeGreaterThan(0.6)
    await page.click('#drawer-toggle')
    await page.waitForSelector('#jobs a', { visible: true })
    await page.waitForFunction(() => document.getAnimations().length === 0)
    expect(await seriousFindings(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.setViewport(desktop)
    await showInstruments(page)
    await page.click('#times')
    await page.click('#cut')
    await until(page, '#incident', 'nothing lost')
    await page.click('#facts summary')
    await checkAccess(page, 'instruments')
    await page.click('#stop')
    // A busy machine does not confirm it in time.
    await page.waitForFunction(() =>
      /^Stopped\.|did not confirm the stop/.test(document.querySelector('#status-text')?.textContent ?? ''),
    )
    // The sample, which was played with it.
    await until(page, '#play', 'Play')
    await page.click('#export-summary')
    await checkAccess(page, 'after')
    await page.click('#export-summary')
    const [, content] = await exported(page, 'cassette')
    const file = join(folder, 'stopped.jsonl')
    await writeFile(file, content)
    await chooseFiles(page, '#cassette', file)
    await page.waitForSelector('#scrub-label:not([hidden])')
    await checkAccess(page, 'cassette')
    await page.click('#nav-operations')
    await page.waitForSelector('#operations-tables td')
    await checkAccess(page, 'operations')
    expect(faults).toEqual([])
  })

  it('has no serious finding of axe where a person has to enter a token', async () => {
    const { page } = await openOther(browser(), { token: null, models: [], sampleCall: null })
    await until(page, '#notice', 'Enter a token below')
    expect(await page.$eval('#way-sample', (way) => way.hasAttribute('hidden'))).toBe(true)
    await checkAccess(page, 'token')
  })

  it('loses no word over a slow network that fails for seconds while the service restarts', async () => {
    const { page } = await openPage(browser())
    const slow = { download: 50_000, upload: 30_000, latency: 400 }
    await page.emulateNetworkConditions(slow)
    await page.click('#play-sample')
    await showInstruments(page)
    await until(page, '#status-text', 'Loading the sample call: ')
    await until(page, '#lines', 'good evening')
    await page.emulateNetworkConditions({ ...slow, offline: true })
    await until(page, '#status-text', 'This computer is offline. Audio is kept meanwhile.')
    const pendingMs = async (): Promise<number> =>
      Number.parseFloat(await page.$eval('#ledger-legend li:nth-child(2) b', ({ textContent }) => textContent)) * 1000
    const before = await pendingMs()
    await studio().restart()
    // Of two channels.
    await expect.poll(pendingMs).toBeGreaterThan(before + 6000)
    await page.emulateNetworkConditions(slow)
    await until(page, '#incident', 'nothing lost')
    await until(page, '#status-text', 'Done')
    expect(await speakersOf(page)).toEqual(await transcribeCall(studio()))
  })
})

describe('the studio in Firefox', () => {
  const browser = browserForTests('firefox')

  it('shows words, and goes on after the line was cut', async () => {
    const { page, faults } = await openPage(browser())
    await page.click('#play-sample')
    await showInstruments(page)
    await until(page, '#lines', 'good evening')
    await page.click('#cut')
    await until(page, '#incident', 'nothing lost')
    await until(page, '#lines', 'hello i would like')
    expect(await seriousFindings(page)).toEqual([])
    await page.click('#finalize')
    await until(page, '#status-text', 'Done')
    expect(faults).toEqual([])
  })
})
