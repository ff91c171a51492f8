import { SpeechError } from '../../errors/speech-error.js'
import { refusalText } from '../../errors/refusal.js'
import { eventName } from '../../protocol/event-name.js'
import type { Word } from '../../protocol/session-event.js'
import type { RecognizerMessage, RecognizerRequest } from '../../protocol/recognizer-messages.js'
import { shifted, spread, textOf, type PreparedUtterance, type ScriptStep } from './recognition-script.js'

/** A message, and the position in the audio of the session that it belongs to. */
export interface TimedMessage {
  readonly atMs: number
  readonly message: RecognizerMessage
}

interface Recognition {
  readonly recognitionId: string
  readonly sampleRateHz: number
  /** Where it begins in the audio of the session; its results have times of its own. */
  readonly offsetMs: number
  /** The texts of its milestones. */
  text: string
  startMs: number | undefined
  endMs: number
}

const bytesPerSample = 2

/** Answers one client with the steps of a script, by the audio that has arrived. It has no clock. */
export class ScriptedSession {
  #steps: readonly ScriptStep[]
  #receivedMs = 0
  #recognition: Recognition | undefined
  #recognitionCount = 0
  /** How many partial results of the first step were sent. */
  #shownPartials = 0
  readonly #reportsSpeech: boolean
  #isSpeech = false

  /** @param reportsSpeech whether events report where an utterance begins and ends */
  constructor(steps: readonly ScriptStep[], reportsSpeech = false) {
    this.#steps = steps
    this.#reportsSpeech = reportsSpeech
  }

  takeRequest(request: RecognizerRequest): readonly TimedMessage[] {
    switch (request.request) {
      case 'recognize':
        return this.#start(request.sampleRateHz)
      case 'finalize-recognition':
        return this.#finalize()
      case 'stop-recognition': {
        const stopped = this.#respond('stop-recognition-response')
        this.#recognition = undefined
        return stopped
      }
    }
  }

