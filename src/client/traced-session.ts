import { Observable, type ObservableInput } from 'rxjs'
import { isSpeechError, SpeechError } from '../errors/speech-error.js'
import { isJsonObject } from '../protocol/json-object.js'
import type { SessionEvent } from '../protocol/session-event.js'
import { beginLocalSpan, type OpenTelemetry, type TraceSpan } from '../tracing/open-telemetry.js'
import type { PlannedRecognition, Recognition } from './session.js'

/** A recognition whose sessions are traced. */
interface Tracing {
  readonly openTelemetry: OpenTelemetry
  /** Runs a function; the sessions that it plans send the header with each connection. */
  readonly within: <T>(traceparent: string, run: () => T) => T
}

type TracedRecognition = Recognition & { readonly tracing?: Tracing }

/**
 * A recognition that `traceSessions` can trace if its options say so.
 *
 * @param planned creates the recognition; its connections send `traceparent`
 */
export const traceable = <Options extends { readonly openTelemetry?: OpenTelemetry | undefined }, In, Out>(
  given: Options,
  planned: (options: Options, traceparent: string | undefined) => PlannedRecognition<In, Out>,
): Recognition => {
  // JavaScript may pass anything, which the check of the options refuses.
  if (!isJsonObject(given) || given.openTelemetry === undefined) return planned(given, undefined)
  const { openTelemetry, ...rest } = given
  const options = rest as Options
  if (!isApi(openTelemetry)) {
    throw new SpeechError('invalid-options', 'openTelemetry must be the package @opentelemetry/api.')
  }
  const untraced = planned(options, undefined)
  /** With the header of the session that is being planned. */
  let current = untraced
  const tracing: Tracing = {
    openTelemetry,
    within: (traceparent, run) => {
      const outer = current
      current = planned(options, traceparent)
      try {
        return run()
      } finally {
        current = outer
      }
    },
  }
  const planOf: PlannedRecognition<In, Out>['planOf'] = (channel, abort$) => current.planOf(channel, abort$)
  const { stereoOf } = untraced
  return Object.assign((source: ObservableInput<Uint8Array>) => current(source), {
    ...{ planOf, tracing },
    ...(stereoOf !== undefined && { stereoOf }),
  })
}

const isApi = (value: unknown): boolean =>
  isJsonObject(value) && isJsonObject(value['trace']) && isJsonObject(value['context'])

/**
 * Runs each session of a recognition within a span, if one of the services that it may use is traced: from the subscription to
 * the end, with each loss of a connection as an event. All connections send its header.
 */
export const traceSessions = (services: readonly TracedRecognition[], recognition: Recognition): Recognition => {
  const traced = services.flatMap(({ tracing }) => tracing ?? [])
  const [first] = traced
  if (first === undefined) return recognition
  const within = <T>(traceparent: string, run: () => T): T =>
    traced.reduce<() => T>((inner, service) => () => service.within(traceparent, inner), run)()
  const tracedRecognition: Recognition = (source) => {
    // Refuses a source that is none, as without tracing.
    const untraced$ = recognition(source)
    return new Observable<SessionEvent>((subscriber) => {
      const span = beginLocalSpan(first.openTelemetry, { name: 'rxspeech.session', kind: 'client' })
      if (span === undefined) return untraced$.subscribe(subscriber)
      subscriber.add(() => span.end())
      return within(span.traceparent, () =>
        recognition(source).subscribe({
          next: (event) => {
            record(span, event)
            subscriber.next(event)
          },
          error: (error: unknown) => {
            span.fail(isSpeechError(error) ? error.code : 'internal')
            subscriber.error(error)
          },
          complete: () => subscriber.complete(),
        }),
      )
    })
  }
  // It can be one of the services of `failover`, too.
  return Object.assign(tracedRecognition, recognition)
}

const record = (span: TraceSpan, event: SessionEvent): void => {
  if (event.type === 'connection') {
    if (event.state === 'reconnecting') span.event('reconnecting', { 'error.type': event.cause })
  } else if (event.type === 'resumed') span.event('resumed', { 'rxspeech.replayed_ms': event.replayedMs })
  else if (event.type === 'gap') span.event('gap', { 'rxspeech.from_ms': event.fromMs, 'rxspeech.to_ms': event.toMs })
}
