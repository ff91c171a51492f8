import { either } from 'fp-ts'
import { firstValueFrom, Subscription } from 'rxjs'
import type { Conversation } from 'rxspeech-server/listen/dialect'
import { refusalError } from 'rxspeech/internal/errors/refusal'
import { isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { isSuccess } from 'rxspeech/internal/protocol/operation-result'
import {
  readRecognizerMessage,
  writeRecognizerRequest,
  type RecognizeRequest,
  type RecognizerFinal,
  type RecognizerMilestone,
} from 'rxspeech/internal/protocol/recognizer-messages'

/** What was recognized in a recording. */
export interface Transcription {
  /** The definitive texts, in order; each after the first begins with its separator. */
  readonly milestones: readonly RecognizerMilestone[]
  /** The duration of the audio, in milliseconds. */
  readonly durationMs: number
}

export interface RecordingListener {
  /** A definitive text, as soon as it is known. */
  milestone(result: RecognizerMilestone): void
}

/**
 * Recognizes a recording as a whole over a conversation, which is closed then: 16-bit samples of one channel. Rejects
 * with the error of the service, or with that of the audio.
 */
export const transcribe = async (
  conversation: Conversation,
  request: RecognizeRequest,
  audio: AsyncIterable<Uint8Array>,
  listener?: RecordingListener,
): Promise<Transcription> => {
  const milestones: RecognizerMilestone[] = []
  const reading = new Subscription()
  let hasEnded = false
  const ended = new Promise<RecognizerFinal>((resolve, reject) => {
    const end = (result: RecognizerFinal | SpeechError): void => {
      hasEnded = true
      if (isSpeechError(result)) reject(result)
      else resolve(result)
    }
    const messages = conversation.incoming$.subscribe({
      next: (received) => {
        const read = readRecognizerMessage(String(received))
        if (either.isLeft(read)) {
          end(read.left.error)
          return
        }
        const message = read.right
        switch (message.message) {
          case 'milestone-result':
            milestones.push(message)
            listener?.milestone(message)
            return
          case 'final-result':
          case 'recognize-response':
          case 'finalize-recognition-response':
            if (!isSuccess(message.operationResult)) end(refusalError(message.operationResult))
            else if (message.message === 'final-result') end(message)
            return
          default:
        }
      },
      error: end,
      complete: () => end(goingAway()),
    })
    reading.add(messages)
  })
  // Handled below, unless the audio fails first.
  ended.catch(() => undefined)
  let byteCount = 0
  try {
    conversation.send(writeRecognizerRequest({ request: 'recognize', ...request }))
    for await (const part of audio) {
      if (hasEnded) break
      byteCount += part.length
      conversation.send(part)
      if (conversation.isCongested) await firstValueFrom(conversation.drain$, { defaultValue: undefined })
    }
    const isWhole = !hasEnded
    conversation.send(writeRecognizerRequest({ request: 'finalize-recognition' }))
    const { heardMs = Infinity } = await ended
    const durationMs = (byteCount * 500) / request.sampleRateHz
    // A service that closes ends a recognition at its next pause (PROTOCOL 5.11), and the rest would be missing.
    if (!isWhole || heardMs < durationMs - maxUnheardMs) throw goingAway()
    return { milestones, durationMs }
  } finally {
    reading.unsubscribe()
    conversation.close()
  }
}

/** The end of a recording that the voice activity does not read, because it fills no frame. */
const maxUnheardMs = 20

const goingAway = (): SpeechError =>
  new SpeechError('going-away', 'The service is closing, and has not read all of the recording; send it again.')
