import { either } from 'fp-ts'
import { firstValueFrom, Subscription } from 'rxjs'
import type { Conversation, DialectClient } from 'rxspeech-server/listen/dialect'
import { bytesOf } from 'rxspeech/internal/audio/pcm'
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
import type { Recording } from './recording.js'

/** A definitive text of a channel, counted from 0. */
export type ChannelMilestone = RecognizerMilestone & { readonly channel: number }

/** What was recognized in a recording. */
export interface Transcription {
  /** The definitive texts of all channels, by their start; those after the first of a channel begin with a separator. */
  readonly milestones: readonly ChannelMilestone[]
  /** The duration of the audio, in milliseconds. */
  readonly durationMs: number
}

export interface RecordingListener {
  /** A definitive text, as soon as it is known. */
  milestone(result: ChannelMilestone): void
}

/** A request without the format of the audio, which is that of the recording. */
export type RecordingRequest = Omit<RecognizeRequest, 'audioFormat' | 'sampleRateHz'>

/**
 * Recognizes a recording as a whole, each channel in a conversation of its own, which needs a place of its own. Rejects
 * with the error of the service, or with that of the audio; all conversations are closed then.
 */
export const transcribe = async (
  { converse }: Pick<DialectClient, 'converse'>,
  request: RecordingRequest,
  { sampleRateHz, channelCount, audio }: Recording,
  listener?: RecordingListener,
): Promise<Transcription> => {
  const milestones: ChannelMilestone[] = []
  const channels: Channel[] = []
  const parts = audio[Symbol.asyncIterator]()
  try {
    for (let channel = 0; channel < channelCount; channel += 1) {
      const conversation = await converse({ isRecording: true })
      channels.push(
        new Channel(conversation, { ...request, audioFormat: 'pcm', sampleRateHz }, (result) => {
          const milestone = { ...result, channel }
          milestones.push(milestone)
          listener?.milestone(milestone)
        }),
      )
    }
    for (let part = await parts.next(); part.done !== true; part = await parts.next()) {
      if (channels.some((channel) => channel.hasEnded)) break
      for (const [at, samples] of part.value.entries()) await channels[at]?.send(bytesOf(samples))
    }
    const [durationMs = 0] = await Promise.all(channels.map((channel) => channel.finish()))
    return { milestones: milestones.toSorted((a, b) => (a.startMs ?? 0) - (b.startMs ?? 0)), durationMs }
  } finally {
    for (const channel of channels) channel.close()
    await parts.return?.()
  }
}

/** The recognition of one channel. */
class Channel {
  readonly #conversation: Conversation
  readonly #sampleRateHz: number
  readonly #reading = new Subscription()
  readonly #ended: Promise<RecognizerFinal>
  #hasEnded = false
  #byteCount = 0

  constructor(
    conversation: Conversation,
    request: RecognizeRequest,
    onMilestone: (result: RecognizerMilestone) => void,
  ) {
    this.#conversation = conversation
    this.#sampleRateHz = request.sampleRateHz
    this.#ended = this.#read(onMilestone)
    // Handled by `finish`, unless the audio fails first.
    this.#ended.catch(() => undefined)
    conversation.send(writeRecognizerRequest({ request: 'recognize', ...request }))
  }

  /** Whether the service has ended the recognition. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Resolves when more audio can be sent. */
  async send(part: Uint8Array): Promise<void> {
    this.#byteCount += part.length
    this.#conversation.send(part)
    if (this.#conversation.isCongested) await firstValueFrom(this.#conversation.drain$, { defaultValue: undefined })
  }

  /** Resolves with the duration of its audio, in milliseconds, after its last text. */
  async finish(): Promise<number> {
    const isWhole = !this.#hasEnded
    this.#conversation.send(writeRecognizerRequest({ request: 'finalize-recognition' }))
    const { heardMs = Infinity } = await this.#ended
    const durationMs = (this.#byteCount * 500) / this.#sampleRateHz
    // The service can end a recognition early (PROTOCOL 5.11), and the rest would be missing.
    if (!isWhole || heardMs < durationMs - maxUnheardMs) throw goingAway()
    return durationMs
  }

  close(): void {
    this.#reading.unsubscribe()
    this.#conversation.close()
  }

  #read(onMilestone: (result: RecognizerMilestone) => void): Promise<RecognizerFinal> {
    return new Promise((resolve, reject) => {
      const end = (result: RecognizerFinal | SpeechError): void => {
        this.#hasEnded = true
        if (isSpeechError(result)) reject(result)
        else resolve(result)
      }
      const messages = this.#conversation.incoming$.subscribe({
        next: (received) => {
          const read = readRecognizerMessage(String(received))
          if (either.isLeft(read)) {
            end(read.left.error)
            return
          }
          const message = read.right
          switch (message.message) {
            case 'milestone-result':
              onMilestone(message)
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
      this.#reading.add(messages)
    })
  }
}

/** The end of a recording that the voice activity does not read, because it fills no frame. */
const maxUnheardMs = 20

const goingAway = (): SpeechError =>
  new SpeechError('going-away', 'The service is closing, and has not read all of the recording; send it again.')
