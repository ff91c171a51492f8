import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'puppeteer-core'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { parseCassette } from '../../../src/cassette.js'
import { temporaryFolder } from '../../../test/temporary-folder.js'
import {
  beginningOfCall,
  browserForTests,
  checkAccess,
  choose,
  chooseFiles,
  desktop,
  exported,
  openStudio,
  phone,
  seriousFindings,
  studioForTests,
  textsOf,
  until,
} from './studio-page.js'

// Long because browsers start slowly, and sessions take seconds.

const studio = studioForTests()
const wholeCall = 'samples/call.wav'
const call = join(temporaryFolder(), 'call.wav')

beforeAll(() => writeFile(call, beginningOfCall()))

/** Transcribes a recording of the name call.wav, until the list has it. */
const transcribe = async (page: Page, file = call): Promise<void> => {
  await chooseFiles(page, '#file', file)
  await until(page, '#kept', 'call.wav')
}

/** The link of the session that is shown. */
const shownId = (page: Page): Promise<string> => page.evaluate(() => location.hash)

/** Corrects a word by keyboard, from the one that was clicked. */
const correct = async (page: Page, word: string, text: string): Promise<void> => {
  await page.click(`[data-line] ${word}`)
  await page.keyboard.press('F2')
  await page.waitForSelector('#editor:popover-open')
  await page.keyboard.type(text)
  await page.keyboard.press('Enter')
}

/** What the page puts on the clipboard. */
const copied = async (page: Page, copy: () => Promise<unknown>): Promise<string> => {
  await page.evaluate(() => {
    const copies: string[] = []
    Object.assign(globalThis, { copies })
    Object.defineProperty(navigator, 'clipboard', {
      value: { writeText: (text: string) => Promise.resolve(void copies.push(text)) },
      configurable: true,
    })
    document.addEventListener('copy', ({ clipboardData }) => copies.push(clipboardData?.getData('text/plain') ?? ''))
  })
  await copy()
  await page.waitForFunction(() => (globalThis as unknown as { copies: string[] }).copies.length > 0)
  return page.evaluate(() => (globalThis as unknown as { copies: string[] }).copies[0] ?? '')
}

