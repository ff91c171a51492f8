import { createReadStream } from 'node:fs'
import type { Browser } from 'puppeteer-core'
import { lastValueFrom } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { readWav, recognize } from '../../../../src/index.js'
import { launch } from '../../../service/test/browser/browsers.js'
import { patience } from '../../../service/test/interop/session-options.js'
import { startStudioServer, type StudioServer } from '../studio-server.js'
import { checkAccess, openStudio, seriousFindings, textsOf, until } from '../studio-page.js'

// Long because the service takes a sample every 10 s, and browsers start slowly.

let studio: StudioServer

/** A call that is recognized, and one that is refused; each of its two channels is a session. */
const converse = async (): Promise<void> => {
  const { format, audio } = await readWav(createReadStream('samples/call.wav'))
  const options = { ...patience, url: studio.service.wsUrl, format, token: await studio.token() }
  await lastValueFrom(recognize({ ...options, model: studio.service.defaultModel ?? '' })(audio))
  const refused = lastValueFrom(recognize({ ...options, model: 'absent' })([new Uint8Array(320)]))
  await expect(refused).rejects.toThrow()
}

beforeAll(async () => {
  studio = await startStudioServer()
  const { operationsUrl = '' } = studio.service
  const samples = async (): Promise<number> => {
    const report = (await (await fetch(`${operationsUrl}/operations.json`)).json()) as { atMs: readonly number[] }
    return report.atMs.length
  }
  await vi.waitFor(async () => expect(await samples()).toBeGreaterThan(0), { timeout: 60_000, interval: 500 })
  await converse()
  const before = await samples()
  await vi.waitFor(async () => expect(await samples()).toBeGreaterThan(before + 1), { timeout: 60_000, interval: 500 })
})

afterAll(async () => {
  await studio.close()
})

describe.each(['chromium', 'firefox'] as const)('the operations of the studio in %s', (name) => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch(name)
  })
  afterAll(async () => {
    await browser.close()
  })

  it('has the hour before the page was opened: charts, slow sessions and tables', async () => {
    const { page, faults } = await openStudio(browser, studio.url)
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    await page.click('#nav-operations')
    await page.waitForSelector('#slow-sessions td button')
    // The charts are loaded with this screen and not before.
    expect(requests.filter((url) => /operations-[\w-]+\.mjs$/.test(url))).toHaveLength(1)
    expect(await page.$$('#hour-charts canvas')).toHaveLength(4)
    expect((await textsOf(page, '#hour-charts .u-series'))[0]).toMatch(/Time.*\d\d:\d\d:\d\d/s)
    expect((await textsOf(page, '#slow-sessions tbody tr'))[0]).toMatch(/^call\s+Default\s+ended\s+\d/)
    await page.click('#hour-by-model')
    const [running, lag, audio] = await textsOf(page, '#hour-charts .u-legend')
    for (const legend of [running, lag, audio]) expect(legend).toContain('call')
    await page.click('#hour-by-tenant')
    expect((await textsOf(page, '#hour-charts .u-legend'))[1]).toContain('Default')
    await page.click('#hour-by-model')
    await page.focus('.plot')
    await page.keyboard.press('Home')
    await until(page, '#hour-charts [role=status]', 'Sessions: call ')
    await page.click('#hour-numbers summary')
    await until(page, '#hour-tables', 'per minute, by code')
    expect(await textsOf(page, '#hour-tables caption')).toHaveLength(4)
    // A sample that was late has them as fewer in a minute.
    expect(
      await page.$$eval('#hour-tables table:last-child tbody td', (cells) =>
        cells.filter(({ textContent }) => Number(textContent) > 0),
      ),
    ).not.toEqual([])
    // Firefox cannot be asked to emulate a scheme.
    if (name === 'chromium') await checkAccess(page, 'operations-hour')
    else expect(await seriousFindings(page)).toEqual([])
    expect(faults).toEqual([])
  })

  it('are all that the page at the operations address shows', async () => {
    const address = `${studio.service.operationsUrl ?? ''}/`
    const { page, faults } = await openStudio(browser, address, '#slow-sessions td button')
    expect(await page.$$('#hour-charts canvas')).toHaveLength(4)
    expect(await page.$$eval('a, aside, #notice', (all) => all.filter((each) => each.checkVisibility()).length)).toBe(1)
    expect(await seriousFindings(page)).toEqual([])
    expect(faults).toEqual([])
  })

  it('says where to look if the page may not read it', async () => {
    const other = await startStudioServer({ config: { operations: null } })
    try {
      const { page } = await openStudio(browser, other.url)
      await page.click('#nav-operations')
      await until(page, '#operations-error', 'Open the page at its operations address')
      await page.close()
    } finally {
      await other.close()
    }
  })
})
