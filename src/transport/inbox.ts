import { Observable, type Subscriber } from 'rxjs'
import { SpeechError } from '../errors/speech-error.js'

/** The overhead of a held message in addition to its bytes, which bounds a flood of empty messages. */
const heldMessageBytes = 64

interface Held<T> {
  readonly message: T
  readonly sizeBytes: number
}

/**
 * The receiving half that every link shares: holds messages until there is a reader, while it is paused and while a
 * message is being delivered, so that a reader whose answer causes another message sees both in order; delivers the end
 * after all messages. A transport that stops reading while `isFull` bounds what it holds.
 */
export class Inbox<T> {
  readonly #limitBytes: number
  readonly #onChange: () => void
  #reader: 'none' | 'gone' | Subscriber<T> = 'none'
  #held: Held<T>[] = []
  #firstHeld = 0
  #end: { readonly error?: SpeechError } | undefined
  #isPaused = false
  #isDelivering = false
  #heldSizeBytes = 0

  /**
   * @param limitBytes the inbox is full above this many held bytes
   * @param onChange called whenever `isFull` or `heldBytes` may have changed; must be cheap
   */
  constructor(limitBytes: number, onChange: () => void) {
    this.#limitBytes = limitBytes
    this.#onChange = onChange
  }

  /** Hot, one subscriber. A second one gets `already-started`. */
  get incoming$(): Observable<T> {
    return new Observable((subscriber) => this.#read(subscriber))
  }

  /** Bytes that have arrived and are not delivered yet. */
  get heldBytes(): number {
    return this.#heldSizeBytes
  }

  /** Whether the transport should stop reading: the owner paused, or the limit is exceeded. */
  get isFull(): boolean {
    return this.#isPaused || this.isOverLimit
  }

  /** Whether the limit is exceeded, paused or not. */
  get isOverLimit(): boolean {
    return this.#heldSizeBytes + (this.#held.length - this.#firstHeld) * heldMessageBytes > this.#limitBytes
  }

  push(message: T, sizeBytes: number): void {
    const reader = this.#reader
    if (this.#end !== undefined || reader === 'gone') return
    if (reader !== 'none' && !this.#isPaused && !this.#isDelivering) {
      this.#isDelivering = true
      reader.next(message)
      this.#isDelivering = false
      if (this.#firstHeld < this.#held.length || this.#end !== undefined) this.#deliver()
      return
    }
    this.#held.push({ message, sizeBytes })
    this.#heldSizeBytes += sizeBytes
    this.#onChange()
  }

  /** Completes or errors after all held messages. The first end wins. */
  finish(error?: SpeechError): void {
    if (this.#end !== undefined) return
    this.#end = error === undefined ? {} : { error }
    this.#deliver()
  }

  /** Drops the held messages and completes at once, because the owner closed. */
  discard(): void {
    this.#held = []
    this.#firstHeld = 0
    this.#heldSizeBytes = 0
    this.#end ??= {}
    if (typeof this.#reader === 'object') this.#reader.complete()
    this.#onChange()
  }

  pause(): void {
    this.#isPaused = true
    this.#onChange()
  }

  resume(): void {
    this.#isPaused = false
    this.#deliver()
    this.#onChange()
  }

  #read(subscriber: Subscriber<T>): void {
    if (this.#reader !== 'none') {
      subscriber.error(new SpeechError('already-started', 'A link supports one subscriber; share its messages.'))
      return
    }
    this.#reader = subscriber
    subscriber.add(() => {
      this.#reader = 'gone'
      this.#held = []
      this.#firstHeld = 0
      this.#heldSizeBytes = 0
      this.#onChange()
    })
    this.#deliver()
  }

  #deliver(): void {
    const subscriber = this.#reader
    if (this.#isDelivering || typeof subscriber === 'string') return
    this.#isDelivering = true
    while (!this.#isPaused && !subscriber.closed) {
      const next = this.#takeHeld()
      if (next === undefined) break
      subscriber.next(next.message)
      this.#onChange()
    }
    this.#isDelivering = false
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
      // Releases delivered messages in blocks, so that the rest is not moved for every message.
      this.#held = this.#held.slice(1024)
      this.#firstHeld = 0
    }
    return next
  }
}
