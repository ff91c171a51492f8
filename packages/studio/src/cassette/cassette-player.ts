import { Subject, VirtualTimeScheduler } from 'rxjs'
import type { Socket, SocketClass } from 'rxspeech'
import { AudioTrack } from '../session/audio-track.js'
import { createSession } from '../session/session.js'
import { initialState, reduce, type Failure, type StudioInput, type StudioState } from '../state/state.js'
import { fromBase64, type Cassette, type CassetteLine } from './cassette-lines.js'
import { asWebSocketCassette } from './grpc-cassette.js'

/** A cassette as the studio shows it: all inputs with the position at which they happened, and the audio. */
export interface PlayedCassette {
  readonly title: string
  readonly channels: readonly string[]
  readonly tracks: readonly AudioTrack[]
  readonly inputs: readonly PlacedInput[]
  readonly durationMs: number
}

export interface PlacedInput {
  readonly audioMs: number
  readonly input: StudioInput
}

/** A step of the clock, shorter than a chunk of audio. */
const stepMs = 10

/**
 * Runs the recorded session again in virtual time: the sockets open, receive and close when the recorded ones did. So
 * the events, the ledger and the figures are those that the library gives for these messages.
 */
export const playCassette = async (cassette: Cassette, title: string): Promise<PlayedCassette> => {
  const { header, lines } = asWebSocketCassette(cassette)
  const { sampleRateHz } = header.format
  const scheduler = new VirtualTimeScheduler(undefined, 0)
  const keys = [...new Set(dialsOf(lines).map(({ channel }) => channel))].sort((a = 0, b = 0) => a - b)
  const channels = keys.length > 1 ? keys.map((_, at) => `Channel ${at + 1}`) : ['Speaker']
  const audio = keys.map((key) => audioOf(lines, key, sampleRateHz))
  const tracks = keys.map(() => new AudioTrack(sampleRateHz))
  const chunks$ = new Subject<readonly Uint8Array[]>()
  const finalize$ = new Subject<void>()
  const stop$ = new Subject<void>()
  const dialer = new RecordedSockets(lines, scheduler)
  const session = createSession({
    url: 'ws://localhost',
    model: modelOf(lines),
    token: 'of a cassette',
    source: { type: 'live', title, sampleRateHz, channels, chunks$ },
    tracks,
    recognition: {},
    socketClass: (channel) => dialer.socketClass(keys.length > 1 ? keys[channel ?? 0] : undefined),
    finalize$,
    stop$,
    scheduler,
  })
  const inputs: PlacedInput[] = []
  let isEnded = false
  const subscription = session.inputs$.subscribe({
    next: (input) => {
      if (input.type === 'event' && input.event.type === 'partial') tracks[input.channel]?.partials.add(input.audioMs)
      inputs.push({ audioMs: session.audioMs(), input })
    },
    complete: () => {
      isEnded = true
    },
  })

  const endMs = Math.max(0, ...lines.map(({ atMs }) => atMs))
  const finishMs = requestMs(lines, 'finalize-recognition')
  const stopMs = requestMs(lines, 'stop-recognition')
  let position = 0
  const failure = recordedFailure(lines)
  const lastMs = failure === undefined ? endMs + lateMs : endMs
  for (let nowMs = 0; !isEnded && nowMs <= lastMs; nowMs += stepMs) {
    scheduler.maxFrames = nowMs
    scheduler.flush()
    // The clock stands at its last action otherwise.
    scheduler.frame = nowMs
    await dialer.ready(nowMs)
    const due = Math.max(0, ...audio.map((part) => part.availableBytes(nowMs)))
    if (due > position && nowMs <= finishMs) {
      chunks$.next(audio.map(({ bytes }) => padded(bytes.subarray(position, due), due - position)))
      position = due
    }
    if (nowMs >= finishMs && nowMs - stepMs < finishMs) finalize$.next()
    if (nowMs >= stopMs && nowMs - stepMs < stopMs) stop$.next()
    // The recorded session was aborted or never asked for an end.
    if (nowMs > endMs && finishMs === Infinity) stop$.next()
  }
  subscription.unsubscribe()
  if (!isEnded) {
    const audioMs = session.audioMs()
    inputs.push({ audioMs, input: { type: 'ended', atMs: endMs, audioMs, failure } })
  }
  return { title, channels, tracks, inputs, durationMs: session.audioMs() }
}

