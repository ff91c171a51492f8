import type { SchedulerLike, Subscription } from 'rxjs'
import { isErrorCode } from '../errors/error-code.js'
import type { Link } from '../transport/link.js'
import type { EndingLine, MessageLine, OpenLine, Reason, TapedMessage } from './cassette.js'
import type { PlacedLine } from './cassette-connections.js'
import { sameText, stepOf, wordsFor, type CassetteMismatch } from './mismatch.js'
import { TapedAudio } from './taped-audio.js'
import type { WireMessage } from './taped-message.js'

export interface PlaySettings<Message> {
  readonly mismatch: 'strict' | 'lenient'
  /** Times the recorded pace; `Infinity` for no waiting at all. */
  readonly speed: number
  readonly scheduler: SchedulerLike
  readonly onMismatch: (mismatch: CassetteMismatch) => void
  readonly messageOf: (taped: TapedMessage) => Message
}

/** What the client does: a message, no more messages, or nothing at all any more. */
type Heard =
  | { readonly step: 'message'; readonly message: TapedMessage; readonly audio: Uint8Array | undefined }
  | { readonly step: 'finish' | 'close' }

/**
 * Plays the service's side of one connection: walks along its lines, says what the service said, and where a line is the
 * client's, waits until the client has said it. So nothing is said before what caused it, and with a speed no earlier
 * than it was recorded. While it waits for the time of a line it does not read, so that a client that is ahead feels it.
 */
export class PlayedConnection<Message extends WireMessage> {
  readonly #open: OpenLine
  readonly #lines: readonly PlacedLine[]
  readonly #link: Link<Message, Message>
  readonly #settings: PlaySettings<Message>
  readonly #openedMs: number
  readonly #heard: Heard[] = []
  #state: 'playing' | 'over' = 'playing'
  #busy = false
  #cursor = 0
  /** Before it, lines of the client are not waited for any more. */
  #skipTo = 0
  #audio: TapedAudio | undefined
  #toldOfAudio = false
  #listening: Subscription | undefined
  #timer: Subscription | undefined

  constructor(
    open: OpenLine,
    lines: readonly PlacedLine[],
    link: Link<Message, Message>,
    settings: PlaySettings<Message>,
  ) {
    this.#open = open
    this.#lines = lines
    this.#link = link
    this.#settings = settings
    this.#openedMs = settings.scheduler.now()
  }