describe('the library in Chromium', () => {
  const browser = browserForTests('chromium')

  /** A browser profile of its own, so that tests do not see each other's sessions. */
  const openFresh = async () => {
    const context = await browser().createBrowserContext()
    onTestFinished(() => context.close())
    return openStudio({ newPage: () => context.newPage() }, studio().url)
  }

  it('has a session after a reload: text, corrections, names, title, recording and files', async () => {
    const { page, faults } = await openFresh()
    await transcribe(page, wholeCall)
    const before = await textsOf(page, '.line .text')
    const others = await Promise.all(['button.name', '[data-word="1"]', '#kept a'].map((selector) => page.$(selector)))
    await correct(page, '.word', 'fine')
    await until(page, '#toast', '“good” is now “fine”.')
    await page.waitForSelector('.word.corrected')
    // A person may be about to click them.
    for (const other of others) expect(await other?.evaluate(({ isConnected }) => isConnected)).toBe(true)
    await page.click('button.name')
    await page.keyboard.type('Ann')
    await page.keyboard.press('Enter')
    await until(page, '#lines', 'Ann')
    await page.click('#title-edit')
    await page.keyboard.type('A table for four')
    await page.keyboard.press('Enter')
    await until(page, '#kept', 'A table for four')
    const events = await exported(page, 'ndjson')
    const cassette = await exported(page, 'cassette')

    await page.reload()
    await until(page, '#session-title', 'A table for four')
    const [first = '', ...rest] = before
    expect(await textsOf(page, '.line .text')).toEqual([first.replace('good', 'fine'), ...rest])
    expect(await textsOf(page, '.name')).toContain('Ann')
    await page.waitForFunction(() => document.querySelector('#position-text')?.textContent.endsWith('0:32'))
    await page.click('.line:last-child .word')
    await page.waitForSelector('.word.playing')
    const [name, text] = await exported(page, 'text')
    expect(name).toBe('A-table-for-four.txt')
    expect(text).toMatch(/^\[0:00\] Ann: fine evening .+\n\[0:03\] Channel 2: hello /)
    expect((await exported(page, 'srt'))[1]).toMatch(/^1\n00:00:00,\d{3} --> 00:00:0\d,\d{3}\nAnn: fine evening/)
    expect((await exported(page, 'vtt'))[1]).toMatch(/^WEBVTT\n\n1\n.+\n<v Ann>fine evening/)
    const json: unknown = JSON.parse((await exported(page, 'json'))[1])
    expect(json).toMatchObject({ title: 'A table for four', textIs: 'corrected' })
    expect(json).toHaveProperty('segments.0.speaker', 'Ann')
    expect(json).toHaveProperty('segments.0.words.0', expect.objectContaining({ text: 'fine', recognized: 'good' }))
    expect(await exported(page, 'ndjson')).toEqual(events)
    expect(await exported(page, 'cassette')).toEqual(cassette)
    expect(parseCassette(cassette[1]).lines.length).toBeGreaterThan(10)
    await page.click('#panel-toggle')
    await page.waitForSelector('#no-figures', { visible: true })
    expect(faults).toEqual([])
  })

  it('undoes changes, and puts a word back', async () => {
    const { page, faults } = await openFresh()
    await transcribe(page)
    const firstLine = async (): Promise<string | undefined> => (await textsOf(page, '.line .text'))[0]
    const before = await firstLine()
    await correct(page, '.word', 'fine')
    await until(page, '#lines', 'fine evening')
    await correct(page, '[data-word="1"]', 'day')
    await until(page, '#lines', 'fine day')
    await page.keyboard.down('Control')
    await page.keyboard.press('z')
    await until(page, '#lines', 'fine evening')
    await page.keyboard.press('z')
    await page.keyboard.up('Control')
    await until(page, '#lines', 'good evening')

    await page.click('.word', { count: 2 })
    await page.waitForSelector('#editor:popover-open')
    await page.keyboard.press('Backspace')
    await page.keyboard.press('Enter')
    await page.waitForSelector('s.removed')
    await page.click('s.removed', { count: 2 })
    await page.click('#editor-put-back')
    await page.waitForFunction(() => document.querySelector('s.removed') === null)
    expect(await firstLine()).toBe(before)
    expect(faults).toEqual([])
  })

  it('searches within a transcript, and across all', async () => {
    const { page, faults } = await openFresh()
    await transcribe(page, wholeCall)
    const id = await shownId(page)
    await page.keyboard.press('/')
    await page.keyboard.type('You')
    await until(page, '#find-count', '1 of 5')
    const marked = (): Promise<string | undefined> =>
      page.evaluate(() => {
        const [range] = [...(CSS.highlights.get('search-hit') ?? [])]
        return range instanceof Range ? range.toString() : undefined
      })
    expect(await marked()).toBe('you')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Enter')
    await until(page, '#find-count', '3 of 5')
    expect(await marked()).toBe('your')
    await page.click('#find-previous')
    await until(page, '#find-count', '2 of 5')
    await page.keyboard.press('Escape')
    expect(await marked()).toBeUndefined()

    await page.click('#new')
    await page.type('#library-search', 'a quarter past')
    await until(page, '#kept', 'have a table at a quarter past eight')
    expect(await textsOf(page, '#kept mark')).toEqual(['a quarter past'])
    await page.click('#kept a')
    expect(await shownId(page)).toBe(id)
    await until(page, '#find-count', '1 of 1')
    await page.focus('#library-search')
    await page.keyboard.type(' nine')
    await until(page, '#library-empty', 'No transcript has “a quarter past nine”.')
    expect(await textsOf(page, '#kept li')).toEqual([])
    expect(faults).toEqual([])
  })

  it('copies all, a selection and a line, with times and speakers or without', async () => {
    const { page, faults } = await openFresh()
    await transcribe(page)
    const all = await copied(page, () => page.click('#copy'))
    expect(all).toMatch(/^\[0:00\] Channel 1: good evening .+\n\[0:03\] Channel 2: hello i /)
    expect(all.split('\n')).toHaveLength((await textsOf(page, '.line')).length)
    await page.click('#export-summary')
    await page.click('#hasTimes')
    await page.click('#hasSpeakers')
    await page.keyboard.press('Escape')
    expect(await copied(page, () => page.click('#copy'))).toMatch(/^good evening .+\nhello i /)
    const select = (from: string, to: string): Promise<void> =>
      page.evaluate(
        (start: string, end: string) => {
          const [first, last] = [document.querySelector(start), document.querySelector(end)]
          if (first !== null && last !== null) getSelection()?.setBaseAndExtent(first, 0, last, last.childNodes.length)
        },
        from,
        to,
      )
    await select('.line:nth-child(1) [data-word="7"]', '.line:nth-child(2) [data-word="1"]')
    const byKey = async (): Promise<void> => {
      await page.keyboard.down('Control')
      await page.keyboard.press('c')
      await page.keyboard.up('Control')
    }
    expect(await copied(page, byKey)).toBe('help you\nhello i')
    await select('.line:nth-child(1) [data-word="0"]', '.line:nth-child(1) [data-word="1"]')
    expect(await copied(page, byKey)).toBe('good evening')
    await page.evaluate(() => getSelection()?.removeAllRanges())
    await page.click('.line:nth-child(2) .word')
    expect(await copied(page, () => page.keyboard.press('c'))).toMatch(/^hello i would like .+ four$/)
    await page.hover('.line:nth-child(4)')
    expect(await copied(page, () => page.click('#copy-line'))).toMatch(/^friday at half past seven/)
    expect(faults).toEqual([])
  })

  it('deletes one session with an undo, and all after a question', async () => {
    const { page, faults } = await openFresh()
    await transcribe(page)
    await page.click('#kept [data-act=more]')
    await page.click('#kept [data-act=remove]')
    await until(page, '#toast', '“call.wav” is deleted.')
    expect(await textsOf(page, '#kept li')).toEqual([])
    expect(await shownId(page)).toBe('')
    await page.click('#toast-undo')
    await until(page, '#kept', 'call.wav')
    await page.focus('#kept a')
    await page.keyboard.press('Enter')
    await until(page, '#lines', 'good evening')
    await page.click('#delete-all-open')
    await page.keyboard.press('Escape')
    expect(await textsOf(page, '#kept li')).toHaveLength(1)
    await page.click('#delete-all-open')
    await page.click('#delete-all [value=delete]')
    await until(page, '#toast', 'All transcripts are deleted.')
    await page.reload()
    await until(page, '#library-empty', 'in this browser only')
    expect(faults).toEqual([])
  })

  it('moves in the list by its keys, which also rename and delete', async () => {
    const { page, faults } = await openFresh()
    await transcribe(page)
    await chooseFiles(page, '#file', call)
    await page.waitForFunction(() => document.querySelectorAll('#kept li').length === 2)
    const at = (): Promise<number> =>
      page.evaluate(() =>
        [...document.querySelectorAll('#kept a')].findIndex((link) => link === document.activeElement),
      )
    await page.focus('#kept li:first-child a')
    const places: number[] = []
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowUp', 'End', 'Home'] as const) {
      await page.keyboard.press(key)
      places.push(await at())
    }
    expect(places).toEqual([1, 1, 0, 1, 0])
    await page.keyboard.press('F2')
    await page.waitForSelector('#editor:popover-open')
    await page.keyboard.type('The second call')
    await page.keyboard.press('Enter')
    await until(page, '#kept li:first-child', 'The second call')
    await page.focus('#kept li:first-child a')
    await page.keyboard.press('Delete')
    await until(page, '#toast', '“The second call” is deleted.')
    await page.waitForFunction(() => document.querySelectorAll('#kept li').length === 1)
    expect(await at()).toBe(0)
    expect(faults).toEqual([])
  })

  it('sends what a person has chosen, and keeps it with the transcript', async () => {
    const { page } = await openFresh()
    await page.click('#options summary')
    await page.type('#phrases', 'good evening\n\n table for four ')
    await choose(page, '#reject', 4)
    await transcribe(page)
    const [, cassette] = await exported(page, 'cassette')
    const chosen = { phrases: ['good evening', 'table for four'], reject: 'high' }
    const starts = parseCassette(cassette).lines.flatMap((line) =>
      line.event === 'sent' && 'text' in line && String(line.text).includes('"phrases"') ? [String(line.text)] : [],
    )
    expect(starts.map((start): unknown => JSON.parse(start))).toEqual([
      expect.objectContaining(chosen),
      expect.objectContaining(chosen),
    ])
    await page.reload()
    await until(page, '#lines', 'good evening')
    expect(JSON.parse((await exported(page, 'json'))[1])).toMatchObject(chosen)
  })

  it('keeps what a tab had when it closed, and shows in one tab what another one does', async () => {
    const { page } = await openFresh()
    const context = page.browserContext()
    const open = async (): Promise<Page> => {
      const opened = await context.newPage()
      await opened.setViewport(desktop)
      await opened.goto(studio().url)
      return opened
    }
    const other = await open()
    await page.bringToFront()
    await page.click('#play-sample')
    await until(page, '#lines', 'hello')
    await until(other, '#kept', 'running in another tab')
    await page.close()
    await other.bringToFront()
    await until(other, '#kept', 'Sample call')
    await other.reload()
    await until(other, '#kept', 'as far as it came')
    await other.focus('#kept a')
    await other.keyboard.press('Enter')
    await until(other, '#lines', 'good evening')
    await other.waitForSelector('#player:not([hidden])')

    const third = await open()
    await until(third, '#kept', 'Sample call')
    await other.bringToFront()
    await correct(other, '.word', 'fine')
    await third.bringToFront()
    await third.type('#library-search', 'fine evening')
    await third.waitForSelector('#kept mark')
    await third.click('#kept [data-act=more]')
    await third.click('#kept [data-act=pin]')
    await other.bringToFront()
    await until(other, '#kept', 'pinned')
  })

  it('keeps nothing where a person does not want it, or the browser cannot', async () => {
    const { page } = await openFresh()
    await page.click('#keeping')
    await until(page, '#library-empty', 'Transcripts last until this page closes.')
    await chooseFiles(page, '#file', call)
    await until(page, '#jobs', 'Done')
    expect((await exported(page, 'text'))[1]).toContain('good evening')
    await page.reload()
    await until(page, '#library-empty', 'Transcripts last until this page closes.')

    const context = await browser().createBrowserContext()
    onTestFinished(() => context.close())
    const without = await context.newPage()
    await without.evaluateOnNewDocument(() => {
      Object.defineProperty(globalThis, 'indexedDB', { value: undefined })
    })
    await without.goto(studio().url)
    await until(without, '#library-empty', 'This browser does not let the page keep sessions')
    await without.waitForSelector('#choose-files:enabled')
    await chooseFiles(without, '#file', call)
    await until(without, '#jobs', 'Done')
    await correct(without, '.word', 'fine')
    await until(without, '#lines', 'fine ')
  })

  it('has no serious finding of axe, and fits a phone, in all its states', async () => {
    const { page, faults } = await openFresh()
    await checkAccess(page, 'library-empty')
    await page.setViewport(desktop)
    await transcribe(page)
    await checkAccess(page, 'library-one')
    await page.setViewport(desktop)
    await page.click('#find-open')
    await page.keyboard.type('you')
    await checkAccess(page, 'library-find')
    await page.setViewport(desktop)
    await correct(page, '.word', 'fine')
    await checkAccess(page, 'library-corrected')
    await page.setViewport(desktop)
    await page.click('#export-summary')
    await checkAccess(page, 'library-export')
    await page.setViewport(desktop)
    await page.keyboard.press('Escape')
    await page.click('.word', { count: 2 })
    await page.waitForSelector('#editor:popover-open')
    await checkAccess(page, 'library-editor')
    await page.setViewport(desktop)
    await page.keyboard.press('Escape')
    await page.click('#kept [data-act=more]')
    await page.type('#library-search', 'like')
    await page.waitForSelector('#kept mark')
    await checkAccess(page, 'library-search')
    await page.setViewport(phone)
    await page.click('#drawer-toggle')
    await checkAccess(page, 'library-drawer')
    await page.setViewport(desktop)
    await page.keyboard.press('Escape')
    await page.click('#delete-all-open')
    await checkAccess(page, 'library-delete')
    expect(faults).toEqual([])
  })
})

describe('the library in Firefox', () => {
  const browser = browserForTests('firefox')

  it('has a session with its corrections after a reload', async () => {
    const { page, faults } = await openStudio(browser(), studio().url)
    await transcribe(page)
    await correct(page, '.word', 'fine')
    await page.reload()
    await until(page, '#lines', 'fine evening')
    await page.keyboard.press('/')
    await page.keyboard.type('you')
    await until(page, '#find-count', '1 of 2')
    await page.keyboard.press('Escape')
    await page.waitForFunction(() => document.querySelector('#position-text')?.textContent.endsWith('0:11'))
    await page.click('#kept [data-act=more]')
    await page.click('#kept [data-act=remove]')
    await page.click('#toast-undo')
    await until(page, '#kept', 'call.wav')
    for (const viewport of [phone, desktop]) {
      await page.setViewport(viewport)
      expect(await seriousFindings(page)).toEqual([])
    }
    expect(faults).toEqual([])
  })
})
