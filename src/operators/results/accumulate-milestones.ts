import { filter, map, pipe, scan, type OperatorFunction } from 'rxjs'
import { unspacedScript } from '../../protocol/unspaced-script.js'
import type { FinalEvent, MilestoneEvent, PartialEvent, SessionEvent } from '../../protocol/session-event.js'

/** The text of one channel. */
export interface TranscriptChannel {
  /** 0 or 1; 0 if the service does not name it. */
  readonly channel: number
  /** The definitive text so far. It only grows. */
  readonly committed: string
  /** The text after it, which can still change. */
  readonly partial: string
  /** Whether the final has arrived. A further recognition of the channel resets it. */
  readonly closed: boolean
  /** The confidence of the last final, 0 to 1. */
  readonly confidence?: number
  /** The error of the last final, if it had one. */
  readonly error?: string
}

/** The text of a session so far. */
export interface Transcript {
  /** Sorted by channel, each from its first result on. A channel that did not change is the same object as before. */
  readonly channels: readonly TranscriptChannel[]
  /** The committed and partial text of all channels, one line per channel. */
  readonly text: string
}

/**
 * Builds the transcript of a session: emits one for each partial, milestone and final, and none for other events.
 *
 * - A partial replaces the partial of its channel (PROTOCOL 4.2).
 * - A milestone is appended to the committed text as it is, because milestones bring their own separators, and clears the
 *   partial. A milestone with the channel, start and end of a recent one is a repetition and changes nothing.
 * - A final closes the channel and clears the partial. Its text counts as far as it extends the milestones of its
 *   recognition, so it is the whole text if the service sends no milestones. A contradicting text is ignored, because
 *   milestones are definitive.
 * - A result with another `recognitionId`, or after a final, starts a new recognition whose text follows the earlier one.
 * - Completion and errors of the source are passed on. Buffering: the transcript itself.
 *
 * @example
 * ```ts
 * session$.pipe(accumulateMilestones()).subscribe(({ text }) => console.log(text))
 * ```
 */
export const accumulateMilestones = (): OperatorFunction<SessionEvent, Transcript> =>
  pipe(
    filter(isResult),
    scan(accumulate, emptyTranscript),
    map(({ transcript }) => transcript),
  )

export type ResultEvent = PartialEvent | MilestoneEvent | FinalEvent

export const isResult = (event: SessionEvent): event is ResultEvent =>
  event.type === 'partial' || event.type === 'milestone' || event.type === 'final'

/** A channel and the recognition that is adding to it. */
interface ChannelState {
  readonly view: TranscriptChannel
  readonly recognitionId: string | undefined
  /** The offset in the committed text at which this recognition starts. */
  readonly startsAt: number
  /** The times of the latest milestones, to detect repetitions. */
  readonly recent: readonly string[]
}

export interface Accumulated {
  readonly states: readonly ChannelState[]
  readonly transcript: Transcript
}

export const emptyTranscript: Accumulated = { states: [], transcript: { channels: [], text: '' } }

/** A resumed session repeats milestones shortly after the original. */
const rememberedMilestones = 64

/** The state after an event; the same object if nothing changed. */
export function accumulate(state: Accumulated, event: ResultEvent): Accumulated {
  const channel = event.channel ?? 0
  const before = state.states.find(({ view }) => view.channel === channel) ?? createChannelState(channel)
  const after = applyResult(before, event)
  if (state.states.includes(after)) return state
  const states = [...state.states.filter((other) => other !== before), after].sort(byChannel)
  const channels = states.map(({ view }) => view)
  return { states, transcript: { channels, text: channels.map(textOf).join('\n') } }
}

const byChannel = (a: ChannelState, b: ChannelState): number => a.view.channel - b.view.channel

const createChannelState = (channel: number): ChannelState => ({
  view: { channel, committed: '', partial: '', closed: false },
  recognitionId: undefined,
  startsAt: 0,
  recent: [],
})

function applyResult(state: ChannelState, event: ResultEvent): ChannelState {
  const times = event.startMs === undefined || event.endMs === undefined ? undefined : `${event.startMs}-${event.endMs}`
  if (event.type === 'milestone' && times !== undefined && state.recent.includes(times)) return state
  const current = withRecognition(state, event)
  switch (event.type) {
    case 'partial':
      return withView(current, { partial: event.text })
    case 'milestone': {
      const recent = times === undefined ? current.recent : [...current.recent, times].slice(-rememberedMilestones)
      return withView({ ...current, recent }, { committed: append(current, event.text), partial: '' })
    }
    case 'final':
      return withView(current, {
        committed: append(current, extension(current, event.text)),
        partial: '',
        closed: true,
        ...(event.confidence !== undefined && { confidence: event.confidence }),
        ...(event.error !== undefined && { error: event.error }),
      })
  }
}

/** The state for the recognition of the event. A new recognition starts where the text ends. */
function withRecognition(state: ChannelState, { recognitionId, type }: ResultEvent): ChannelState {
  const isOther =
    recognitionId !== undefined && state.recognitionId !== undefined && recognitionId !== state.recognitionId
  const isNext = isOther || (state.view.closed && type !== 'final')
  if (!isNext)
    return recognitionId === state.recognitionId
      ? state
      : { ...state, recognitionId: recognitionId ?? state.recognitionId }
  const { channel, committed } = state.view
  return {
    ...state,
    recognitionId,
    startsAt: committed.length,
    view: { channel, committed, partial: '', closed: false },
  }
}

function withView(state: ChannelState, change: Partial<TranscriptChannel>): ChannelState {
  const view = { ...state.view, ...change }
  const isSame = (Object.keys(view) as (keyof TranscriptChannel)[]).every((key) => view[key] === state.view[key])
  return isSame ? state : { ...state, view }
}

/** Within a recognition the text as it is; between two recognitions with a space if the script uses spaces. */
const append = ({ view: { committed }, startsAt }: ChannelState, text: string): string =>
  startsAt === committed.length ? joined(committed, text) : committed + text

/** The text of a final beyond the milestones of its recognition. */
function extension({ view: { committed }, startsAt }: ChannelState, text: string): string {
  const known = committed.slice(startsAt).trimStart()
  if (known === '') return text
  const whole = text.trimStart()
  return whole.startsWith(known) ? whole.slice(known.length) : ''
}

const textOf = ({ committed, partial }: TranscriptChannel): string => joined(committed, partial)

function joined(text: string, next: string): string {
  const [last, first] = [text.at(-1) ?? ' ', next.at(0) ?? ' ']
  const isSpaced =
    /\s/u.test(last) || /[\s.,;:!?]/u.test(first) || unspacedScript.test(last) || unspacedScript.test(first)
  return isSpaced ? text + next : `${text} ${next}`
}
