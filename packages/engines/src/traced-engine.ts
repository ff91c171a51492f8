import { map, Observable, type OperatorFunction } from 'rxjs'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import type { TraceSpan } from 'rxspeech/internal/tracing/open-telemetry'
import { withRecognize, type Engine, type Hypothesis, type SegmentPart } from './engine.js'

/**
 * The same engine for one session, with a span for each segment: from its first audio to its result, with the end of
 * its audio, its first partial, results of parts and each attempt that failed as events. Returns the engine itself if
 * the session is not traced.
 */
export const traceSegments = (engine: Engine, session: TraceSpan | undefined): Engine =>
  session === undefined
    ? engine
    : withRecognize(engine, (settings) => tracedChannel(engine.recognize(settings), session))

const tracedChannel =
  (
    recognize: OperatorFunction<SegmentPart, Hypothesis>,
    session: TraceSpan,
  ): OperatorFunction<SegmentPart, Hypothesis> =>
  (part$) =>
    new Observable((subscriber) => {
      const spans = new SegmentSpans(session)
      subscriber.add(() => spans.end('aborted'))
      subscriber.add(
        part$
          .pipe(
            map((part) => spans.take(part)),
            recognize,
          )
          .subscribe({
            next: (hypothesis) => {
              // The receiver may unsubscribe.
              spans.receive(hypothesis)
              subscriber.next(hypothesis)
            },
            error: (error: unknown) => {
              spans.end('failed', error)
              subscriber.error(error)
            },
            complete: () => subscriber.complete(),
          }),
      )
    })

/** The spans of the segments of one channel that have no result yet, oldest first. */
class SegmentSpans {
  readonly #session: TraceSpan
  readonly #open: { readonly span: TraceSpan | undefined; hasPartial: boolean }[] = []

  constructor(session: TraceSpan) {
    this.#session = session
  }

  take(part: SegmentPart): SegmentPart {
    if (part.type === 'audio' || part.type === 'check') return part
    if (part.type === 'close') {
      this.#open.at(-1)?.span?.event('audio ended', { 'rxspeech.end_ms': part.endMs })
      return part
    }
    const attributes = { 'rxspeech.start_ms': part.startMs }
    const span = this.#session.child({ name: 'rxspeech.segment', kind: 'internal', attributes })
    this.#open.push({ span, hasPartial: false })
    return { ...part, traceparent: span?.traceparent }
  }

  receive(hypothesis: Hypothesis): void {
    if (hypothesis.type === 'progress' || hypothesis.type === 'checked') return
    const oldest = this.#open[0]
    if (oldest === undefined) return
    const { span } = oldest
    if (hypothesis.type === 'segment' && hypothesis.decidedSamples !== undefined) {
      span?.event('part decided', { 'rxspeech.end_ms': hypothesis.endMs })
    } else if (hypothesis.type === 'segment') {
      this.#open.shift()
      span?.set({ 'rxspeech.end_ms': hypothesis.endMs })
      span?.end()
    } else if (hypothesis.type === 'fault') {
      const { code, cause } = hypothesis.error
      const lost = isSpeechError(cause) ? { 'rxspeech.cause': cause.message } : {}
      span?.event('attempt failed', { 'error.type': code, 'rxspeech.retried': hypothesis.retried, ...lost })
    } else if (!oldest.hasPartial) {
      oldest.hasPartial = true
      span?.event('first partial')
    }
  }

  /** Ends the spans of segments that get no result. */
  end(how: 'aborted' | 'failed', error?: unknown): void {
    for (const { span } of this.#open.splice(0)) {
      if (how === 'failed') span?.fail(isSpeechError(error) ? error.code : 'internal')
      else span?.event('aborted')
      span?.end()
    }
  }
}