  begin(): void {
    this.#listening = this.#link.incoming$.subscribe({
      next: (message) => this.#hear(heardMessage(message)),
      complete: () => this.#hear({ step: 'finish' }),
      error: () => this.#hear({ step: 'close' }),
    })
    this.#play()
  }

  /** The client has left. */
  end(): void {
    if (this.#state === 'playing') this.#left()
    this.#state = 'over'
    this.#timer?.unsubscribe()
    this.#listening?.unsubscribe()
  }

  #hear(heard: Heard): void {
    if (this.#state === 'over') return
    this.#heard.push(heard)
    this.#play()
  }

  /** What a message causes waits until the line at which it is heard is done. */
  #play(): void {
    if (this.#busy) return
    this.#busy = true
    while (this.#state === 'playing' && this.#goOn()) {
      // Line by line.
    }
    this.#busy = false
  }

  /** Does the next line; false where it has to wait. */
  #goOn(): boolean {
    const placed = this.#lines[this.#cursor]
    if (placed === undefined) {
      this.#over({ code: 'connection-lost', message: 'The cassette ends here.' })
      return false
    }
    const { line } = placed
    if (line.event === 'received' || line.event === 'ended') {
      if (!this.#isDue(line.atMs)) return false
      this.#cursor += 1
      this.#say(line)
      return true
    }
    if (this.#cursor < this.#skipTo) {
      this.#advance()
      return true
    }
    if (this.#heard.length === 0) this.#link.resume()
    const heard = this.#heard.shift()
    if (heard === undefined) return false
    this.#match(placed, heard)
    return true
  }

  #say(line: MessageLine | EndingLine): void {
    if (line.event === 'received') this.#link.send(this.#settings.messageOf(line))
    else this.#over(line as EndingLine)
  }

  #isDue(atMs: number): boolean {
    const { speed, scheduler } = this.#settings
    const waitMs = this.#openedMs + (atMs - this.#open.atMs) / speed - scheduler.now()
    if (waitMs <= 0) return true
    this.#link.pause()
    this.#timer ??= scheduler.schedule(() => {
      this.#timer = undefined
      this.#play()
    }, waitMs)
    return false
  }

  #advance(): void {
    this.#cursor += 1
    this.#audio = undefined
  }

  #match(placed: PlacedLine, heard: Heard): void {
    const { line } = placed
    if (heard.step !== 'message') {
      if (line.event === heard.step) this.#advance()
      else if (line.event === 'close' || heard.step === 'close') this.#left()
      else this.#differ(placed, heard, 'the end of what the client says')
    } else if (line.event !== 'sent' || stepOf(line) !== stepOf(heard.message)) {
      this.#differ(placed, heard, wordsFor(heard.message))
    } else if (heard.audio !== undefined) this.#matchAudio(placed, line, heard.message, heard.audio)
    else {
      const isSame =
        line.contentType === heard.message.contentType && sameText(line.text ?? '', heard.message.text ?? '')
      if (!isSame) this.#tell(placed, `${wordsFor(heard.message)} with other fields`)
      this.#advance()
    }
  }

  #matchAudio(placed: PlacedLine, line: TapedMessage, message: TapedMessage, bytes: Uint8Array): void {
    const audio = (this.#audio ??= new TapedAudio(line))
    const rest = audio.take(bytes)
    if (rest.length > 0)
      this.#heard.unshift({ step: 'message', message: { ...message, bytes: rest.length }, audio: rest })
    if (!audio.isComplete) return
    const isSame = this.#settings.mismatch === 'lenient' || audio.isSame()
    if (!isSame) this.#tell(placed, 'other audio of that length')
    this.#advance()
  }

  /** The client does another step than the recorded one did: where that comes later, it is there now. */
  #differ(placed: PlacedLine, heard: Heard, words: string): void {
    const isAudio = heard.step === 'message' && heard.audio !== undefined
    if (!isAudio || !this.#toldOfAudio) this.#tell(placed, words)
    this.#toldOfAudio ||= isAudio
    if (this.#state === 'over' || isAudio) return
    const later = this.#lines.findIndex(({ line }, index) => index > this.#cursor && isStep(line, heard))
    if (later === -1) return
    this.#skipTo = later
    this.#heard.unshift(heard)
  }

  /** The client has gone: that is one more difference where the recorded one went on. */
  #left(): void {
    const next = this.#lines.slice(this.#cursor).find(({ line }) => line.event === 'sent' || line.event === 'finish')
    this.#state = 'over'
    if (next !== undefined) this.#report(next, 'the end of the connection')
  }

  /** In strict mode that is the end. */
  #tell(placed: PlacedLine, heard: string): void {
    const expected = this.#report(placed, heard)
    if (this.#settings.mismatch === 'lenient') return
    const message = `Line ${placed.number} of the cassette has ${expected} here; the client said ${heard}.`
    this.#over({ code: 'protocol-violation', message })
  }

  #report({ number, line }: PlacedLine, heard: string): string {
    const expected =
      line.event === 'sent' ? wordsFor(line) : line.event === 'finish' ? 'the end of what the client says' : 'no more'
    this.#settings.onMismatch({ connection: line.connection, line: number, expected, heard })
    return expected
  }

  #over({ code, message = 'The service gave no reason.' }: Reason): void {
    this.#state = 'over'
    if (code === undefined) this.#link.close()
    else this.#link.close({ code: isErrorCode(code) ? code : 'refused', message })
  }
}

const isStep = (line: PlacedLine['line'], heard: Heard): boolean =>
  heard.step === 'message' ? line.event === 'sent' && stepOf(line) === stepOf(heard.message) : line.event === heard.step

const heardMessage = (message: WireMessage): Heard => {
  if (typeof message === 'string') return { step: 'message', message: { text: message }, audio: undefined }
  if ('BYTES_PER_ELEMENT' in message) return { step: 'message', message: { bytes: message.length }, audio: message }
  const { contentType, content, binaryContent } = message
  return content === ''
    ? { step: 'message', message: { contentType, bytes: binaryContent.length }, audio: binaryContent }
    : { step: 'message', message: { contentType, text: content }, audio: undefined }
}