  takeAudio(bytes: Uint8Array): readonly TimedMessage[] {
    const recognition = this.#recognition
    if (recognition === undefined) {
      if (this.#recognitionCount === 0) throw noRecognition()
      return []
    }
    this.#receivedMs += (bytes.length * 1000) / bytesPerSample / recognition.sampleRateHz
    const messages: TimedMessage[] = []
    while (this.#recognition !== undefined && this.#takeStep(recognition, messages));
    return messages
  }

  /** Adds what is due of the first step; returns whether the step is done. */
  #takeStep(recognition: Recognition, messages: TimedMessage[]): boolean {
    const [step] = this.#steps
    if (step === undefined) return false
    if (step.type === 'failure') {
      if (step.atMs > this.#receivedMs) return false
      this.#nextStep()
      messages.push(this.#final(recognition, step.atMs, step.error))
      this.#recognition = undefined
      return true
    }
    messages.push(...this.#beginSpeech(step, recognition))
    for (const partial of step.partials.slice(this.#shownPartials)) {
      if (partial.atMs > this.#receivedMs) break
      this.#shownPartials += 1
      const { recognitionId, offsetMs } = recognition
      const { atMs, text, stableLength } = partial
      const startMs = Math.max(0, step.startMs - offsetMs)
      const endMs = Math.round(Math.max(startMs, atMs - offsetMs))
      messages.push({
        atMs,
        message: { message: 'partial-result', recognitionId, channel: 0, text, stableLength, startMs, endMs },
      })
    }
    if (step.finalAtMs > this.#receivedMs) return false
    this.#nextStep()
    messages.push(...this.#milestone(recognition, step.words, step.finalAtMs))
    return true
  }

  #nextStep(rest: readonly ScriptStep[] = []): void {
    this.#steps = [...rest, ...this.#steps.slice(1)]
    this.#shownPartials = 0
    this.#isSpeech = false
  }

  #beginSpeech(
    { startMs, words }: PreparedUtterance,
    { recognitionId, offsetMs }: Recognition,
  ): readonly TimedMessage[] {
    if (!this.#reportsSpeech || this.#isSpeech || words.length === 0 || startMs >= this.#receivedMs) return []
    this.#isSpeech = true
    const place = { startMs: Math.round(Math.max(0, startMs - offsetMs)) }
    return [
      {
        atMs: startMs,
        message: { message: 'event', name: eventName.speechStarted, recognitionId, channel: 0, ...place },
      },
    ]
  }

  #start(sampleRateHz: number): readonly TimedMessage[] {
    if (this.#recognition !== undefined) {
      const error = new SpeechError('already-started', 'A recognition runs on this connection; finalize it first.')
      return this.#respond('recognize-response', error)
    }
    this.#recognitionCount += 1
    this.#recognition = {
      recognitionId: `scripted-${this.#recognitionCount}`,
      sampleRateHz,
      offsetMs: this.#receivedMs,
      text: '',
      startMs: undefined,
      endMs: 0,
    }
    return this.#respond('recognize-response')
  }

  #finalize(): readonly TimedMessage[] {
    const recognition = this.#recognition
    if (recognition === undefined) return this.#respond('finalize-recognition-response')
    const messages = [...this.#respond('finalize-recognition-response')]
    const [step] = this.#steps
    if (step?.type === 'utterance' && step.startMs < this.#receivedMs) {
      const { heard, rest } = this.#split(step, recognition)
      messages.push(...this.#beginSpeech(step, recognition))
      this.#nextStep(rest)
      messages.push(...this.#milestone(recognition, heard, this.#receivedMs))
    }
    messages.push(this.#final(recognition, this.#receivedMs))
    this.#recognition = undefined
    this.#beginNext()
    return messages
  }

  /** A text without times of its own begins with the audio behind that which the client has finalized. */
  #beginNext(): void {
    const [next] = this.#steps
    if (next?.type !== 'utterance' || next.isTimed) return
    const byMs = this.#receivedMs - next.startMs
    this.#steps = this.#steps.map((step) => (step.type === 'utterance' && !step.isTimed ? shifted(step, byMs) : step))
  }

  /** What a finalize makes final: words whose audio arrived, or without times of their own all of them. */
  #split(step: PreparedUtterance, { offsetMs }: Recognition) {
    if (!step.isTimed) {
      const fromMs = Math.max(step.startMs, offsetMs)
      const confidences = step.words.map(({ confidence }) => confidence ?? 0)
      const toMs = Math.min(this.#receivedMs, Math.max(fromMs, step.words.at(-1)?.endMs ?? 0))
      return {
        heard: spread(
          step.words.map(({ text }) => text),
          fromMs,
          toMs,
          confidences,
        ),
        rest: [],
      }
    }
    const heard = step.words.filter(({ startMs }) => startMs < this.#receivedMs)
    const words = step.words.slice(heard.length)
    const [first] = words
    if (first === undefined) return { heard, rest: [] }
    const heardText = textOf(heard)
    const partials = step.partials
      .filter(({ atMs, text }) => atMs > this.#receivedMs && text.startsWith(`${heardText} `))
      .map(({ atMs, text, stableLength }) => {
        const cut = heardText.length + 1
        return { atMs, text: text.slice(cut), stableLength: Math.max(0, stableLength - cut) }
      })
    return { heard, rest: [{ ...step, startMs: first.startMs, words, partials }] }
  }

  #milestone(recognition: Recognition, heard: readonly Word[], atMs: number): readonly TimedMessage[] {
    const { recognitionId, offsetMs } = recognition
    const own = (ms: number): number => Math.round(Math.max(0, ms - offsetMs))
    const words = heard.map((word) => ({ ...word, startMs: own(word.startMs), endMs: own(word.endMs) }))
    const [first] = words
    if (first === undefined) return []
    const text = `${recognition.text === '' ? '' : ' '}${textOf(words)}`
    const { startMs } = first
    const endMs = words.at(-1)?.endMs ?? startMs
    recognition.text += text
    recognition.startMs ??= startMs
    recognition.endMs = endMs
    const confidence = words.reduce((sum, word) => sum + (word.confidence ?? 0), 0) / words.length
    const speechEnded: TimedMessage = {
      atMs,
      message: { message: 'event', name: eventName.speechEnded, recognitionId, channel: 0, startMs, endMs },
    }
    return [
      ...(this.#reportsSpeech ? [speechEnded] : []),
      {
        atMs,
        message: { message: 'milestone-result', recognitionId, channel: 0, text, startMs, endMs, confidence, words },
      },
    ]
  }

  #final(
    { recognitionId, text, startMs, endMs, offsetMs }: Recognition,
    atMs: number,
    error?: SpeechError,
  ): TimedMessage {
    const heardMs = Math.round(this.#receivedMs - offsetMs)
    const place = startMs === undefined ? { startMs: 0, endMs: heardMs } : { startMs, endMs }
    const operationResult = error === undefined ? 'Success' : refusalText(error)
    return {
      atMs,
      message: { message: 'final-result', recognitionId, operationResult, channel: 0, text, ...place, heardMs },
    }
  }

  #respond(
    message: 'recognize-response' | 'stop-recognition-response' | 'finalize-recognition-response',
    error?: SpeechError,
  ): readonly TimedMessage[] {
    const { recognitionId = '' } = this.#recognition ?? {}
    const isMissing = this.#recognition === undefined && message !== 'recognize-response'
    const operationResult =
      error !== undefined ? refusalText(error) : isMissing ? refusalText(noRecognition()) : 'Success'
    return [{ atMs: this.#receivedMs, message: { message, operationResult, recognitionId } }]
  }
}

const noRecognition = (): SpeechError =>
  new SpeechError('no-recognition', 'No recognition runs on this connection; send recognize first.')
