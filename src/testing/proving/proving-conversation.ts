import { either } from 'fp-ts'
import { Subscription } from 'rxjs'
import { refusalText } from '../../errors/refusal.js'
import { SpeechError } from '../../errors/speech-error.js'
import type { Link } from '../../transport/link.js'
import type { ResolvedBehavior } from './proving-behavior.js'
import type { ConnectionRecord } from './proving-evidence.js'
import { ProvingRecognition, type ProvingResult } from './proving-recognition.js'

/** What a client asks, in neither transport's words. */
export type Asked =
  | { readonly type: 'start'; readonly token?: string; readonly sampleRateHz: number; readonly channels: 1 | 2 }
  | { readonly type: 'audio'; readonly bytes: Uint8Array }
  | { readonly type: 'finalize' | 'stop' | 'other' }

/** How the two transports put it. */
export interface Wording<Message> {
  readonly read: (message: Message) => either.Either<SpeechError, Asked>
  readonly answer: (request: 'start' | 'finalize' | 'stop', operationResult: string) => Message
  readonly result: (result: ProvingResult) => Message
  readonly malformed: Message
  /** Whether the end of the client's half is a finalize, and the end of the service's is the last word. */
  readonly halfCloses: boolean
}

export interface ProvingTerms {
  readonly behavior: ResolvedBehavior
  readonly record: ConnectionRecord
  /** The token that came before the start, where it does. */
  readonly accepts: (token: string | undefined) => boolean
}

/** Talks with one client until either leaves. */
export const converse = <Message>(
  link: Link<Message, Message>,
  wording: Wording<Message>,
  terms: ProvingTerms,
): Subscription => {
  const conversation = new Conversation(link, wording, terms)
  const life = new Subscription(() => {
    terms.record.isOpen = false
  })
  const listening = link.incoming$.subscribe({
    next: (message) => conversation.hear(message),
    complete: () => {
      if (wording.halfCloses) conversation.finalize()
      // Who half-closed still waits, for ever where finalize has no answer.
      if (!wording.halfCloses || terms.behavior.answersFinalize) life.unsubscribe()
    },
    error: () => life.unsubscribe(),
  })
  life.add(listening)
  return life
}

class Conversation<Message> {
  #recognition: ProvingRecognition | undefined
  #saidMalformed = false

  constructor(
    private readonly link: Link<Message, Message>,
    private readonly wording: Wording<Message>,
    private readonly terms: ProvingTerms,
  ) {}

  hear(message: Message): void {
    const asked = this.wording.read(message)
    if (either.isLeft(asked)) {
      this.link.close(asked.left)
      return
    }
    switch (asked.right.type) {
      case 'start':
        return this.#start(asked.right)
      case 'audio':
        return this.#take(asked.right.bytes)
      case 'finalize':
        return this.finalize()
      case 'stop':
        return this.#stop()
      case 'other':
    }
  }

  finalize(): void {
    const { behavior, record } = this.terms
    record.finalizeAsked = true
    const recognition = this.#recognition
    if (!behavior.answersFinalize || recognition === undefined) return
    this.#recognition = undefined
    if (!this.wording.halfCloses) this.link.send(this.wording.answer('finalize', 'Success'))
    recognition.finish()
    if (this.wording.halfCloses) this.link.close()
  }

  #start({ token, sampleRateHz, channels }: Extract<Asked, { readonly type: 'start' }>): void {
    const { behavior, record, accepts } = this.terms
    if (!behavior.answersStart) return
    if (!accepts(token)) {
      const error = new SpeechError('unauthenticated', 'The token is not accepted.')
      this.link.send(this.wording.answer('start', refusalText(error)))
      this.link.close(error)
      return
    }
    this.#recognition = new ProvingRecognition(sampleRateHz, channels, behavior, (result) =>
      this.link.send(this.wording.result(result)),
    )
    record.begin(this.#recognition)
    this.link.send(this.wording.answer('start', 'Success'))
  }

  #take(bytes: Uint8Array): void {
    const { behavior, record } = this.terms
    const recognition = this.#recognition
    if (recognition === undefined) return
    record.take(bytes)
    recognition.take(bytes)
    if (!this.#saidMalformed && recognition.heardMs >= behavior.malformedAfterMs) {
      this.#saidMalformed = true
      this.link.send(this.wording.malformed)
    }
    if (record.audioBytes >= behavior.stopsReadingAfterBytes) this.link.pause()
    if (recognition.heardMs < behavior.goesAwayAfterMs) return
    this.#recognition = undefined
    recognition.finishMilestones()
    this.link.close({ code: 'going-away', message: 'The service is closing; connect again.' })
  }

  #stop(): void {
    this.#recognition = undefined
    this.link.send(this.wording.answer('stop', 'Success'))
    if (this.wording.halfCloses) this.link.close()
  }
}
