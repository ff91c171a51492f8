import { BehaviorSubject, EMPTY, Subject, throwError, type Observable, type Subscription } from 'rxjs'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { MicrophoneLevel, MicrophoneState } from '../../src/microphone/microphone-audio.js'
import { microphone } from '../../src/microphone/microphone-in-browser.js'
import type { MicrophoneOptions } from '../../src/microphone/microphone-options.js'
import { FakeBrowser, mediaFailure, settled } from './fake-browser.js'

let browser: FakeBrowser
beforeEach(() => {
  browser = new FakeBrowser()
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

interface Recorded {
  readonly pieces: Uint8Array[]
  readonly states: MicrophoneState[]
  readonly subscription: Subscription
  readonly voice$: ReturnType<typeof microphone>
  error: unknown
  completed: boolean
}

/** Subscribes to a microphone and notes all that it emits. */
const record = (voice$: ReturnType<typeof microphone>): Recorded => {
  const recorded: Omit<Recorded, 'subscription'> = {
    pieces: [],
    states: [],
    voice$,
    error: undefined,
    completed: false,
  }
  voice$.state$.subscribe((state) => recorded.states.push(state))
  const subscription = voice$.subscribe({
    next: (piece) => recorded.pieces.push(piece),
    error: (error: unknown) => (recorded.error = error),
    complete: () => (recorded.completed = true),
  })
  return Object.assign(recorded, { subscription })
}

const start = async (options?: MicrophoneOptions): Promise<Recorded> => {
  const recorded = record(microphone(options))
  await settled()
  return recorded
}

/** Everything that a capture holds is released. */
const expectReleased = (): void => {
  expect(browser.contexts.map(({ state }) => state)).toEqual(browser.contexts.map(() => 'closed'))
  expect(browser.streams.map(({ track }) => track.readyState)).toEqual(browser.streams.map(() => 'ended'))
  for (const { nodes, sources } of browser.contexts) {
    expect(nodes.map(({ isConnected, sent }) => [isConnected, sent])).toEqual(nodes.map(() => [false, ['stop']]))
    expect(sources.map(({ isConnected }) => isConnected)).toEqual(sources.map(() => false))
  }
}

describe('microphone in a browser', () => {
  it('emits little-endian PCM with the format of its options, and releases the device when it is unsubscribed', async () => {
    const recorded = await start({ sampleRateHz: 8000, channels: 2 })
    expect(recorded.voice$.format).toEqual({ encoding: 'pcm', sampleRateHz: 8000, channels: 2 })
    await browser.allow()
    expect(browser.request.audio).toEqual({ channelCount: { ideal: 2 } })
    expect(browser.node).toMatchObject({ processor: 'rxspeech-microphone', isConnected: true })
    expect(browser.node.options).toMatchObject({
      channelCount: 2,
      channelCountMode: 'explicit',
      processorOptions: { sampleRateHz: 8000, channels: 2 },
    })
    browser.node.emit(0x0102, 3)
    expect(recorded.pieces).toEqual([Uint8Array.of(2, 1, 2, 1, 2, 1)])
    recorded.subscription.unsubscribe()
    expectReleased()
    expect(recorded.states).toEqual(['idle', 'requesting', 'live', 'idle'])
  })

  it('asks for nothing before it is subscribed to', () => {
    void microphone()
    expect([browser.contexts, browser.requests]).toEqual([[], []])
  })

  it('has a capture of its own for each subscription, and can be subscribed to again', async () => {
    const voice$ = microphone()
    const [first, second] = [record(voice$), record(voice$)]
    await settled()
    for (const request of browser.requests) request.allow()
    await settled()
    expect([browser.contexts.length, browser.streams.length]).toEqual([2, 2])
    first.subscription.unsubscribe()
    expect(browser.streams.map(({ track }) => track.readyState)).toEqual(['ended', 'live'])
    browser.node.emit(1)
    expect([first.pieces.length, second.pieces.length]).toEqual([0, 1])
    second.subscription.unsubscribe()
    const third = record(voice$)
    await settled()
    await browser.allow()
    browser.node.emit(1)
    expect(third.pieces).toHaveLength(1)
    third.subscription.unsubscribe()
    expectReleased()
  })

  it('stops a device that is allowed only after it was unsubscribed', async () => {
    const recorded = await start()
    recorded.subscription.unsubscribe()
    const stream = await browser.allow()
    expect(stream.track.readyState).toBe('ended')
    expectReleased()
  })

  it('records nothing if it is unsubscribed while its worklet is loaded', async () => {
    let finish = (): void => undefined
    browser.addModule = () => new Promise((resolve) => (finish = resolve))
    const recorded = await start()
    await browser.allow()
    recorded.subscription.unsubscribe()
    finish()
    await settled()
    expect(browser.context.nodes).toEqual([])
    expectReleased()
  })

  it('passes the constraints on, and the device', async () => {
    const { subscription } = await start({ deviceId: 'headset', constraints: { autoGainControl: false, latency: 0 } })
    expect(browser.request.audio).toEqual({
      autoGainControl: false,
      latency: 0,
      channelCount: { ideal: 1 },
      deviceId: { exact: 'headset' },
    })
    subscription.unsubscribe()
  })

  it.each([
    ['unknown', { deviceid: 'x' }, 'Unknown option "deviceid"; did you mean deviceId?'],
    ['a sampling rate', { sampleRateHz: 44_100 }, 'sampleRateHz must be 8000 or 16000, not 44100.'],
    ['channels', { channels: 3 }, 'channels must be 1 or 2, not 3.'],
    ['a device', { deviceId: 5 }, 'deviceId must be a string or an Observable, not 5.'],
    ['constraints', { constraints: [] }, 'constraints must be an object.'],
    ['the address of the worklet', { workletUrl: 1 }, 'workletUrl must be a string or a URL, not 1.'],
  ])('refuses options: %s', (_title, options, message) => {
    expect(() => microphone(options as never)).toThrow(expect.objectContaining({ code: 'invalid-options', message }))
  })
})

describe('errors of the microphone in a browser', () => {
  it.each([
    ['NotAllowedError', 'microphone-denied'],
    ['SecurityError', 'microphone-denied'],
    ['NotFoundError', 'microphone-missing'],
    ['OverconstrainedError', 'microphone-missing'],
    ['NotReadableError', 'microphone-busy'],
    ['AbortError', 'microphone-busy'],
    ['TypeError', 'invalid-options'],
    ['UnknownError', 'source-failed'],
  ])('are typed: %s is %s', async (name, code) => {
    const recorded = await start()
    const cause = mediaFailure(name)
    browser.request.refuse(cause)
    await settled()
    expect(recorded.error).toMatchObject({ code, cause })
    expect((recorded.error as Error).message).not.toContain('For a test.')
    expectReleased()
    expect(recorded.states).toEqual(['idle', 'requesting', 'idle'])
  })

  it('name the constraint that no device meets', async () => {
    const recorded = await start({ deviceId: 'gone' })
    browser.request.refuse(mediaFailure('OverconstrainedError', { constraint: 'deviceId' }))
    await settled()
    expect(recorded.error).toMatchObject({
      message: 'No microphone has the requested deviceId; choose another device.',
    })
  })

  it('are microphone-lost when the device is unplugged, after the audio before', async () => {
    const recorded = await start()
    const { track } = await browser.allow()
    browser.node.emit(1)
    track.unplug()
    expect(recorded.pieces).toHaveLength(1)
    expect(recorded.error).toMatchObject({ code: 'microphone-lost', retryable: true })
    expectReleased()
  })

  it('are microphone-lost when the device is unplugged while the worklet is loaded', async () => {
    let finish = (): void => undefined
    browser.addModule = () => new Promise((resolve) => (finish = resolve))
    const recorded = await start()
    const { track } = await browser.allow()
    track.unplug()
    finish()
    await settled()
    expect(recorded.error).toMatchObject({ code: 'microphone-lost' })
    expectReleased()
  })

  it.each([
    ['a page without https', { isSecureContext: false }, /https/],
    ['a browser without worklets', { AudioWorkletNode: undefined }, /current one/],
    ['a browser without devices', { navigator: {} }, /current one/],
    ['a worker, which has no page', { AudioContext: undefined, document: undefined }, /commandMicrophone/],
  ])('are microphone-unsupported in %s', async (_title, globals, message) => {
    vi.unstubAllGlobals()
    browser = new FakeBrowser(globals)
    const recorded = await start()
    expect(recorded.error).toMatchObject({ code: 'microphone-unsupported', message: expect.stringMatching(message) })
    expect(browser.contexts).toEqual([])
  })

  it('are source-failed when the processor fails', async () => {
    const recorded = await start()
    await browser.allow()
    browser.node.onprocessorerror?.()
    expect(recorded.error).toMatchObject({ code: 'source-failed' })
    expectReleased()
  })

  it('are source-failed when a running context delivers no audio for ten seconds', async () => {
    const recorded = await start()
    vi.useFakeTimers()
    await vi.waitFor(() => browser.request.allow())
    await vi.advanceTimersByTimeAsync(9_000)
    browser.node.emit(1)
    await vi.advanceTimersByTimeAsync(9_000)
    expect(recorded.error).toBeUndefined()
    await vi.advanceTimersByTimeAsync(3_000)
    expect(recorded.error).toMatchObject({ code: 'source-failed', message: expect.stringContaining('10 s') })
    expectReleased()
  })
})

describe('the worklet of the microphone', () => {
  it('is loaded from its file beside the module', async () => {
    const { subscription } = await start()
    expect(browser.context.addedModules).toEqual([expect.stringMatching(/^file:.*\/microphone\/worklet\.js$/)])
    subscription.unsubscribe()
  })

  it('is loaded from a Blob if its file cannot be loaded', async () => {
    browser.addModule = (url) => (url.startsWith('blob:') ? Promise.resolve() : Promise.reject(new Error('404')))
    const recorded = await start()
    browser.request.allow()
    await vi.waitFor(() => browser.node, 20_000)
    expect(browser.context.addedModules).toEqual([
      expect.stringMatching(/worklet\.js$/),
      expect.stringMatching(/^blob:/),
    ])
    browser.node.emit(1)
    expect(recorded.pieces).toHaveLength(1)
    recorded.subscription.unsubscribe()
  })

  it('cannot be loaded: source-failed says what to do, and the device is released', async () => {
    browser.addModule = () => Promise.reject(mediaFailure('AbortError'))
    const recorded = await start()
    browser.request.allow()
    await expect.poll(() => recorded.error).toBeDefined()
    expect(recorded.error).toMatchObject({
      code: 'source-failed',
      message: expect.stringMatching(/worklet\.js; serve worklet\.js .* set workletUrl/),
    })
    expectReleased()
  })

  it('is loaded from a given address, without a substitute', async () => {
    browser.addModule = () => Promise.reject(mediaFailure('AbortError'))
    const recorded = await start({ workletUrl: '/assets/worklet.js' })
    await settled()
    expect(browser.context.addedModules).toEqual(['/assets/worklet.js'])
    expect(recorded.error).toMatchObject({
      code: 'source-failed',
      message: expect.stringContaining('/assets/worklet.js'),
    })
  })
})

describe('the state of the microphone', () => {
  it('is muted while the device is, and audio continues', async () => {
    const recorded = await start()
    const { track } = await browser.allow()
    track.mute(true)
    browser.node.emit(0)
    track.mute(false)
    expect(recorded.states).toEqual(['idle', 'requesting', 'live', 'muted', 'live'])
    expect([recorded.pieces.length, recorded.error]).toEqual([1, undefined])
    recorded.subscription.unsubscribe()
  })

  it.each(['pointerup', 'keydown', 'visibilitychange'])(
    'is suspended until the browser lets audio run, which it is asked for again at each %s',
    async (gesture) => {
      browser.allowsAudio = false
      const recorded = await start()
      await browser.allow()
      expect(recorded.states).toEqual(['idle', 'requesting', 'suspended'])
      browser.allowsAudio = true
      browser.document.dispatchEvent(new Event(gesture))
      expect(recorded.states).toEqual(['idle', 'requesting', 'suspended', 'live'])
      recorded.subscription.unsubscribe()
    },
  )

  it('is suspended without an error, however long the browser interrupts audio', async () => {
    const recorded = await start()
    vi.useFakeTimers()
    await vi.waitFor(() => browser.request.allow())
    await vi.advanceTimersByTimeAsync(0)
    browser.allowsAudio = false
    browser.context.setState('interrupted')
    await vi.advanceTimersByTimeAsync(60_000)
    expect(recorded.states.at(-1)).toBe('suspended')
    expect(recorded.error).toBeUndefined()
    browser.context.setState('running')
    expect(recorded.states.at(-1)).toBe('live')
    recorded.subscription.unsubscribe()
  })

  it('is that of the latest subscription', async () => {
    const voice$ = microphone()
    const first = record(voice$)
    await settled()
    await browser.allow()
    const second = record(voice$)
    first.subscription.unsubscribe()
    expect(second.states).toEqual(['live', 'requesting'])
    second.subscription.unsubscribe()
    expect(second.states).toEqual(['live', 'requesting', 'idle'])
  })

  it('listens to nothing after the end', async () => {
    const added = vi.spyOn(browser.document, 'addEventListener')
    const removed = vi.spyOn(browser.document, 'removeEventListener')
    const recorded = await start()
    await browser.allow()
    recorded.subscription.unsubscribe()
    expect(added).toHaveBeenCalled()
    expect(removed.mock.calls.length).toBe(added.mock.calls.length)
  })
})

describe('the levels of the microphone', () => {
  it('are those of each piece, and record nothing themselves', async () => {
    const voice$ = microphone()
    const levels: MicrophoneLevel[] = []
    voice$.levels$.subscribe((level) => levels.push(level))
    await settled()
    expect(browser.requests).toEqual([])
    const { subscription } = record(voice$)
    await settled()
    await browser.allow()
    for (const sample of [0, 16_384, -32_768]) browser.node.emit(sample)
    expect(levels).toEqual([
      { rms: 0, peak: 0 },
      { rms: 0.5, peak: expect.closeTo(0.5, 4) },
      { rms: 1, peak: 1 },
    ])
    subscription.unsubscribe()
  })

  it('do not end the audio when their subscriber fails', async () => {
    vi.useFakeTimers()
    const voice$ = microphone()
    voice$.levels$.subscribe(() => {
      throw new Error('For a test.')
    })
    const recorded = record(voice$)
    await vi.advanceTimersByTimeAsync(0)
    browser.request.allow()
    await vi.advanceTimersByTimeAsync(0)
    browser.node.emit(1)
    browser.node.emit(1)
    expect(() => vi.runOnlyPendingTimers()).toThrow('For a test.')
    expect([recorded.pieces.length, recorded.error]).toEqual([2, undefined])
    recorded.subscription.unsubscribe()
  })
})

describe('a change of the device', () => {
  it('uses the old device until the new one is open, then only the new one', async () => {
    const deviceId$ = new BehaviorSubject('first')
    const recorded = await start({ deviceId: deviceId$ })
    const old = await browser.allow()
    deviceId$.next('second')
    await settled()
    expect(browser.request.audio).toMatchObject({ deviceId: { exact: 'second' } })
    expect(old.track.readyState).toBe('live')
    browser.node.emit(1)
    const next = await browser.allow()
    expect([old.track.readyState, next.track.readyState]).toEqual(['ended', 'live'])
    expect(browser.context.nodes.map(({ isConnected }) => isConnected)).toEqual([false, true])
    browser.node.emit(2)
    expect(recorded.pieces.map(([low]) => low)).toEqual([1, 2])
    expect(browser.contexts).toHaveLength(1)
    // The end of the device before is no loss.
    old.track.unplug()
    expect(recorded.error).toBeUndefined()
    recorded.subscription.unsubscribe()
    expectReleased()
  })

  it('opens only the last device of several, and each once', async () => {
    const deviceId$ = new Subject<string>()
    const recorded = await start({ deviceId: deviceId$ })
    expect(browser.requests).toEqual([])
    for (const id of ['a', 'b', 'b', '']) deviceId$.next(id)
    expect(browser.requests.map(({ audio }) => audio['deviceId'])).toEqual([{ exact: 'a' }, { exact: 'b' }, undefined])
    const streams = browser.requests.map(({ allow }) => allow())
    await settled()
    expect(streams.map(({ track }) => track.readyState)).toEqual(['ended', 'ended', 'live'])
    deviceId$.complete()
    browser.node.emit(1)
    expect([recorded.pieces.length, recorded.completed]).toEqual([1, false])
    recorded.subscription.unsubscribe()
    expectReleased()
  })

  it('is an error if the new device cannot be opened', async () => {
    const deviceId$ = new BehaviorSubject('')
    const recorded = await start({ deviceId: deviceId$ })
    await browser.allow()
    deviceId$.next('busy')
    browser.request.refuse(mediaFailure('NotReadableError'))
    await settled()
    expect(recorded.error).toMatchObject({ code: 'microphone-busy' })
    expectReleased()
  })

  it.each<[string, Observable<string>, string]>([
    ['without a device', EMPTY, 'invalid-options'],
    ['with an error', throwError(() => mediaFailure('Error')), 'Error'],
  ])('that ends %s ends the microphone', async (_title, deviceId$, expected) => {
    const recorded = await start({ deviceId: deviceId$ })
    const { code, name } = recorded.error as { readonly code?: string; readonly name: string }
    expect(code ?? name).toBe(expected)
    expectReleased()
  })
})