/** The state when this much audio had been captured. */
export const stateAt = ({ inputs, title, channels }: PlayedCassette, ms: number): StudioState => {
  let state = reduce(initialState, { type: 'started', title, channels })
  for (const { audioMs, input } of inputs) {
    if (audioMs > ms) break
    state = reduce(state, input)
  }
  return state
}

/** Why the recorded session failed. */
const recordedFailure = (lines: readonly CassetteLine[]): Failure | undefined => {
  const end = lines.findLast(({ event, outcome }) => event === 'end' && outcome === 'error')
  const message = end?.['message']
  return end && { code: 'unknown', message: typeof message === 'string' ? message : 'The recorded session failed.' }
}

/** How long after the last line the session may still take to end. */
const lateMs = 6000

const dialsOf = (lines: readonly CassetteLine[]) => lines.filter(({ event }) => event === 'dial')

const padded = (bytes: Uint8Array, length: number): Uint8Array => {
  if (bytes.length === length) return bytes
  const whole = new Uint8Array(length)
  whole.set(bytes)
  return whole
}

const modelOf = (lines: readonly CassetteLine[]): string => {
  const start = lines.find(({ event, text }) => event === 'sent' && text !== undefined)?.text ?? '{}'
  const { ['model-name']: name } = JSON.parse(start) as { readonly 'model-name'?: string }
  return name ?? 'recorded'
}

/** When the client sent a request for the first time. */
const requestMs = (lines: readonly CassetteLine[], request: string): number =>
  lines.find(({ event, text }) => event === 'sent' && text?.includes(`"${request}"`))?.atMs ?? Infinity

interface RecordedAudio {
  readonly bytes: Uint8Array
  /** How much of it the client had captured. */
  readonly availableBytes: (atMs: number) => number
}

/**
 * The audio of a channel: that of its first connection, then of each further one what was not sent before. A connection
 * that resumes a session first sends audio again, which begins somewhere in the audio of the one before.
 */
const audioOf = (lines: readonly CassetteLine[], channel: number | undefined, sampleRateHz: number): RecordedAudio => {
  const numbers = dialsOf(lines).flatMap((dial) => (dial.channel === channel ? [dial.connection] : []))
  const bytesPerMs = (2 * sampleRateHz) / 1000
  let all = new Uint8Array()
  let firstMs: number | undefined
  const captured: { readonly atMs: number; readonly bytes: number }[] = []
  for (const number of numbers) {
    const messages = lines.filter(
      (line) => line.connection === number && line.event === 'sent' && line.bytes !== undefined,
    )
    const own = joined(messages.map(bytesOfLine))
    const base = overlapAt(all, own)
    let end = base
    for (const { atMs, bytes = 0 } of messages) {
      end += bytes
      if (end <= all.length) continue
      firstMs ??= atMs - bytes / bytesPerMs
      // Audio that was captured during an outage was sent after it, so it is placed by its position.
      captured.push({ atMs: Math.min(atMs, firstMs + end / bytesPerMs), bytes: end })
    }
    if (base + own.length > all.length) all = joined([all.subarray(0, base), own])
  }
  let next = 0
  let available = 0
  return {
    bytes: all,
    availableBytes: (atMs) => {
      for (; (captured[next]?.atMs ?? Infinity) <= atMs; next += 1) available = captured[next]?.bytes ?? available
      return available
    },
  }
}

const bytesOfLine = ({ bytes = 0, base64 }: CassetteLine): Uint8Array =>
  base64 === undefined ? new Uint8Array(bytes) : fromBase64(base64)

