import { either } from 'fp-ts'
import { Subscription } from 'rxjs'
import { refusalText } from '../../errors/refusal.js'
import { SpeechError } from '../../errors/speech-error.js'
import type { Link } from '../../transport/link.js'
import { VerifyingRecognition, type ResolvedBehavior, type VerifyingResult } from './recognition.js'
import type { ConnectionTracker } from './report.js'

/** A message of the client on either transport. */
export type ClientRequest =
  | { readonly type: 'start'; readonly token?: string; readonly sampleRateHz: number; readonly channels: 1 | 2 }
  | { readonly type: 'audio'; readonly bytes: Uint8Array }
  | { readonly type: 'finalize' | 'stop' | 'other' }

/** The messages of one transport. */
export interface Codec<Message> {
  readonly read: (message: Message) => either.Either<SpeechError, ClientRequest>
  readonly response: (request: 'start' | 'finalize' | 'stop', operationResult: string) => Message
  readonly result: (result: VerifyingResult) => Message
  readonly malformed: Message
  /** Whether a half-close of the client finalizes, and the service ends the connection after the final. */
  readonly hasHalfClose: boolean
}

export interface SessionContext {
  readonly behavior: ResolvedBehavior
  readonly tracker: ConnectionTracker
  /** Checks the token of the start request. */
  readonly accepts: (token: string | undefined) => boolean
}

/** Serves one client until either side ends the connection. Unsubscribe to stop. */
export const serveClient = <Message>(
  link: Link<Message, Message>,
  codec: Codec<Message>,
  context: SessionContext,
): Subscription => {
  const session = new VerifyingSession(link, codec, context)
  const subscription = new Subscription(() => {
    context.tracker.isOpen = false
  })
  subscription.add(
    link.incoming$.subscribe({
      next: (message) => session.onMessage(message),
      complete: () => {
        if (codec.hasHalfClose) session.finalize()
        // A client that half-closed waits for the results, which never come without an answer to finalize.
        if (!codec.hasHalfClose || context.behavior.answersFinalize) subscription.unsubscribe()
      },
      error: () => subscription.unsubscribe(),
    }),
  )
  return subscription
}

class VerifyingSession<Message> {
  readonly #link: Link<Message, Message>
  readonly #codec: Codec<Message>
  readonly #context: SessionContext
  #recognition: VerifyingRecognition | undefined
  #hasSentMalformed = false

  constructor(link: Link<Message, Message>, codec: Codec<Message>, context: SessionContext) {
    this.#link = link
    this.#codec = codec
    this.#context = context
  }

  onMessage(message: Message): void {
    const request = this.#codec.read(message)
    if (either.isLeft(request)) {
      this.#link.close(request.left)
      return
    }
    switch (request.right.type) {
      case 'start':
        return this.#start(request.right)
      case 'audio':
        return this.#takeAudio(request.right.bytes)
      case 'finalize':
        return this.finalize()
      case 'stop':
        return this.#stop()
      case 'other':
    }
  }

  finalize(): void {
    const { behavior, tracker } = this.#context
    tracker.finalizeRequested = true
    const recognition = this.#recognition
    if (!behavior.answersFinalize || recognition === undefined) return
    this.#recognition = undefined
    if (!this.#codec.hasHalfClose) this.#link.send(this.#codec.response('finalize', 'Success'))
    recognition.finish()
    if (this.#codec.hasHalfClose) this.#link.close()
  }

  #start({ token, sampleRateHz, channels }: Extract<ClientRequest, { readonly type: 'start' }>): void {
    const { behavior, tracker, accepts } = this.#context
    if (!behavior.answersStart) return
    if (!accepts(token)) {
      const error = new SpeechError('unauthenticated', 'The token is not accepted.')
      this.#link.send(this.#codec.response('start', refusalText(error)))
      this.#link.close(error)
      return
    }
    this.#recognition = new VerifyingRecognition(sampleRateHz, channels, behavior, (result) =>
      this.#link.send(this.#codec.result(result)),
    )
    tracker.addRecognition(this.#recognition)
    this.#link.send(this.#codec.response('start', 'Success'))
  }

  #takeAudio(bytes: Uint8Array): void {
    const { behavior, tracker } = this.#context
    const recognition = this.#recognition
    if (recognition === undefined) return
    tracker.addAudio(bytes)
    recognition.take(bytes)
    if (!this.#hasSentMalformed && recognition.receivedMs >= behavior.malformedAfterMs) {
      this.#hasSentMalformed = true
      this.#link.send(this.#codec.malformed)
    }
    if (tracker.audioBytes >= behavior.stopsReadingAfterBytes) this.#link.pause()
    if (recognition.receivedMs < behavior.goesAwayAfterMs) return
    this.#recognition = undefined
    recognition.finishMilestones()
    this.#link.close({ code: 'going-away', message: 'The service is closing; connect again.' })
  }

  #stop(): void {
    this.#recognition = undefined
    this.#link.send(this.#codec.response('stop', 'Success'))
    if (this.#codec.hasHalfClose) this.#link.close()
  }
}
