import type { SchedulerLike } from 'rxjs'
import type { SpeechError } from '../errors/speech-error.js'
import type { Address } from './address-line.js'
import type {
  AudioKeeping,
  CassetteHeader,
  CassetteLine,
  ConnectionLine,
  EndLine,
  MessageLine,
  Reason,
} from './cassette.js'
import { writeLine } from './cassette-codec.js'
import type { LineQueue } from './line-queue.js'
import type { Secrets } from './secrets.js'
import { tape, type WireMessage } from './taped-message.js'

/** A line without what the recorder adds to it. */
type Untimed<Line> = Line extends unknown ? Omit<Line, 'atMs'> : never
type Untold<Line> = Line extends unknown ? Omit<Line, 'atMs' | 'connection'> : never

export interface RecorderSettings {
  readonly scheduler: SchedulerLike
  readonly secrets: Secrets
  readonly audio: AudioKeeping
}

/** Writes one session: gives every line its time and every connection its number. */
export class Recorder {
  readonly #queue: LineQueue
  readonly #settings: RecorderSettings
  readonly #startMs: number
  readonly #connections: ConnectionRecorder[] = []
  #state: 'running' | 'ended' = 'running'
  #nowMs = 0

  constructor(queue: LineQueue, settings: RecorderSettings, header: Pick<CassetteHeader, 'transport' | 'format'>) {
    const { scheduler, audio } = settings
    this.#queue = queue
    this.#settings = settings
    this.#startMs = scheduler.now()
    const { encoding, sampleRateHz, channels } = header.format
    queue.push(
      writeLine({
        version: 1,
        transport: header.transport,
        format: { encoding, sampleRateHz, channels },
        startedAt: new Date(this.#startMs).toISOString(),
        audio,
      }),
      this.#holeLine,
    )
  }

  connect(address: Address): ConnectionRecorder {
    const connection = this.#connections.length + 1
    const { secrets, audio } = this.#settings
    const recorder = new ConnectionRecorder(secrets, audio, (line) => this.#write({ connection, ...line }))
    this.#connections.push(recorder)
    recorder.dial(address)
    return recorder
  }

  /** The last line. The session leaves its connections then, which may be told to them a little later. */
  end(outcome: EndLine['outcome'], error?: SpeechError): void {
    for (const connection of this.#connections) connection.closed()
    this.#write({ event: 'end', outcome, ...reasonOf(error, this.#settings.secrets) })
    this.#state = 'ended'
  }

  readonly #holeLine = (lines: number, bytes: number): string =>
    writeLine({ atMs: this.#elapsedMs(), event: 'lost', lines, bytes })

  #write(line: Untimed<CassetteLine>): void {
    if (this.#state === 'ended') return
    this.#queue.push(writeLine({ atMs: this.#elapsedMs(), ...line }), this.#holeLine)
  }

  /** A clock may be set back; a cassette's is not. */
  #elapsedMs(): number {
    this.#nowMs = Math.max(this.#nowMs, this.#settings.scheduler.now() - this.#startMs)
    return this.#nowMs
  }
}

/** One connection, from the attempt to its end, of which there is one. */
export class ConnectionRecorder {
  readonly #secrets: Secrets
  readonly #audio: AudioKeeping
  readonly #write: (line: Untold<ConnectionLine>) => void
  #state: 'dialling' | 'open' | 'finished' | 'over' = 'dialling'

  constructor(secrets: Secrets, audio: AudioKeeping, write: (line: Untold<ConnectionLine>) => void) {
    this.#secrets = secrets
    this.#audio = audio
    this.#write = write
  }

  dial({ channel, address, headers, protocols }: Address): void {
    const clean = (text: string): string => this.#secrets.ofClient(text)
    this.#write({
      event: 'dial',
      ...(channel === undefined ? {} : { channel }),
      ...(address === undefined ? {} : { address: clean(address) }),
      ...(headers === undefined ? {} : { headers: headers.map(clean) }),
      ...(protocols === undefined ? {} : { protocols: protocols.map(clean) }),
    })
  }

  opened(): void {
    this.#state = 'open'
    this.#write({ event: 'open' })
  }

  sent(message: WireMessage): void {
    if (this.#state === 'open') this.#message('sent', message, (text) => this.#secrets.ofClient(text))
  }

  received(message: WireMessage): void {
    if (this.#state !== 'over') this.#message('received', message, (text) => this.#secrets.clean(text))
  }

  finished(): void {
    if (this.#state !== 'open') return
    this.#state = 'finished'
    this.#write({ event: 'finish' })
  }

  /** The client left, whether it waited for the connection or had it. */
  closed(reason?: Reason): void {
    this.#over('close', reason)
  }

  /** The service or the network ended it. */
  ended(error?: SpeechError): void {
    this.#over('ended', error)
  }

  failed(error: SpeechError): void {
    this.#over('dial-failed', error)
  }

  #over(event: 'close' | 'ended' | 'dial-failed', reason: Reason | undefined): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#write({ event, ...reasonOf(reason, this.#secrets) })
  }

  #message(event: MessageLine['event'], message: WireMessage, clean: (text: string) => string): void {
    this.#write({ event, ...tape(message, this.#audio, clean) })
  }
}

const reasonOf = (reason: Reason | undefined, secrets: Secrets): Reason =>
  reason?.code === undefined
    ? {}
    : { code: reason.code, ...(reason.message === undefined ? {} : { message: secrets.clean(reason.message) }) }
