import { randomUUID } from 'node:crypto'
import { EMPTY, finalize, mergeMap, of, ReplaySubject, Subject, tap, type Observable } from 'rxjs'
import { samplesOf } from '../../audio/pcm.js'
import { refusalText } from '../../errors/refusal.js'
import { SpeechError } from '../../errors/speech-error.js'
import type { RecognizeRequest, RecognizerMessage } from '../../protocol/recognizer-messages.js'
import type { Engine } from '../engines/engine.js'
import type { SessionWatch, StartedSession } from '../monitor/session-watch.js'
import type { ChannelEvent } from '../recognition/channel-event.js'
import { recognizeChannel } from '../recognition/recognize-channel.js'
import { AudioIntake, batchModels, PaceLimit } from '../sessions/audio-intake.js'
import { AudioBacklog, type Pausable } from '../sessions/back-pressure.js'
import { openModel, tenantOf } from '../sessions/rights.js'
import type { RecognizerContext } from '../sessions/session-context.js'
import { resultMessage, segmenterParametersOf } from './protocol.js'

/** One recognition of one channel: audio in, result messages out. */
export class RecognitionSession {
  readonly recognitionId = randomUUID()
  readonly intake: AudioIntake
  /** Result messages; the final comes last, then it completes. Errors if the engine fails. */
  readonly output$: Observable<RecognizerMessage>
  readonly #request: RecognizeRequest
  readonly #context: RecognizerContext
  readonly #samples$ = new Subject<Int16Array>()
  readonly #audioClosed$ = new Subject<undefined>()
  readonly #drain$ = new ReplaySubject<undefined>(1)
  readonly #backlog: AudioBacklog
  /** All milestones so far, so that an aborted recognition can report them. */
  #text = ''
  #span: { readonly startMs: number; readonly endMs: number } | undefined
  #receivedSamples = 0

  /** Refuses a model that is not granted or contradicts the address, and fields out of their ranges. */
  static async open(
    request: RecognizeRequest,
    context: RecognizerContext,
    link: Pausable,
  ): Promise<RecognitionSession> {
    const requestedAtMs = context.scheduler.now()
    const { modelName: name, modelTenant: tenant, modelVersion: version, sampleRateHz } = request
    if (context.modelOfAddress !== undefined && context.modelOfAddress !== name) {
      throw new SpeechError('model-mismatch', 'model-name and the ModelName of the address differ; name one model.')
    }
    // Checked before the model is opened, which takes longer.
    segmenterParametersOf(request)
    const { models, allowBatch } = batchModels(context.models)
    const engine = await openModel(models, context.rights, { name, tenant, version })
    const { limits, scheduler } = context
    const pace = new PaceLimit({ limits, scheduler, sampleRateHz, requestedAtMs, allowBatch })
    return new RecognitionSession(request, context, engine, pace, link)
  }

  constructor(request: RecognizeRequest, context: RecognizerContext, engine: Engine, pace: PaceLimit, link: Pausable) {
    this.#request = request
    this.#context = context
    const { sampleRateHz } = request
    const { limits, scheduler, watch } = context
    const backlog = new AudioBacklog(link, 1, (limits.maxPendingAudioMs * sampleRateHz) / 1000)
    this.#backlog = backlog
    this.intake = new AudioIntake({
      frameBytes: 2,
      pace,
      watch,
      accept: (bytes, sampleCount) => {
        backlog.given(sampleCount)
        this.#receivedSamples += sampleCount
        this.#samples$.next(samplesOf(bytes))
      },
    })
    this.output$ = this.#samples$.pipe(
      finalize(() => this.#audioClosed$.next(undefined)),
      recognizeChannel({
        engine,
        parameters: segmenterParametersOf(request),
        drain$: this.#drain$,
        sampleRateHz,
        finalizeAfterMs: limits.idleMs,
        isPaused: () => backlog.isHeldBack,
        scheduler,
      }),
      tap((event) => {
        if (event.type === 'progress') backlog.taken(0, event.sampleCount)
        if (event.type === 'milestone') this.#keepMilestone(event)
        watchSpeech(event, watch)
      }),
      mergeMap((event) => {
        const message = resultMessage(event, this.recognitionId)
        return message === undefined ? EMPTY : of(message)
      }),
      finalize(() => backlog.release()),
    )
  }

  /** Emits when no more audio is accepted: the recognition was finished, or ended itself and may still have results. */
  get audioClosed$(): Observable<undefined> {
    return this.#audioClosed$.asObservable()
  }

  /** The facts of the recognition for the operator. */
  get facts(): StartedSession {
    return {
      tenant: tenantOf(this.#context.rights),
      model: this.#request.modelName,
      recognitionId: this.recognitionId,
      sampleRateHz: this.#request.sampleRateHz,
      pendingSamples: () => this.#backlog.pendingSamples,
    }
  }

  /** Ends the recognition at the next pause; audio after that is dropped. */
  drain(): void {
    this.#drain$.next(undefined)
  }

  /** No more audio follows: the last results are emitted, then the final. */
  finish(): void {
    this.#samples$.complete()
  }

  /** The final of an aborted recognition: the error, and the text so far. */
  failure(error: SpeechError): RecognizerMessage {
    const endMs = Math.round((this.#receivedSamples * 1000) / this.#request.sampleRateHz)
    return {
      message: 'final-result',
      recognitionId: this.recognitionId,
      operationResult: refusalText(error),
      text: this.#text,
      confidence: 0,
      channel: 0,
      ...(this.#span ?? { startMs: 0, endMs }),
    }
  }

  #keepMilestone({ text, startMs, endMs }: Extract<ChannelEvent, { readonly type: 'milestone' }>): void {
    this.#text += text
    this.#span = { startMs: this.#span?.startMs ?? startMs, endMs }
  }
}

const watchSpeech = (event: ChannelEvent, watch: SessionWatch | undefined): void => {
  switch (event.type) {
    case 'progress':
    case 'final':
    case 'fault':
    case 'silence':
      return
    default:
      watch?.speechMark({ endMs: -1, ...event }, 0)
  }
}
