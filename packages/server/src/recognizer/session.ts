import type { Observable, Subscriber, TeardownLogic, Unsubscribable } from 'rxjs'
import type { SoundFault } from 'rxspeech/internal/audio/sound-check/sound-warning'
import type { Inputs, MachineHost } from 'rxspeech/internal/kernel/machine'
import {
  type RecognizeRequest,
  type RecognizerMessage,
  writeRecognizerMessage,
} from 'rxspeech/internal/protocol/recognizer-messages'
import type { SocketMessage } from 'rxspeech/internal/transport/link'
import type { Pausable } from '../sessions/back-pressure.js'
import { ConversationHost, serveConversation } from '../sessions/conversation-host.js'
import { givenId, type RecognizerContext } from '../sessions/session-context.js'
import { recognizerMachine, type RecognizerAction, type RecognizerInput, type RecognizerOutput } from './machine.js'
import { decodeMessage, responseMessage, type ClientRequest } from './protocol.js'
import { RecognitionSession } from './recognition-session.js'

/**
 * Serves one recognition socket (PROTOCOL 4): from the messages of a client to the messages for it. Completion closes
 * the socket normally; an error, always one for clients, closes it with the code of docs/ERRORS.md. An error of
 * `incoming$` means that the client has disconnected, except for an unreadable message, which is answered. Unsubscribe
 * to abort.
 */
export const serveRecognizer = (
  incoming$: Observable<SocketMessage>,
  link: Pausable,
  context: RecognizerContext,
): Observable<SocketMessage> =>
  serveConversation(recognizerMachine, (client) => new RecognizerHost(incoming$, link, context, client))

/** Performs the decisions of the machine. Results do not pass it. */
class RecognizerHost
  extends ConversationHost<SocketMessage, ClientRequest, RecognizerContext>
  implements MachineHost<RecognizerInput, RecognizerOutput, RecognizerAction>
{
  readonly #client: Subscriber<SocketMessage>
  #hasOpened = false
  /** The faults of the audio that were reported: once for a connection, whose recognitions have the same source. */
  readonly #warned = new Set<SoundFault>()

  constructor(
    incoming$: Observable<SocketMessage>,
    link: Pausable,
    context: RecognizerContext,
    client: Subscriber<SocketMessage>,
  ) {
    super({ incoming$, link, context, ended$: context.ended$, ofToken: context.requests })
    this.#client = client
  }

  perform(action: RecognizerAction, inputs: Inputs<RecognizerInput>): TeardownLogic {
    switch (action.type) {
      case 'open':
        return this.#open(action.request, inputs)
      case 'run':
        return this.#run(action.session, inputs)
      default:
        return this.performCommon(action, inputs)
    }
  }

  emit(output: RecognizerOutput): void {
    switch (output.type) {
      case 'response':
        return this.#send(responseMessage(output.request, output.recognitionId, output.error, givenId(this.context)))
      case 'final':
        return this.#send(output.message)
      case 'failure':
        return this.#send(output.recognition.failure(output.error))
      default:
        return this.emitCommon(output)
    }
  }

  protected audioOf(message: SocketMessage): Uint8Array | undefined {
    return typeof message === 'string' ? undefined : message
  }

  protected lengthOf({ length }: SocketMessage): number {
    return length
  }

  protected decode(message: SocketMessage): ReturnType<typeof decodeMessage> {
    return decodeMessage(String(message))
  }

  /** What ends a recognition was counted with its beginning. */
  protected isCounted({ type }: ClientRequest): boolean {
    return type !== 'stop-recognition' && type !== 'finalize-recognition'
  }

  #open(request: RecognizeRequest, inputs: Inputs<RecognizerInput>): void {
    // A session that was admitted keeps its place, also for its next recognition.
    const context = this.#hasOpened ? { ...this.context, checkModel: undefined } : this.context
    RecognitionSession.open(request, context, this.pauses.reason(), this.#warned).then(
      (recognition) => {
        this.#hasOpened = true
        inputs.post({ type: 'ready', recognition })
      },
      (cause: unknown) => {
        const error = this.clientError(cause)
        this.requests.startRefused(error)
        inputs.post({ type: 'not-ready', error })
      },
    )
  }

  #run(recognition: RecognitionSession, inputs: Inputs<RecognizerInput>): Unsubscribable {
    let final: RecognizerMessage | undefined
    return recognition.run({
      next: (message) => {
        if (message.message === 'final-result') final = message
        else this.#send(message)
      },
      audioClosed: () => inputs.post({ type: 'audio-closed' }),
      complete: () => inputs.post({ type: 'recognition-ended', final }),
      error: (error) => inputs.post({ type: 'end', cause: 'recognition-failed', error: this.clientError(error) }),
    })
  }

  #send(message: RecognizerMessage): void {
    this.#client.next(writeRecognizerMessage(message))
  }
}
