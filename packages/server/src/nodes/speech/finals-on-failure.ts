import { either } from 'fp-ts'
import { NEVER, Observable, Subscription, type MonoTypeOperatorFunction } from 'rxjs'
import type { ErrorCode } from 'rxspeech/internal/errors/error-table'
import { refusalText } from 'rxspeech/internal/errors/refusal'
import { isSpeechError, type SpeechError } from 'rxspeech/internal/errors/speech-error'
import { type EventEnvelope, recognitionData } from 'rxspeech/internal/protocol/dataflow-events'
import { eventName } from 'rxspeech/internal/protocol/event-name'
import type { NodeItem } from '../core/node.js'

/** The results of one channel so far. */
interface ChannelState {
  text: string
  startMs: number
  endMs: number
  isFinal: boolean
}

const textOf = (event: EventEnvelope): string => {
  const data = recognitionData.decode(event.data)
  return either.isRight(data) ? data.right.text : ''
}

const update = (state: ChannelState, event: EventEnvelope): void => {
  if (event.name === eventName.final) state.isFinal = true
  if (event.name !== eventName.milestone) return
  state.text += textOf(event)
  state.startMs = state.startMs === -1 ? (event.startMs ?? -1) : state.startMs
  state.endMs = event.endMs ?? state.endMs
}

/** The errors with which an engine ends a session. */
export const engineErrors: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['engine-failed', 'overloaded'])

/** Other errors than the engine's may contain internals of the service, so clients see `internal` instead. */
const refusalOf = (error: unknown): string =>
  refusalText(isSpeechError(error) && engineErrors.has(error.code) ? error : undefined)

/**
 * Passes events. When they error, each channel without `SR Final` gets one, with the text of its milestones and the
 * reason in `Data.Error` (PROTOCOL 5.16); then the error follows. When the session is aborted (`aborted$`), the same
 * finals follow, and the output completes. So every channel has exactly one final, unless the session was stopped.
 */
export const finalsOnFailure =
  (channels: number, firstChannel = 0, aborted$: Observable<SpeechError> = NEVER): MonoTypeOperatorFunction<NodeItem> =>
  (item$) =>
    new Observable((subscriber) => {
      const states = Array.from({ length: channels }, (): ChannelState => ({
        text: '',
        startMs: -1,
        endMs: -1,
        isFinal: false,
      }))
      const emitFinals = (error: string): void => {
        for (const [at, { text, startMs, endMs, isFinal }] of states.entries()) {
          if (isFinal) continue
          const data = recognitionData.encode({ text, confidence: 0, error })
          const event = { name: eventName.final, channel: firstChannel + at, startMs, endMs, data }
          subscriber.next({ type: 'event', event })
        }
      }
      const items = new Subscription()
      subscriber.add(items)
      subscriber.add(
        aborted$.subscribe((error) => {
          items.unsubscribe()
          emitFinals(refusalText(error))
          subscriber.complete()
        }),
      )
      items.add(
        item$.subscribe({
          next: (item) => {
            if (item.type === 'event') {
              const state = states[(item.event.channel ?? -1) - firstChannel]
              if (state !== undefined) update(state, item.event)
            }
            subscriber.next(item)
          },
          error: (error: unknown) => {
            emitFinals(refusalOf(error))
            subscriber.error(error)
          },
          complete: () => subscriber.complete(),
        }),
      )
    })
