import { readFileSync } from 'node:fs'
import puppeteer, { type Browser, type Page } from 'puppeteer-core'
import { hasPrograms, needPackages, programPath, type NeededPackages } from '../interop/debian-packages.js'

export type BrowserName = 'chromium' | 'firefox'

const packageOf = { chromium: 'chromium', firefox: 'firefox-esr' } as const

/** Skips the tests of a browser that is not installed; an error where `.ci/run` has installed it. */
export const needBrowser = (name: BrowserName): NeededPackages =>
  needPackages([packageOf[name]], () => hasPrograms(packageOf[name]))

export interface LaunchOptions {
  /** The answer to the request for the microphone. @default 'granted' */
  readonly permission?: 'granted' | 'denied'
  /** Whether pages may play audio before the user has done anything. @default false */
  readonly autoplays?: boolean
}

/** How long a browser may take for anything: more than the 30 s of puppeteer, because the machine may be busy. */
const patienceMs = 120_000

/** A browser without a window, whose microphone is a fake device. It trusts the CA of a development service. */
export const launch = async (
  name: BrowserName,
  { permission = 'granted', autoplays = false }: LaunchOptions = {},
): Promise<Browser> => {
  const common = {
    ...{ executablePath: programPath(packageOf[name]) ?? '', headless: true, acceptInsecureCerts: true },
    timeout: patienceMs,
  }
  const isGranted = permission === 'granted'
  const browser = await (name === 'chromium'
    ? puppeteer.launch({
        ...common,
        args: [
          ...['--no-sandbox', '--use-fake-device-for-media-stream'],
          ...(isGranted ? ['--use-fake-ui-for-media-stream'] : []),
          ...(autoplays ? ['--autoplay-policy=no-user-gesture-required'] : []),
        ],
      })
    : puppeteer.launch({
        ...common,
        browser: 'firefox',
        extraPrefsFirefox: {
          'media.cubeb.force_mock_context': true,
          'media.navigator.streams.fake': true,
          'permissions.default.microphone': isGranted ? 1 : 2,
          ...(autoplays && { 'media.autoplay.default': 0 }),
        },
      }))
  const openPage = browser.newPage.bind(browser)
  const newPage = async (): Promise<Page> => {
    const page = await openPage()
    page.setDefaultTimeout(patienceMs)
    return page
  }
  return Object.assign(browser, { newPage })
}

/**
 * Makes a WAV file the microphone of a page: its `getUserMedia` gives a stream that plays the file from its beginning,
 * with silence after its end. Only Chromium can play a file as a device by itself. The page can read the streams in
 * `openStreams`.
 */
export const playAsMicrophone = (page: Page, wav: string): Promise<unknown> =>
  page.evaluateOnNewDocument((base64) => {
    const openStreams: MediaStream[] = []
    Object.assign(globalThis, { openStreams })
    navigator.mediaDevices.getUserMedia = async () => {
      const context = new AudioContext()
      const file = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
      const source = context.createBufferSource()
      source.buffer = await context.decodeAudioData(file.buffer)
      const destination = context.createMediaStreamDestination()
      destination.channelCount = 1
      source.connect(destination)
      // A busy machine takes long to start the output of a page, and a device does not wait for that.
      void context.resume().then(() => source.start(context.currentTime + 0.3))
      openStreams.push(destination.stream)
      return destination.stream
    }
  }, readFileSync(wav).toString('base64'))