const joined = (parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> => {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** Where `next` begins in `all`: the longest overlap of the end of `all` with the beginning of `next`. */
export const overlapAt = (all: Uint8Array, next: Uint8Array): number => {
  // Knuth, Morris and Pratt: how much of the beginning of `next` ends at each of its bytes.
  const fallback = new Int32Array(next.length)
  for (let at = 1, length = 0; at < next.length; at += 1) {
    while (length > 0 && next[at] !== next[length]) length = fallback[length - 1] ?? 0
    if (next[at] === next[length]) length += 1
    fallback[at] = length
  }
  let matched = 0
  for (let at = Math.max(0, all.length - next.length); at < all.length; at += 1) {
    if (matched === next.length) matched = fallback[matched - 1] ?? 0
    while (matched > 0 && all[at] !== next[matched]) matched = fallback[matched - 1] ?? 0
    if (all[at] === next[matched]) matched += 1
  }
  const base = all.length - matched
  // Samples have two bytes.
  return base % 2 === 0 ? base : all.length
}

/** Stands for the sockets of the recording, in the order in which they were dialled. */
class RecordedSockets {
  readonly #lines: readonly CassetteLine[]
  readonly #scheduler: VirtualTimeScheduler
  readonly #waiting: {
    readonly channel: number | undefined
    readonly connection: number | undefined
    readonly atMs: number
  }[]

  constructor(lines: readonly CassetteLine[], scheduler: VirtualTimeScheduler) {
    this.#lines = lines
    this.#scheduler = scheduler
    this.#waiting = dialsOf(lines).map(({ channel, connection, atMs }) => ({ channel, connection, atMs }))
  }

  /** Lets promises settle, and waits until the client has dialled as often as the recorded one. */
  async ready(nowMs: number): Promise<void> {
    for (let turn = 0; turn < maxTurns; turn += 1) {
      if (!this.#waiting.some(({ atMs }) => atMs <= nowMs)) return
      this.#scheduler.flush()
      await (turn < 20 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve)))
    }
  }

  socketClass(channel: number | undefined): SocketClass {
    const play = (socket: RecordedSocket): void => this.#play(socket, channel)
    return class extends RecordedSocket {
      constructor() {
        super()
        play(this)
      }
    }
  }

  #play(socket: RecordedSocket, channel: number | undefined): void {
    const at = this.#waiting.findIndex((dial) => dial.channel === channel)
    const [dial] = at === -1 ? [] : this.#waiting.splice(at, 1)
    // A socket that the recorded client did not open stays closed, until the cassette has ended.
    const lines = this.#lines.filter(({ connection }) => dial !== undefined && connection === dial.connection)
    for (const line of lines) {
      const step = stepOf(line)
      if (step === undefined) continue
      this.#scheduler.schedule(() => step(socket), Math.max(0, line.atMs - this.#scheduler.now()))
    }
  }
}

/** Only while a chunk of the page is still loading; then it gives up, and the session ends by its own deadlines. */
const maxTurns = 200

const stepOf = ({ event, text, code }: CassetteLine): ((socket: RecordedSocket) => void) | undefined => {
  switch (event) {
    case 'open':
      return (socket) => socket.open()
    case 'received':
      return (socket) => socket.emit('message', { data: text ?? '' })
    case 'ended':
      return (socket) => socket.end(code === undefined ? 1000 : 1006)
    case 'dial-failed':
      return (socket) => socket.end(1006)
    // Without a reason the client does the same again.
    case 'close':
      return code === undefined ? undefined : (socket) => socket.end(1006)
    default:
      return undefined
  }
}

/** A WebSocket whose service is a recording. */
class RecordedSocket implements Socket {
  binaryType = 'arraybuffer'
  readonly bufferedAmount = 0
  readyState = 0
  readonly #target = new EventTarget()

  addEventListener(type: string, listener: (event: never) => void, options?: { readonly once: boolean }): void {
    this.#target.addEventListener(type, listener as EventListener, options)
  }

  removeEventListener(type: string, listener: (event: never) => void): void {
    this.#target.removeEventListener(type, listener as EventListener)
  }

  send(): void {}

  close(): void {
    this.end(1000)
  }

  open(): void {
    this.readyState = 1
    this.emit('open', {})
  }

  end(code: number): void {
    if (this.readyState === 3) return
    this.readyState = 3
    this.emit('close', { code, reason: '' })
  }

  emit(type: string, fields: object): void {
    if (type === 'message' && this.readyState !== 1) return
    this.#target.dispatchEvent(Object.assign(new Event(type), fields))
  }
}
