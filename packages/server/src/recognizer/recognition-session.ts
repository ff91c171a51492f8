import { randomUUID } from 'node:crypto'
import type { Unsubscribable } from 'rxjs'
import { withSession } from 'rxspeech-engines/engine'
import { languageRefusal } from 'rxspeech-engines/session-language'
import { requirePhrases } from 'rxspeech-engines/session-phrases'
import { traceSegments } from 'rxspeech-engines/traced-engine'
import { samplesOf } from 'rxspeech/internal/audio/pcm'
import { SoundCheck } from 'rxspeech/internal/audio/sound-check/sound-check'
import type { SoundFault, SoundWarning } from 'rxspeech/internal/audio/sound-check/sound-warning'
import { refusalText } from 'rxspeech/internal/errors/refusal'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { RecognizeRequest, RecognizerMessage } from 'rxspeech/internal/protocol/recognizer-messages'
import type { SessionWatch, StartedSession } from '../monitor/session-watch.js'
import type { ChannelEvent } from '../recognition/channel-event.js'
import { readParameters, type ReadParameters } from '../recognition/read-parameters.js'
import { RecognitionChannel } from '../recognition/recognition-channel.js'
import { defaultSegmenterParameters } from '../recognition/segmenter-parameters.js'
import { AudioIntake, batchModels, PaceLimit } from '../sessions/audio-intake.js'
import { AudioBacklog, type Pausable } from '../sessions/back-pressure.js'
import { HeldAudio } from '../sessions/held-audio.js'
import { openModel, tenantOf, type OpenedModel } from '../sessions/rights.js'
import type { RecognizerContext } from '../sessions/session-context.js'
import { audioWarningMessage, resultMessage } from './protocol.js'

/** What receives the output of a recognition: messages, the final last, then an error or the completion. */
export interface RecognitionObserver {
  next(message: RecognizerMessage): void
  /** No more audio is accepted: the recognition was finished, or ended itself and may still have results. */
  audioClosed(): void
  error(error: unknown): void
  complete(): void
}

/** One recognition of one channel: audio in, result messages out, by plain calls. */
export class RecognitionSession {
  readonly recognitionId = randomUUID()
  readonly intake: AudioIntake
  readonly #request: RecognizeRequest
  readonly #asked: ReadParameters
  readonly #context: RecognizerContext
  readonly #opened: OpenedModel
  readonly #backlog: AudioBacklog
  readonly #audio: HeldAudio
  readonly #warned: Set<SoundFault>
  readonly #isAnswering: Pausable['isAnswering']
  #channel: RecognitionChannel | undefined
  #observer: RecognitionObserver | undefined
  /** All milestones so far, so that an aborted recognition can report them. */
  #text = ''
  #span: { readonly startMs: number; readonly endMs: number } | undefined

  /**
   * Refuses a model that is not granted or contradicts the address, fields out of their ranges, and a language or
   * phrases that the engine does not take. `warned` are the faults of the audio that the client knows.
   */
  static async open(
    request: RecognizeRequest,
    context: RecognizerContext,
    link: Pausable,
    warned: Set<SoundFault>,
  ): Promise<RecognitionSession> {
    const requestedAtMs = context.scheduler.now()
    const { modelName: name, modelTenant: tenant, modelVersion: version, sampleRateHz, sessionId } = request
    if (context.modelOfAddress !== undefined && context.modelOfAddress !== name) {
      throw new SpeechError('model-mismatch', 'model-name and the ModelName of the address differ; name one model.')
    }
    // Checked before the model is opened, which takes longer.
    const asked = readParameters(request, defaultSegmenterParameters, 'phrases')
    const { phrases, language } = asked.settings
    const { models, allowBatch } = batchModels(context.models)
    const { rights, checkModel, watch } = context
    const opened = await openModel(
      models,
      rights,
      { name, tenant, version },
      {
        check: checkModel,
        session: sessionId ?? watch?.key,
        onRefused: (model, error) => watch?.startRefused({ tenant: tenantOf(rights), model }, error),
      },
    )
    const { languages } = opened.engine.capabilities
    const hasNoLanguage = languages === undefined && language === context.optionalLanguage
    const refusal = hasNoLanguage ? undefined : languageRefusal(opened.engine, language, 'language')
    if (refusal !== undefined) throw refusal
    await requirePhrases(opened.engine, phrases, 'phrases')
    const engine = traceSegments(withSession(opened.engine, watch?.facts.sessionId), watch?.span)
    const { limits, scheduler } = context
    const pace = new PaceLimit({ limits, scheduler, sampleRateHz, requestedAtMs, allowBatch })
    const settings = hasNoLanguage ? { ...asked.settings, language: undefined } : asked.settings
    return new RecognitionSession(request, { ...asked, settings }, context, { ...opened, engine }, pace, link, warned)
  }

