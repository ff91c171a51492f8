import { either } from 'fp-ts'
import {
  catchError,
  concat,
  defer,
  NEVER,
  takeUntil,
  tap,
  throwError,
  type MonoTypeOperatorFunction,
  type Observable,
} from 'rxjs'
import type { ErrorCode } from '../../../errors/error-code.js'
import { isSpeechError, type SpeechError } from '../../../errors/speech-error.js'
import { refusalText } from '../../../errors/refusal.js'
import { type EventEnvelope, eventName, recognitionData } from '../../../protocol/dataflow-events.js'
import type { NodeItem } from '../core/node.js'

/** What one channel has told of its recognition. */
interface Told {
  text: string
  startMs: number
  endMs: number
  final: boolean
}

const textOf = (event: EventEnvelope): string => {
  const data = recognitionData.decode(event.data)
  return either.isRight(data) ? data.right.text : ''
}

const note = (told: Told, event: EventEnvelope): void => {
  if (event.name === eventName.final) told.final = true
  if (event.name !== eventName.milestone) return
  told.text += textOf(event)
  told.startMs = told.startMs === -1 ? (event.startMs ?? -1) : told.startMs
  told.endMs = event.endMs ?? told.endMs
}

/** What an engine ends a session with. */
export const engineErrors: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['engine-failed', 'overloaded'])

/** Other errors than the engine's may speak of the service's inside: of those a client learns `internal`. */
const refusalOf = (error: unknown): string =>
  refusalText(isSpeechError(error) && engineErrors.has(error.code) ? error : undefined)

/**
 * Passes events on. When they end with an error, each channel that had no `SR Final` yet gets one: the milestones so
 * far as its text and the reason in `Data.Error` (service.md 7); then the error. The same when the session is broken off
 * (`aborted$`), then completion. So there is one final a channel always, unless the session was stopped.
 */
export const finalsOnFailure =
  (channels: number, firstChannel = 0, aborted$: Observable<SpeechError> = NEVER): MonoTypeOperatorFunction<NodeItem> =>
  (item$) =>
    defer(() => {
      let brokenBy: SpeechError | undefined
      const told = Array.from({ length: channels }, (): Told => ({ text: '', startMs: -1, endMs: -1, final: false }))
      const finals = (error: string): readonly NodeItem[] =>
        told.flatMap(({ text, startMs, endMs, final }, at): NodeItem[] => {
          const data = recognitionData.encode({ text, confidence: 0, error })
          const event = { name: eventName.final, channel: firstChannel + at, startMs, endMs, data }
          return final ? [] : [{ type: 'event', event }]
        })
      const passed$ = item$.pipe(
        tap((item) => {
          const one = item.type === 'event' ? told[(item.event.channel ?? -1) - firstChannel] : undefined
          if (one !== undefined && item.type === 'event') note(one, item.event)
        }),
        catchError((error: unknown) =>
          concat(
            finals(refusalOf(error)),
            throwError(() => error),
          ),
        ),
        takeUntil(aborted$.pipe(tap((error) => (brokenBy = error)))),
      )
      return concat(
        passed$,
        defer(() => (brokenBy === undefined ? [] : finals(refusalText(brokenBy)))),
      )
    })
