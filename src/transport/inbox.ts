import { Observable, type Subscriber } from 'rxjs'
import { SpeechError } from '../errors/speech-error.js'

type Reader<T> =
  | { readonly state: 'awaited' }
  | { readonly state: 'reading'; readonly subscriber: Subscriber<T> }
  | { readonly state: 'gone' }

/** What holding one message costs beside its own bytes, so that a flood of empty messages is bounded too. */
const heldMessageBytes = 64

interface Held<T> {
  readonly message: T
  readonly sizeBytes: number
}

/**
 * The receiving half that every link shares: keeps what arrives until there is a reader, while it is paused and while a
 * message is being delivered (so a reader that causes another message by its answer sees both in order), and gives the
 * end only after everything before it. The transport must stop reading while `isFull`: that is the bound of what is kept.
 */
export class Inbox<T> {
  readonly #limitBytes: number
  readonly #changed: () => void
  #reader: Reader<T> = { state: 'awaited' }
  #held: Held<T>[] = []
  #firstHeld = 0
  #end: { readonly error?: SpeechError } | undefined
  #paused = false
  #delivering = false
  #heldSizeBytes = 0

  /**
   * @param limitBytes above so many held bytes the inbox is full
   * @param changed called whenever `isFull` or `heldBytes` may have changed; must be cheap
   */
  constructor(limitBytes: number, changed: () => void) {
    this.#limitBytes = limitBytes
    this.#changed = changed
  }

  /** Hot, one subscriber. A second one gets `already-started`. */
  get incoming$(): Observable<T> {
    return new Observable((subscriber) => this.#read(subscriber))
  }

  /** Bytes that arrived and were not delivered. */
  get heldBytes(): number {
    return this.#heldSizeBytes
  }

  /** Whether the transport should not read on: the owner paused, or more is held than may be. */
  get isFull(): boolean {
    return this.#paused || this.isOverLimit
  }

  /** Whether more is held than may be, paused or not. */
  get isOverLimit(): boolean {
    return this.#heldSizeBytes + (this.#held.length - this.#firstHeld) * heldMessageBytes > this.#limitBytes
  }

  push(message: T, sizeBytes: number): void {
    if (this.#end !== undefined || this.#reader.state === 'gone') return
    if (this.#reader.state === 'reading' && !this.#paused && !this.#delivering) {
      this.#delivering = true
      this.#reader.subscriber.next(message)
      this.#delivering = false
      if (this.#firstHeld < this.#held.length || this.#end !== undefined) this.#deliver()
      return
    }
    this.#held.push({ message, sizeBytes })
    this.#heldSizeBytes += sizeBytes
    this.#changed()
  }

  /** Nothing follows: completes, or errors, after everything that is held. The first end counts. */
  finish(error?: SpeechError): void {
    if (this.#end !== undefined) return
    this.#end = error === undefined ? {} : { error }
    this.#deliver()
  }

  /** The owner has closed: drops what is held and completes at once. */
  discard(): void {
    this.#held = []
    this.#firstHeld = 0
    this.#heldSizeBytes = 0
    this.#end ??= {}
    if (this.#reader.state === 'reading') this.#reader.subscriber.complete()
    this.#changed()
  }

  pause(): void {
    this.#paused = true
    this.#changed()
  }

  resume(): void {
    this.#paused = false
    this.#deliver()
    this.#changed()
  }

  #read(subscriber: Subscriber<T>): void {
    if (this.#reader.state !== 'awaited') {
      subscriber.error(
        new SpeechError('already-started', 'The incoming messages of a link take one subscriber; share them.'),
      )
      return
    }
    this.#reader = { state: 'reading', subscriber }
    subscriber.add(() => {
      this.#reader = { state: 'gone' }
      this.#held = []
      this.#firstHeld = 0
      this.#heldSizeBytes = 0
      this.#changed()
    })
    this.#deliver()
  }

  #deliver(): void {
    if (this.#delivering || this.#reader.state !== 'reading') return
    const { subscriber } = this.#reader
    this.#delivering = true
    while (!this.#paused && !subscriber.closed) {
      const next = this.#takeHeld()
      if (next === undefined) break
      subscriber.next(next.message)
      this.#changed()
    }
    this.#delivering = false
    if (this.#end === undefined || this.#firstHeld < this.#held.length) return
    if (this.#end.error === undefined) subscriber.complete()
    else subscriber.error(this.#end.error)
  }

  #takeHeld(): Held<T> | undefined {
    const next = this.#held[this.#firstHeld]
    if (next === undefined) return undefined
    this.#firstHeld += 1
    this.#heldSizeBytes -= next.sizeBytes
    if (this.#firstHeld === this.#held.length) {
      this.#held = []
      this.#firstHeld = 0
    } else if (this.#firstHeld === 1024) {
      // Lets go of what was delivered without moving the rest for every message.
      this.#held = this.#held.slice(1024)
      this.#firstHeld = 0
    }
    return next
  }
}
