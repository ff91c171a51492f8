import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser } from 'puppeteer-core'
import { describe, expect, it } from 'vitest'
import { wavHeader } from '../../../src/audio.js'
import {
  beginningOfCall,
  browserForTests,
  choose,
  chooseFiles,
  openStudio,
  silenceIn,
  speakersOf,
  studioForTests,
  textOf,
  transcribeCall,
  until,
  type OpenedPage,
} from './studio-page.js'
import { temporaryFolder } from '../../../test/temporary-folder.js'

// Long because browsers start slowly, and recordings are transcribed.

const studio = studioForTests()
const folder = temporaryFolder()

const openPage = (browser: Browser): Promise<OpenedPage> => openStudio(browser, studio().url)

describe.each(['chromium', 'firefox'] as const)('the studio as an application in %s', (name) => {
  const browser = browserForTests(name)

  it('transcribes several files faster than they are spoken, two at once, and plays them', async () => {
    const { page, faults } = await openPage(browser())
    const startMs = performance.now()
    const [second, third] = [join(folder, `${name} 2.wav`), join(folder, `${name} 3.wav`)]
    for (const file of [second, third]) await writeFile(file, beginningOfCall())
    await chooseFiles(page, '#file', 'samples/call.wav', second, third, await silenceIn(folder))
    await until(page, '#jobs', 'Waiting for its turn.')
    await page.click('#jobs li:first-child button')
    await page.waitForFunction(() => document.querySelectorAll('#jobs li').length === 3)
    await until(page, '#status-text', 'Transcribing: ')
    await until(page, '#status-text', 'Done')
    const { Restaurant, Guest } = await transcribeCall(studio())
    expect(await speakersOf(page)).toEqual({ 'Channel 1': Restaurant, 'Channel 2': Guest })
    await page.waitForFunction(() => document.querySelector('#jobs li') === null)
    // A busy machine needs several times as long as one that does nothing else.
    expect(performance.now() - startMs).toBeLessThan(8 * 32_900)

    await page.click('#lines .word:nth-child(2)')
    await page.waitForSelector('.word.playing')
    await page.waitForFunction(() => document.querySelector('#position-text')?.textContent.startsWith('0:02') === true)
    await page.keyboard.press('>')
    expect(await page.$eval('#speed', (select) => (select as HTMLSelectElement).value)).toBe('1.25')
    await page.keyboard.press('l')
    await page.waitForFunction(() => Number(document.querySelector<HTMLInputElement>('#position')?.value) > 7000)
    await page.keyboard.press(' ')
    await until(page, '#play', 'Play')
    expect(faults).toEqual([])
  })

  it('remembers the instruments, the times and the speed', async () => {
    const { page } = await openPage(browser())
    await chooseFiles(page, '#file', await silenceIn(folder))
    await until(page, '#status-text', 'Done')
    expect(await page.$eval('#panel', (panel) => panel.hasAttribute('hidden'))).toBe(true)
    await page.click('#panel-toggle')
    await page.click('#times')
    await choose(page, '#speed', 0)
    await page.reload()
    await page.waitForSelector('#choose-files:enabled')
    await chooseFiles(page, '#file', await silenceIn(folder))
    await until(page, '#status-text', 'Done')
    await page.waitForSelector('#panel:not([hidden])')
    expect(await page.$eval('#times', (button) => button.getAttribute('aria-pressed'))).toBe('true')
    expect(await page.$eval('#speed', (select) => (select as HTMLSelectElement).value)).toBe('0.5')
    for (const id of ['#panel-toggle', '#times']) await page.click(id)
  })

  it('reads a file of any rate, and says what to do about one that is not audio', async () => {
    const { page } = await openPage(browser())
    const file = join(folder, 'notes.wav')
    await writeFile(file, 'not audio')
    await chooseFiles(page, '#file', file)
    await until(
      page,
      '#placeholder',
      'The browser cannot decode this file. Choose an audio or video file, such as WAV,',
    )
    expect(await textOf(page, '#jobs')).toContain('notes.wav')
    expect(await page.$eval('#document-tools', (tools) => tools.hasAttribute('hidden'))).toBe(true)
    const failed = page.url()
    await page.click('#retry')
    await page.waitForFunction((url) => location.href !== url, {}, failed)
    await until(page, '#placeholder', 'The browser cannot decode this file.')
    expect((await page.$$('#jobs li')).length).toBe(1)
    // Longer than what is resampled at once.
    const rate = 44_100
    const samples = Buffer.alloc(2 * rate * 31)
    const long = join(folder, 'rate.wav')
    await writeFile(long, [wavHeader({ encoding: 'pcm', sampleRateHz: rate, channels: 1 }, samples.length), samples])
    await chooseFiles(page, '#file', long)
    await until(page, '#session-title', 'rate.wav')
    await until(page, '#status-text', 'Done · 0:31')

    await chooseFiles(page, '#file', 'samples/call.wav')
    // At once, before it has ended.
    await page.waitForFunction(() => {
      const cancel = document.querySelector<HTMLElement>('#cancel:not([hidden])')
      cancel?.click()
      return cancel !== null
    })
    await until(page, '#status-text', 'Cancelled.')
    await page.click('#retry')
    await until(page, '#status-text', 'Done · 0:32')
    expect(await page.$eval('#retry', (button) => (button as HTMLElement).hidden)).toBe(true)
  })

  it('says beside its button that the microphone is denied, and shows what is spoken', async () => {
    const { page } = await openPage(browser())
    await page.evaluate(() => {
      const { getUserMedia } = MediaDevices.prototype
      navigator.mediaDevices.getUserMedia = () => {
        navigator.mediaDevices.getUserMedia = getUserMedia
        return Promise.reject(new DOMException('', 'NotAllowedError'))
      }
    })
    await page.click('#speak')
    await until(page, '#speak-error', 'The page may not use the microphone')
    expect(await page.$$('#jobs li')).toHaveLength(0)
    await page.evaluate(() => {
      const { addModule } = AudioWorklet.prototype
      // Of its file, and of the Blob in its place.
      const refused = [new DOMException('', 'AbortError'), new DOMException('', 'AbortError')]
      AudioWorklet.prototype.addModule = function (url) {
        const error = refused.pop()
        return error === undefined ? addModule.call(this, url) : Promise.reject(error)
      }
    })
    await page.click('#speak')
    await until(page, '#speak-error', 'The page cannot read the microphone. Reload it;')
    await page.click('#speak')
    await page.waitForSelector('#finalize', { visible: true })
    await until(page, '#status-text', 'Streaming.')
    await page.click('#finalize')
    await until(page, '#status-text', 'Done')
    await page.waitForSelector('#player', { visible: true })
  })
})
