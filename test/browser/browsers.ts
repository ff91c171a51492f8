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
}

/** A browser without a window, whose microphone is a fake device. It trusts the CA of a development service. */
export const launch = (name: BrowserName, { permission = 'granted' }: LaunchOptions = {}): Promise<Browser> => {
  const common = { executablePath: programPath(packageOf[name]) ?? '', headless: true, acceptInsecureCerts: true }
  const isGranted = permission === 'granted'
  return name === 'chromium'
    ? puppeteer.launch({
        ...common,
        args: [
          ...['--no-sandbox', '--use-fake-device-for-media-stream'],
          ...(isGranted ? ['--use-fake-ui-for-media-stream'] : []),
        ],
      })
    : puppeteer.launch({
        ...common,
        browser: 'firefox',
        extraPrefsFirefox: {
          'media.cubeb.force_mock_context': true,
          'media.navigator.streams.fake': true,
          'permissions.default.microphone': isGranted ? 1 : 2,
        },
      })
}

/**
 * Makes a WAV file the microphone of a page: its `getUserMedia` gives a stream that plays the file from its beginning, with
 * silence after its end. Only Chromium can play a file as a device by itself. The page can read the streams in `openStreams`.
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
      await context.resume()
      source.start(context.currentTime + 0.3)
      openStreams.push(destination.stream)
      return destination.stream
    }
  }, readFileSync(wav).toString('base64'))
