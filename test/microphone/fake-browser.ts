import { vi } from 'vitest'

/** A track of a fake device. */
export class FakeTrack extends EventTarget {
  readyState = 'live'
  muted = false

  stop(): void {
    this.readyState = 'ended'
  }

  mute(muted: boolean): void {
    this.muted = muted
    this.dispatchEvent(new Event(muted ? 'mute' : 'unmute'))
  }

  /** As a browser reports that the device was removed. */
  unplug(): void {
    this.readyState = 'ended'
    this.dispatchEvent(new Event('ended'))
  }
}

export class FakeStream {
  readonly track = new FakeTrack()

  getTracks(): readonly FakeTrack[] {
    return [this.track]
  }

  getAudioTracks(): readonly FakeTrack[] {
    return this.getTracks()
  }
}

/** An error of `getUserMedia`. */
export const mediaFailure = (name: string, more: object = {}): Error =>
  Object.assign(new Error('For a test.'), { name }, more)

/** The worklet node of a capture, which emits pieces as its processor would. */
class FakeNode {
  readonly sent: unknown[] = []
  readonly port = {
    onmessage: null as ((event: { readonly data: ArrayBuffer }) => void) | null,
    postMessage: (message: unknown) => this.sent.push(message),
  }
  onprocessorerror: (() => void) | null = null
  isConnected = false

  constructor(
    readonly context: FakeContext,
    readonly processor: string,
    readonly options: Readonly<Record<string, unknown>>,
  ) {
    context.nodes.push(this)
  }

  connect(): void {
    this.isConnected = true
  }

  disconnect(): void {
    this.isConnected = false
  }

  /** A piece in which every sample has this value. */
  emit(sample: number, samples = 320): void {
    this.port.onmessage?.({ data: new Int16Array(samples).fill(sample).buffer })
  }
}

class FakeContext extends EventTarget {
  readonly nodes: FakeNode[] = []
  readonly sources: { readonly stream: FakeStream; isConnected: boolean }[] = []
  readonly destination = {}
  readonly addedModules: string[] = []
  state = 'suspended'
  resumes = 0
  readonly audioWorklet = {
    addModule: async (url: string | URL) => {
      this.addedModules.push(String(url))
      await this.browser.addModule(String(url))
    },
  }

  constructor(readonly browser: FakeBrowser) {
    super()
    browser.contexts.push(this)
  }

  async resume(): Promise<void> {
    this.resumes += 1
    if (this.browser.allowsAudio) this.setState('running')
    else await new Promise(() => undefined)
  }

  async close(): Promise<void> {
    this.setState('closed')
    await Promise.resolve()
  }

  setState(state: string): void {
    if (this.state === state || this.state === 'closed') return
    this.state = state
    this.dispatchEvent(new Event('statechange'))
  }

  createMediaStreamSource(stream: FakeStream): object {
    const source = { stream, isConnected: false }
    this.sources.push(source)
    return {
      connect: () => (source.isConnected = true),
      disconnect: () => (source.isConnected = false),
    }
  }
}

interface PendingRequest {
  readonly audio: Readonly<Record<string, unknown>>
  readonly allow: () => FakeStream
  readonly refuse: (error: Error) => void
}

/** What a browser has for microphones, as globals until `vi.unstubAllGlobals`. */
export class FakeBrowser {
  readonly contexts: FakeContext[] = []
  readonly requests: PendingRequest[] = []
  readonly streams: FakeStream[] = []
  /** Whether a context may run without a gesture of the user. */
  allowsAudio = true
  addModule: (url: string) => Promise<void> = async () => undefined
  readonly document = new EventTarget()

  constructor(globals: Readonly<Record<string, unknown>> = {}) {
    // eslint-disable-next-line @typescript-eslint/no-this-alias -- a class of a context has no parameters
    const browser = this
    const all = {
      isSecureContext: true,
      document: this.document,
      navigator: { mediaDevices: { getUserMedia: (constraints: never) => this.#request(constraints) } },
      AudioContext: class extends FakeContext {
        constructor() {
          super(browser)
        }
      },
      AudioWorkletNode: FakeNode,
      ...globals,
    }
    for (const [name, value] of Object.entries(all)) vi.stubGlobal(name, value)
  }

  /** The context of the latest capture. */
  get context(): FakeContext {
    return this.#latest(this.contexts)
  }

  get node(): FakeNode {
    return this.#latest(this.context.nodes)
  }

  get request(): PendingRequest {
    return this.#latest(this.requests)
  }

  /** Allows the latest request, and waits until the node runs. */
  async allow(): Promise<FakeStream> {
    const stream = this.request.allow()
    await settled()
    return stream
  }

  #latest<T>(list: readonly T[]): T {
    const last = list.at(-1)
    if (last === undefined) throw new Error('There is none yet.')
    return last
  }

  #request({ audio }: { readonly audio: PendingRequest['audio'] }): Promise<FakeStream> {
    return new Promise((resolve, reject) => {
      const allow = (): FakeStream => {
        const stream = new FakeStream()
        this.streams.push(stream)
        resolve(stream)
        return stream
      }
      this.requests.push({ audio, allow, refuse: reject })
    })
  }
}

/** Everything that promises have started is done. */
export const settled = (): Promise<void> => new Promise((resolve) => process.nextTick(() => setImmediate(resolve)))
