import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { either } from 'fp-ts'
import type { Subscription } from 'rxjs'
import { isErrorCode } from '../../errors/error-table.js'
import { Mailbox } from '../../kernel/mailbox.js'
import { parseJsonObject } from '../../protocol/parse-json.js'
import type { Link } from '../../transport/link.js'
import type { EndingLine, LocatedLine, OpenLine, Reason, RecordedMessage } from '../format/cassette.js'
import { describeMessage, isBytes, kindOf, recordedBytes, type WireMessage } from '../format/recorded-message.js'
import { redactSecretFields } from '../record/secrets.js'
import { LineClock, type PlaySpeed } from './line-clock.js'

/** A difference between a client that is played against a cassette and the recorded client. */
export interface CassetteMismatch {
  /** The connection, from 1, in the order of the recording. */
  readonly connection: number
  /** The line of the cassette that the client was compared with. */
  readonly line: number
  /** A description of the recorded step: names of messages and numbers of bytes, no content. */
  readonly expected: string
  /** A description of what the client did. */
  readonly actual: string
}

export interface ServicePlayerSettings<Message> extends PlaySpeed {
  readonly mismatch: 'strict' | 'lenient'
  readonly onMismatch: (mismatch: CassetteMismatch) => void
  readonly messageOf: (recorded: RecordedMessage) => Message
}

/** A step of the client: a message, the half-close, or the end of the connection. */
type ClientStep =
  | { readonly type: 'message'; readonly message: RecordedMessage; readonly audio: Uint8Array | undefined }
  | { readonly type: 'finish' | 'close' }

/**
 * Plays the service's side of one connection. It goes through the lines in order, sends the messages of the service,
 * and waits at each line of the client until the client has taken that step. So no message precedes its cause, and with
 * a finite speed none comes earlier than recorded. It does not read while it waits for the time of a line, so a client
 * that is ahead experiences back-pressure.
 */
export class ServicePlayer<Message extends WireMessage> {
  readonly #lines: readonly LocatedLine[]
  readonly #link: Link<Message, Message>
  readonly #settings: ServicePlayerSettings<Message>
  readonly #clock: LineClock
  /** Steps of the client that wait for their line. */
  readonly #steps: ClientStep[] = []
  /** A message that is sent can cause the client's next step before `send` returns. */
  readonly #turns = new Mailbox<'turn'>(() => {
    while (!this.#isEnded && this.#playLine());
  })
  #isEnded = false
  #next = 0
  /** Lines of the client before this index are skipped. */
  #skipTo = 0
  #audio: AudioComparison | undefined
  #hasReportedAudio = false
  #incoming: Subscription | undefined

  constructor(
    open: OpenLine,
    lines: readonly LocatedLine[],
    link: Link<Message, Message>,
    settings: ServicePlayerSettings<Message>,
  ) {
    this.#lines = lines
    this.#link = link
    this.#settings = settings
    this.#clock = new LineClock(open, settings, () => this.#turns.post('turn'))
  }

  start(): void {
    this.#incoming = this.#link.incoming$.subscribe({
      next: (message) => this.#onStep(stepOf(message)),
      complete: () => this.#onStep({ type: 'finish' }),
      error: () => this.#onStep({ type: 'close' }),
    })
    this.#turns.post('turn')
  }

  /** Ends the connection after the client closed it. */
  stop(): void {
    if (!this.#isEnded) this.#endEarly()
    this.#clock.stop()
    this.#incoming?.unsubscribe()
  }

  #onStep(step: ClientStep): void {
    if (this.#isEnded) return
    this.#steps.push(step)
    this.#turns.post('turn')
  }

  /** Plays the next line. Returns false if it has to wait. */
  #playLine(): boolean {
    const located = this.#lines[this.#next]
    if (located === undefined) {
      this.#end({ code: 'connection-lost', message: 'The cassette ends here.' })
      return false
    }
    const { line } = located
    if (line.event === 'received' || line.event === 'ended') {
      if (!this.#clock.isDue(line.atMs)) {
        this.#link.pause()
        return false
      }
      this.#next += 1
      if (line.event === 'received') this.#link.send(this.#settings.messageOf(line))
      else this.#end(line as EndingLine)
      return true
    }
    if (this.#next < this.#skipTo) {
      this.#nextLine()
      return true
    }
    if (this.#steps.length === 0) this.#link.resume()
    const step = this.#steps.shift()
    if (step === undefined) return false
    this.#compare(located, step)
    return true
  }

  #nextLine(): void {
    this.#next += 1
    this.#audio = undefined
  }

  #compare(located: LocatedLine, step: ClientStep): void {
    const { line } = located
    if (step.type !== 'message') {
      if (line.event === step.type) this.#nextLine()
      else if (line.event === 'close' || step.type === 'close') this.#endEarly()
      else this.#differ(located, step, halfClose)
    } else if (line.event !== 'sent' || kindOf(line) !== kindOf(step.message)) {
      this.#differ(located, step, describeMessage(step.message))
    } else if (step.audio !== undefined) this.#compareAudio(located, line, step.message, step.audio)
    else {
      const isSame =
        line.contentType === step.message.contentType && isSameText(line.text ?? '', step.message.text ?? '')
      if (!isSame) this.#onMismatch(located, `${describeMessage(step.message)} with other fields`)
      this.#nextLine()
    }
  }

  #compareAudio(located: LocatedLine, line: RecordedMessage, message: RecordedMessage, bytes: Uint8Array): void {
    const audio = (this.#audio ??= new AudioComparison(line))
    const rest = audio.take(bytes)
    if (rest.length > 0)
      this.#steps.unshift({ type: 'message', message: { ...message, bytes: rest.length }, audio: rest })
    if (!audio.isComplete) return
    const isSame = this.#settings.mismatch === 'lenient' || audio.isSame()
    if (!isSame) this.#onMismatch(located, 'other audio of that length')
    this.#nextLine()
  }

  /** The client took another step than the recorded one: continue where the recording has that step, if it has it. */
  #differ(located: LocatedLine, step: ClientStep, description: string): void {
    const isAudio = step.type === 'message' && step.audio !== undefined
    if (!isAudio || !this.#hasReportedAudio) this.#onMismatch(located, description)
    this.#hasReportedAudio ||= isAudio
    if (this.#isEnded || isAudio) return
    const index = this.#lines.findIndex(({ line }, at) => at > this.#next && isSameStep(line, step))
    if (index === -1) return
    this.#skipTo = index
    this.#steps.unshift(step)
  }

  /** The client closed the connection, which is a mismatch if the recorded client continued. */
  #endEarly(): void {
    const skipped = this.#lines.slice(this.#next).find(({ line }) => line.event === 'sent' || line.event === 'finish')
    this.#isEnded = true
    if (skipped !== undefined) this.#report(skipped, 'the end of the connection')
  }

  /** Reports a mismatch and in strict mode ends the connection. */
  #onMismatch(located: LocatedLine, actual: string): void {
    const expected = this.#report(located, actual)
    if (this.#settings.mismatch === 'lenient') return
    const message = `Line ${located.number} of the cassette has ${expected} here; the client sent ${actual}.`
    this.#end({ code: 'protocol-violation', message })
  }

  #report({ number, line }: LocatedLine, actual: string): string {
    const expected =
      line.event === 'sent' ? describeMessage(line) : line.event === 'finish' ? halfClose : 'no further message'
    this.#settings.onMismatch({ connection: line.connection, line: number, expected, actual })
    return expected
  }

  #end({ code, message = 'The service sent no reason.' }: Reason): void {
    this.#isEnded = true
    if (code === undefined) this.#link.close()
    else this.#link.close({ code: isErrorCode(code) ? code : 'refused', message })
  }
}

