import { randomUUID } from 'node:crypto'
import { EMPTY, finalize, mergeMap, of, ReplaySubject, Subject, tap, type Observable } from 'rxjs'
import { refusalText, SpeechError } from '../../errors/speech-error.js'
import { recognizerSuccess, type RecognizeRequest, type RecognizerMessage } from '../../protocol/recognizer-messages.js'
import { openModel } from '../sessions/open-model.js'
import type { Engine } from '../engine/engine.js'
import { recognizeChannel, type ChannelEvent } from '../recognition/recognize-channel.js'
import {
  defaultSegmenterParameters,
  validateSegmenterParameters,
  type SegmenterParameters,
} from '../recognition/segmenter-parameters.js'
import type { SessionWatch } from '../monitor/session-watch.js'
import { AudioBacklog } from '../sessions/audio-backlog.js'
import type { Pausable } from '../sessions/pause-counter.js'
import type { RecognizerContext } from '../sessions/session-context.js'

/** One recognition of one channel: samples in, and the messages that tell its results. */
export class RecognitionSession {
  readonly recognitionId = randomUUID()
  readonly output$: Observable<RecognizerMessage>
  readonly #input$ = new Subject<Int16Array>()
  readonly #drain$ = new ReplaySubject<undefined>(1)
  readonly #flow: AudioBacklog
  readonly #watch: SessionWatch | undefined
  /** All milestones so far, so that a recognition that breaks can say what it had. */
  #text = ''
  #span: { readonly startMs: number; readonly endMs: number } | undefined
  #receivedSamples = 0
  readonly #sampleRateHz: number

  /** Refuses a model that is not granted or contradicts the address, and fields out of their ranges. */
  static async open(request: RecognizeRequest, terms: RecognizerContext, link: Pausable): Promise<RecognitionSession> {
    const { modelName, modelTenant, modelVersion, sampleRateHz } = request
    if (terms.modelOfAddress !== undefined && terms.modelOfAddress !== modelName) {
      throw new SpeechError('model-mismatch', 'model-name and the ModelName of the address differ; name one model.')
    }
    const parameters = segmenterParametersOf(request)
    const engine = await openModel(terms.models, terms.rights, {
      name: modelName,
      ...(modelTenant === undefined ? {} : { tenant: modelTenant }),
      ...(modelVersion === undefined ? {} : { version: modelVersion }),
    })
    const flow = new AudioBacklog(link, 1, (terms.limits.maxPendingAudioMs * sampleRateHz) / 1000)
    return new RecognitionSession(engine, parameters, sampleRateHz, terms, flow)
  }

  private constructor(
    engine: Engine,
    parameters: SegmenterParameters,
    sampleRateHz: number,
    { limits, scheduler, watch }: RecognizerContext,
    flow: AudioBacklog,
  ) {
    this.#flow = flow
    this.#watch = watch
    this.#sampleRateHz = sampleRateHz
    this.output$ = this.#input$.pipe(
      recognizeChannel({
        engine,
        parameters,
        drain$: this.#drain$,
        sampleRateHz,
        finalizeAfterMs: limits.idleMs,
        isPaused: () => flow.isHeldBack,
        scheduler,
      }),
      tap((event) => {
        if (event.type === 'progress') flow.taken(0, event.sampleCount)
        if (event.type === 'milestone') this.#note(event)
        watchLane(event, watch)
      }),
      mergeMap((event) => this.#messageOf(event)),
      finalize(() => {
        flow.release()
      }),
    )
  }

  get pendingSamples(): number {
    return this.#flow.pendingSamples
  }

  audio(samples: Int16Array): void {
    this.#watch?.audio(samples.length)
    this.#flow.given(samples.length)
    this.#receivedSamples += samples.length
    this.#input$.next(samples)
  }

  /** Whether no more audio is taken: the recognition was finished, or has ended by itself and may still have results to tell. */
  get isDeaf(): boolean {
    return !this.#input$.observed
  }

  /** Ends as soon as nobody speaks; what is heard after that is dropped. */
  retire(): void {
    this.#drain$.next(undefined)
  }

  finish(): void {
    this.#input$.complete()
  }

  /** The final of a recognition that broke: the error, and the text until then. */
  failure(error: SpeechError): RecognizerMessage {
    return {
      message: 'final-result',
      recognitionId: this.recognitionId,
      operationResult: refusalText(error),
      text: this.#text,
      confidence: 0,
      channel: 0,
      ...(this.#span ?? { startMs: 0, endMs: Math.round((this.#receivedSamples * 1000) / this.#sampleRateHz) }),
    }
  }

  #note({ text, startMs, endMs }: Extract<ChannelEvent, { type: 'milestone' }>): void {
    this.#text += text
    this.#span = { startMs: this.#span?.startMs ?? startMs, endMs }
  }

  #messageOf(event: ChannelEvent): Observable<RecognizerMessage> {
    const result = { recognitionId: this.recognitionId, channel: 0 }
    switch (event.type) {
      case 'partial':
      case 'milestone': {
        const { startMs, endMs, text } = event
        const message = event.type === 'partial' ? 'partial-result' : 'milestone-result'
        return of({ message, ...result, startMs, endMs, text })
      }
      case 'final': {
        const { startMs, endMs, text, heardMs, confidence = 0 } = event
        return of({
          message: 'final-result',
          ...result,
          operationResult: recognizerSuccess,
          startMs,
          endMs,
          text,
          confidence,
          heardMs,
        })
      }
      default:
        return EMPTY
    }
  }
}

const watchLane = (event: ChannelEvent, watch: SessionWatch | undefined): void => {
  switch (event.type) {
    case 'progress':
    case 'final':
    case 'fault':
    case 'silence':
      return
    default:
      watch?.heard({ endMs: -1, ...event }, 0)
  }
}

const segmenterParametersOf = (request: RecognizeRequest): SegmenterParameters => {
  const defaults = defaultSegmenterParameters
  return validateSegmenterParameters({
    splitter: request.audioSplitter ?? defaults.splitter,
    sensitivity: request.vadSensitivity ?? defaults.sensitivity,
    preSpeechMs: request.vadPreSpeechBufferMs ?? defaults.preSpeechMs,
    postSpeechMs: request.vadPostSpeechBufferMs ?? defaults.postSpeechMs,
    maxSpeechMs: request.vadMaxSpeechDurationMs ?? defaults.maxSpeechMs,
    silenceTriggerMs: request.vadSilenceTriggerMs ?? defaults.silenceTriggerMs,
    gracefulSilenceMs: request.vadGracefulSilenceThresholdMs ?? defaults.gracefulSilenceMs,
    onsetMs: defaults.onsetMs,
  })
}
