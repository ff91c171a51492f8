import { map, Observable, tap, type SchedulerLike } from 'rxjs'
import { toSpeechError, type SpeechError } from '../../errors/speech-error.js'
import type { Dial, Link } from '../../transport/link.js'
import type {
  AudioStorage,
  CassetteHeader,
  CassetteLine,
  ConnectionLine,
  DialLine,
  EndLine,
  MessageLine,
  Reason,
} from '../format/cassette.js'
import { writeLine } from '../format/codec.js'
import { recordMessage, type WireMessage } from '../format/recorded-message.js'
import type { LineQueue } from './line-queue.js'
import type { Secrets } from './secrets.js'

/** A line without the fields that the recorder adds. */
type Untimed<Line> = Line extends unknown ? Omit<Line, 'atMs'> : never
type OnConnection<Line> = Line extends unknown ? Omit<Line, 'atMs' | 'connection'> : never

/** The address of a connection, without credentials. */
export type Address = Pick<DialLine, 'channel' | 'address' | 'headers' | 'protocols'>

export interface RecorderSettings {
  readonly scheduler: SchedulerLike
  readonly secrets: Secrets
  readonly audio: AudioStorage
}

/** Records one session: adds the time to every line and the number to every connection. */
export class Recorder {
  readonly #queue: LineQueue
  readonly #settings: RecorderSettings
  readonly #startMs: number
  readonly #connections: ConnectionRecorder[] = []
  #isEnded = false
  #elapsedMs = 0

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
      this.#lostLine,
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

  /** Writes the last line, after a line for each open connection, which the session closes at its end. */
  end(outcome: EndLine['outcome'], error?: SpeechError): void {
    for (const connection of this.#connections) connection.closed()
    this.#write({ event: 'end', outcome, ...reasonOf(error, this.#settings.secrets) })
    this.#isEnded = true
  }

  readonly #lostLine = (lines: number, bytes: number): string =>
    writeLine({ atMs: this.#nextMs(), event: 'lost', lines, bytes })

  #write(line: Untimed<CassetteLine>): void {
    if (this.#isEnded) return
    this.#queue.push(writeLine({ atMs: this.#nextMs(), ...line }), this.#lostLine)
  }

  /** Never decreases, even if the clock is set back. */
  #nextMs(): number {
    this.#elapsedMs = Math.max(this.#elapsedMs, this.#settings.scheduler.now() - this.#startMs)
    return this.#elapsedMs
  }
}

/** Records one connection, from the attempt to its single end. */
class ConnectionRecorder {
  readonly #secrets: Secrets
  readonly #audio: AudioStorage
  readonly #write: (line: OnConnection<ConnectionLine>) => void
  #state: 'dialing' | 'open' | 'finished' | 'ended' = 'dialing'

  constructor(secrets: Secrets, audio: AudioStorage, write: (line: OnConnection<ConnectionLine>) => void) {
    this.#secrets = secrets
    this.#audio = audio
    this.#write = write
  }

  dial({ channel, address, headers, protocols }: Address): void {
    const redact = (text: string): string => this.#secrets.redactClientText(text)
    this.#write({
      event: 'dial',
      channel,
      address: address === undefined ? undefined : redact(address),
      headers: headers?.map(redact),
      protocols: protocols?.map(redact),
    })
  }

  opened(): void {
    this.#state = 'open'
    this.#write({ event: 'open' })
  }

  sent(message: WireMessage): void {
    if (this.#state === 'open') this.#message('sent', message, (text) => this.#secrets.redactClientText(text))
  }

  received(message: WireMessage): void {
    if (this.#state !== 'ended') this.#message('received', message, (text) => this.#secrets.maskServiceText(text))
  }

  finished(): void {
    if (this.#state !== 'open') return
    this.#state = 'finished'
    this.#write({ event: 'finish' })
  }

  /** The client closed the connection or gave up dialing. */
  closed(reason?: Reason): void {
    this.#end('close', reason)
  }

  /** The service or the network ended the connection. */
  ended(error?: SpeechError): void {
    this.#end('ended', error)
  }

  failed(error: SpeechError): void {
    this.#end('dial-failed', error)
  }

  #end(event: 'close' | 'ended' | 'dial-failed', reason: Reason | undefined): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    this.#write({ event, ...reasonOf(reason, this.#secrets) })
  }

  #message(event: MessageLine['event'], message: WireMessage, redact: (text: string) => string): void {
    this.#write({ event, ...recordMessage(message, this.#audio, redact) })
  }
}

const reasonOf = (reason: Reason | undefined, secrets: Secrets): Reason | undefined =>
  reason?.code === undefined
    ? undefined
    : {
        code: reason.code,
        message: reason.message === undefined ? undefined : secrets.maskServiceText(reason.message),
      }

/** A dial whose connections are recorded. It adds no delay, timer or buffer. */
export const recordedDial = <Message extends WireMessage>(
  dial$: Dial<Message, Message>,
  recorder: Recorder,
  address: Address,
): Dial<Message, Message> =>
  new Observable((subscriber) => {
    const connection = recorder.connect(address)
    // Added before the link is closed, which also ends its messages.
    subscriber.add(() => connection.closed())
    const recorded$ = dial$.pipe(
      map((link) => {
        connection.opened()
        return new RecordedLink(link, connection)
      }),
      tap({
        error: (error: unknown) =>
          connection.failed(toSpeechError(error, 'connection-failed', 'The connection failed.')),
      }),
    )
    subscriber.add(recorded$.subscribe(subscriber))
  })

/** Records each message before it is passed on, so that an answer never precedes its request. */
class RecordedLink<Message extends WireMessage> implements Link<Message, Message> {
  readonly incoming$: Observable<Message>
  readonly drain$: Observable<void>
  readonly leaving$?: Observable<void>
  readonly #link: Link<Message, Message>
  readonly #connection: ConnectionRecorder

  constructor(link: Link<Message, Message>, connection: ConnectionRecorder) {
    this.#link = link
    this.#connection = connection
    this.drain$ = link.drain$
    if (link.leaving$ !== undefined) this.leaving$ = link.leaving$
    this.incoming$ = link.incoming$.pipe(
      tap({
        next: (message) => connection.received(message),
        complete: () => connection.ended(),
        error: (error: unknown) => connection.ended(toSpeechError(error, 'connection-lost', 'The connection broke.')),
      }),
    )
  }

  get bufferedBytes(): number {
    return this.#link.bufferedBytes
  }

  get isCongested(): boolean {
    return this.#link.isCongested
  }

  send(message: Message): void {
    this.#connection.sent(message)
    this.#link.send(message)
  }

  pause(): void {
    this.#link.pause()
  }

  resume(): void {
    this.#link.resume()
  }

  finish(): void {
    this.#connection.finished()
    this.#link.finish()
  }

  close(reason?: Parameters<Link<Message, Message>['close']>[0]): void {
    this.#connection.closed(reason)
    this.#link.close(reason)
  }
}