const halfClose = "the end of the client's messages"

const isSameStep = (line: LocatedLine['line'], step: ClientStep): boolean =>
  step.type === 'message' ? line.event === 'sent' && kindOf(line) === kindOf(step.message) : line.event === step.type

const stepOf = (message: WireMessage): ClientStep => {
  if (typeof message === 'string') return { type: 'message', message: { text: message }, audio: undefined }
  if (isBytes(message)) return { type: 'message', message: { bytes: message.length }, audio: message }
  const { contentType, content, binaryContent } = message
  return content === ''
    ? { type: 'message', message: { contentType, bytes: binaryContent.length }, audio: binaryContent }
    : { type: 'message', message: { contentType, text: content }, audio: undefined }
}

/** Compares as JSON: the order of fields does not matter, and secrets are equal. */
const isSameText = (recorded: string, received: string): boolean => {
  const recordedJson = parseJsonObject(redactSecretFields(recorded))
  const receivedJson = parseJsonObject(redactSecretFields(received))
  if (either.isLeft(recordedJson) || either.isLeft(receivedJson)) return recorded === received
  return isDeepStrictEqual(recordedJson.right, receivedJson.right)
}

/** Compares one recorded audio message with audio that the client may divide into messages in another way. */
class AudioComparison {
  readonly #recorded: RecordedMessage
  readonly #parts: Uint8Array[] = []
  #missingBytes: number

  constructor(recorded: RecordedMessage) {
    this.#recorded = recorded
    this.#missingBytes = recorded.bytes ?? 0
  }

  get isComplete(): boolean {
    return this.#missingBytes === 0
  }

  /** Takes the bytes that belong to this message and returns the rest. */
  take(bytes: Uint8Array): Uint8Array {
    const part = bytes.subarray(0, this.#missingBytes)
    this.#missingBytes -= part.length
    this.#parts.push(part)
    return bytes.subarray(part.length)
  }

  isSame(): boolean {
    const { sha256 } = this.#recorded
    const received = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts)
    if (received === undefined) return true
    return sha256 === undefined
      ? Buffer.compare(received, recordedBytes(this.#recorded)) === 0
      : createHash('sha256').update(received).digest('hex') === sha256
  }
}