  constructor(
    request: RecognizeRequest,
    asked: ReadParameters,
    context: RecognizerContext,
    opened: OpenedModel,
    pace: PaceLimit,
    link: Pausable,
    warned: Set<SoundFault>,
  ) {
    this.#request = request
    this.#asked = asked
    this.#context = context
    this.#opened = opened
    this.#warned = warned
    this.#isAnswering = link.isAnswering
    const { sampleRateHz } = request
    const { limits, watch, scheduler } = context
    this.#backlog = new AudioBacklog(link, (limits.maxPendingAudioMs * sampleRateHz) / 1000)
    this.#audio = new HeldAudio({
      frameBytes: 2,
      sampleRateHz,
      scheduler,
      accept: (bytes, sampleCount) => {
        this.#backlog.given(sampleCount)
        this.#channel?.push(samplesOf(bytes))
      },
    })
    const openSoundCheck = (): SoundCheck =>
      new SoundCheck({ encoding: 'pcm', sampleRateHz, channels: 1 }, (warning) => this.#warn(warning))
    this.intake = new AudioIntake({ frameBytes: 2, sampleRateHz, pace, watch, audio: this.#audio, openSoundCheck })
  }

  /** Runs the recognition until its end, or until it is unsubscribed; for one call. */
  run(observer: RecognitionObserver): Unsubscribable {
    const { limits, scheduler, watch } = this.#context
    const backlog = this.#backlog
    this.#observer = observer
    const channel = new RecognitionChannel(
      {
        engine: this.#opened.engine,
        ...this.#asked,
        sampleRateHz: this.#request.sampleRateHz,
        finalizeAfterMs: limits.idleMs,
        isPaused: () => backlog.isHeldBack,
        isAnswering: this.#isAnswering,
        incoming: this.#audio,
        partialIntervalMs: this.#context.partialIntervalMs,
        scheduler,
      },
      {
        next: (event) => {
          if (event.type === 'progress') {
            backlog.taken(event.sampleCount)
            return
          }
          if (event.type === 'milestone') this.#keepMilestone(event)
          watchSpeech(event, watch)
          if (isSpeech(event) && this.#context.reportsSpeech !== true) return
          const message = resultMessage(event, this.recognitionId)
          if (message !== undefined) observer.next(message)
        },
        inputEnded: () => observer.audioClosed(),
        error: (error) => {
          backlog.release()
          observer.error(error)
        },
        complete: () => {
          backlog.release()
          observer.complete()
        },
      },
    )
    this.#channel = channel
    channel.start()
    return {
      unsubscribe: () => {
        channel.unsubscribe()
        backlog.release()
      },
    }
  }

  /** The facts of the recognition for the operator. */
  get facts(): StartedSession {
    return {
      tenant: tenantOf(this.#context.rights),
      model: this.#request.modelName,
      modelVersion: this.#opened.model.version,
      recognitionId: this.recognitionId,
      sampleRateHz: this.#request.sampleRateHz,
      pendingSamples: () => this.#backlog.pendingSamples,
    }
  }

  /** Ends the recognition at the next pause; audio after that is dropped. */
  drain(): void {
    this.#channel?.drain()
  }

  /** No more audio follows: the last results are emitted, then the final. */
  finish(): void {
    this.#channel?.complete()
  }

  /** The final of an aborted recognition: the error, and the text so far. */
  failure(error: SpeechError): RecognizerMessage {
    const endMs = Math.round((this.#audio.receivedFrames * 1000) / this.#request.sampleRateHz)
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

  #warn(warning: SoundWarning): void {
    if (this.#warned.has(warning.kind)) return
    this.#warned.add(warning.kind)
    this.#context.watch?.audioWarning(warning)
    this.#observer?.next(audioWarningMessage(warning, this.recognitionId))
  }

  #keepMilestone({ text, startMs, endMs }: Extract<ChannelEvent, { readonly type: 'milestone' }>): void {
    this.#text += text
    this.#span = { startMs: this.#span?.startMs ?? startMs, endMs }
  }
}

const isSpeech = ({ type }: ChannelEvent): boolean => type === 'speech-started' || type === 'speech-ended'

const watchSpeech = (event: ChannelEvent, watch: SessionWatch | undefined): void => {
  switch (event.type) {
    case 'progress':
    case 'final':
    case 'fault':
    case 'silence':
    case 'no-match':
    case 'partials-thinned':
      return
    default:
      watch?.speechMark({ endMs: -1, ...event }, 0)
  }
}
