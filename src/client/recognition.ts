import { Observable, type ObservableInput } from 'rxjs'
import { isSpeechError, SpeechError } from '../errors/speech-error.js'
import { isJsonObject } from '../protocol/json-object.js'
import type { SessionEvent } from '../protocol/session-event.js'
import { beginLocalSpan, type OpenTelemetry, type TraceSpan } from '../tracing/open-telemetry.js'
import { isPulled } from './audio/audio-feed.js'
import { openSession, type PlannedRecognition, type RecognitionPlan, type RecognizeChannel } from './session.js'

export const recognitionOf = <In, Out>(plan: RecognitionPlan<In, Out>): PlannedRecognition => {
  const { sessionOf, stereoOf, openTelemetry } = plan
  const run = (source: ObservableInput<Uint8Array>, traceparent?: string): Observable<SessionEvent> => {
    const open: RecognizeChannel = (audio, channel, abort$) =>
      openSession(sessionOf({ channel, abort$, traceparent, isPulled: isPulled(audio) }), audio)
    return stereoOf === undefined ? open(source) : stereoOf(open)(source)
  }
  const recognize = openTelemetry === undefined ? run : traced(openTelemetry, run)
  return Object.assign((source: ObservableInput<Uint8Array>) => recognize(source), { plan })
}

/** The options without `openTelemetry`, which is checked here: only Node has it. */
export const withoutTracing = <Options extends { readonly openTelemetry?: OpenTelemetry | undefined }>(
  given: Options,
): { readonly options: Options; readonly openTelemetry: OpenTelemetry | undefined } => {
  // JavaScript may pass anything, which the check of the options refuses.
  if (!isJsonObject(given) || given.openTelemetry === undefined) return { options: given, openTelemetry: undefined }
  const { openTelemetry, ...options } = given
  if (!isApi(openTelemetry)) {
    throw new SpeechError('invalid-options', 'openTelemetry must be the package @opentelemetry/api.')
  }
  return { options: options as Options, openTelemetry }
}

const isApi = (value: unknown): boolean =>
  isJsonObject(value) && isJsonObject(value['trace']) && isJsonObject(value['context'])

/**
 * Runs each session within a span: from the subscription to the end, with each loss of a connection as an event. All
 * connections send its header.
 */
const traced =
  (
    openTelemetry: OpenTelemetry,
    run: (source: ObservableInput<Uint8Array>, traceparent?: string) => Observable<SessionEvent>,
  ) =>
  (source: ObservableInput<Uint8Array>): Observable<SessionEvent> => {
    // Refuses an invalid source, as without tracing.
    const untraced$ = run(source)
    return new Observable<SessionEvent>((subscriber) => {
      const span = beginLocalSpan(openTelemetry, { name: 'rxspeech.session', kind: 'client' })
      if (span === undefined) return untraced$.subscribe(subscriber)
      subscriber.add(() => span.end())
      return run(source, span.traceparent).subscribe({
        next: (event) => {
          record(span, event)
          subscriber.next(event)
        },
        error: (error: unknown) => {
          span.fail(isSpeechError(error) ? error.code : 'internal')
          subscriber.error(error)
        },
        complete: () => subscriber.complete(),
      })
    })
  }

const record = (span: TraceSpan, event: SessionEvent): void => {
  if (event.type === 'connection') {
    if (event.state === 'reconnecting') span.event('reconnecting', { 'error.type': event.cause })
  } else if (event.type === 'resumed') span.event('resumed', { 'rxspeech.replayed_ms': event.replayedMs })
  else if (event.type === 'gap') span.event('gap', { 'rxspeech.from_ms': event.fromMs, 'rxspeech.to_ms': event.toMs })
}
