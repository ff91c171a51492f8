import { Subscription, type SchedulerLike, type Subscriber } from 'rxjs'
import { SpeechError } from '../errors/speech-error.js'
import type { SessionEvent } from '../protocol/session-event.js'
import type { Link } from '../transport/link.js'
import { redacted, type OpenLine, type TapedMessage } from './cassette.js'
import type { PlacedLine } from './cassette-connections.js'
import type { EventReader } from './event-reader.js'
import { stepOf } from './mismatch.js'
import { tape, type WireMessage } from './taped-message.js'

export interface PlayingSettings<Message> {
  readonly token: string
  readonly answerTimeoutMs: number
  readonly speed: number
  readonly scheduler: SchedulerLike
  readonly messageOf: (taped: TapedMessage) => Message
}

/** How the service's words come out. */
export interface PlayingOutput {
  readonly reader: EventReader
  readonly subscriber: Subscriber<SessionEvent>
}

/** The recorded client on one connection, line by line. */
export class PlayingClient<Message extends WireMessage> {
  readonly #open: OpenLine
  readonly #lines: readonly PlacedLine[]
  readonly #link: Link<Message, Message>
  readonly #output: PlayingOutput
  readonly #settings: PlayingSettings<Message>
  readonly #openedMs: number
  readonly #life = new Subscription()
  #cursor = 0
  #busy = false
  /** Steps of the service that the recorded client waited for, and those that have come. */
  #awaited = 0
  #come = 0
  #timer: Subscription | undefined
  #deadline: Subscription | undefined
  #room: Subscription | undefined

  constructor(
    open: OpenLine,
    lines: readonly PlacedLine[],
    link: Link<Message, Message>,
    output: PlayingOutput,
    settings: PlayingSettings<Message>,
  ) {
    this.#open = open
    this.#lines = lines
    this.#link = link
    this.#output = output
    this.#settings = settings
    this.#openedMs = settings.scheduler.now()
  }

  /** Speaks before it listens, as sessions do: what is answered can only be understood with what was asked. */
  begin(): void {
    this.#play()
    const { subscriber } = this.#output
    if (subscriber.closed) return
    this.#life.add(
      this.#link.incoming$.subscribe({
        next: (message) => this.#hear(message),
        complete: () => subscriber.complete(),
        error: (error: unknown) => subscriber.error(error),
      }),
    )
  }

  leave(): void {
    this.#timer?.unsubscribe()
    this.#deadline?.unsubscribe()
    this.#room?.unsubscribe()
    this.#life.unsubscribe()
  }

  #hear(message: Message): void {
    const taped = tape(message, 'embedded', (text) => text)
    this.#output.subscriber.next(this.#output.reader.eventOf(taped))
    if (!isStep(taped)) return
    this.#come += 1
    this.#play()
  }

  #play(): void {
    if (this.#busy) return
    this.#busy = true
    while (!this.#output.subscriber.closed && this.#goOn()) this.#cursor += 1
    this.#busy = false
  }

  /** Does the next line; false where it has to wait. */
  #goOn(): boolean {
    const line = this.#lines[this.#cursor]?.line
    switch (line?.event) {
      case 'sent':
        if (!this.#isDue(line.atMs) || !this.#hasRoom()) return false
        this.#output.reader.asked(line)
        this.#link.send(this.#settings.messageOf(this.#withToken(line)))
        return true
      case 'finish':
        if (!this.#isDue(line.atMs)) return false
        this.#link.finish()
        return true
      case 'received':
        return !isStep(line) || this.#isAnswered()
      case 'ended':
        // What ends it is the service, which is heard; but it does not do again what the network did, nor close again.
        if (line.code !== 'connection-lost' && line.code !== 'going-away') this.#await()
        else if (this.#isDue(line.atMs)) this.#output.subscriber.complete()
        return false
      default:
        this.#output.subscriber.complete()
        return false
    }
  }

  #isAnswered(): boolean {
    if (this.#come <= this.#awaited) {
      this.#await()
      return false
    }
    this.#awaited += 1
    this.#deadline?.unsubscribe()
    this.#deadline = undefined
    return true
  }

  /** Every wait ends. */
  #await(): void {
    const { scheduler, answerTimeoutMs } = this.#settings
    this.#deadline ??= scheduler.schedule(() => {
      const code = this.#awaited === 0 ? 'start-timeout' : 'finalize-timeout'
      this.#output.subscriber.error(
        new SpeechError(code, `The service did not do in ${answerTimeoutMs} ms what it did when it was recorded.`),
      )
    }, answerTimeoutMs)
  }

  #isDue(atMs: number): boolean {
    const { speed, scheduler } = this.#settings
    const waitMs = this.#openedMs + (atMs - this.#open.atMs) / speed - scheduler.now()
    if (waitMs <= 0) return true
    this.#timer ??= scheduler.schedule(() => {
      this.#timer = undefined
      this.#play()
    }, waitMs)
    return false
  }

  #hasRoom(): boolean {
    if (!this.#link.isCongested) return true
    if (this.#room === undefined || this.#room.closed) {
      this.#room = this.#link.drain$.subscribe({ complete: () => this.#play() })
    }
    return false
  }

  #withToken(message: TapedMessage): TapedMessage {
    if (message.text?.includes(redacted) !== true) return message
    return { ...message, text: message.text.replaceAll(redacted, JSON.stringify(this.#settings.token).slice(1, -1)) }
  }
}

/** What a client waits for before it goes on: the answer to a request, or the last word of a recognition. */
const isStep = (message: TapedMessage): boolean => {
  if (message.contentType !== undefined) return message.contentType === 3
  const step = stepOf(message)
  return step.endsWith('-response') || step === 'final-result'
}
