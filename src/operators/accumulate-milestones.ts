import { filter, map, pipe, scan, type OperatorFunction } from 'rxjs'
import type { FinalEvent, MilestoneEvent, PartialEvent, SessionEvent } from '../protocol/session-event.js'

/** The text of one channel. */
export interface TranscriptLane {
  /** 0 or 1; 0 where the service does not say. */
  readonly channel: number
  /** The definitive text so far; it only ever grows. */
  readonly committed: string
  /** What is being said after it, and may still change. */
  readonly partial: string
  /** Whether the final came; a recognition that begins afterwards opens the lane again. */
  readonly closed: boolean
  /** Of the last final, 0 to 1. */
  readonly confidence?: number
  /** Of the last final, when its recognition ended with one. */
  readonly error?: string
}

export interface Transcript {
  /** In order of channels, each from its first result on. A lane that did not change is the same object as before. */
  readonly lanes: readonly TranscriptLane[]
  /** All lanes as one would show them, committed and partial, one line a lane. */
  readonly text: string
}

/**
 * Makes a transcript of results: one for each partial, milestone and final, none for other events.
 *
 * - A partial replaces the partial of its channel (service.md 4.2 rule 4).
 * - A milestone is put to the committed text as it is, since plain concatenation gives the whole (rule 5), and clears the
 *   partial. A milestone whose channel, start and end came lately is a repetition and changes nothing.
 * - A final closes the lane and clears the partial. Its text counts as far as it extends the milestones of its
 *   recognition, so where the service sends none it is the text; text that contradicts them does not: they are definitive.
 * - Results with another `recognitionId`, or after a final, belong to a new recognition, whose text follows the earlier.
 * - Completion and errors of the source pass. Buffered: the transcript itself.
 */
export const accumulateMilestones = (): OperatorFunction<SessionEvent, Transcript> =>
  pipe(
    filter(isResult),
    scan(accumulate, nothingYet),
    map(({ transcript }) => transcript),
  )

export type ResultEvent = PartialEvent | MilestoneEvent | FinalEvent

export const isResult = (event: SessionEvent): event is ResultEvent =>
  event.type === 'partial' || event.type === 'milestone' || event.type === 'final'

/** A lane and what is known of the recognition that fills it. */
interface Growing {
  readonly lane: TranscriptLane
  readonly recognitionId: string | undefined
  /** Where in the committed text this recognition begins. */
  readonly beginsAt: number
  /** Times of the latest milestones, to know a repetition. */
  readonly recent: readonly string[]
}

export interface Accumulated {
  readonly growing: readonly Growing[]
  readonly transcript: Transcript
}

export const nothingYet: Accumulated = { growing: [], transcript: { lanes: [], text: '' } }

/** Repetitions come from a resumed session, close to what they repeat. */
const rememberedMilestones = 64

/** What stands after an event; the same state where nothing changed. */
export function accumulate(state: Accumulated, event: ResultEvent): Accumulated {
  const channel = event.channel ?? 0
  const before = state.growing.find(({ lane }) => lane.channel === channel) ?? newGrowing(channel)
  const after = grow(before, event)
  if (state.growing.includes(after)) return state
  const growing = [...state.growing.filter((other) => other !== before), after].sort(byChannel)
  const lanes = growing.map(({ lane }) => lane)
  return { growing, transcript: { lanes, text: lanes.map(textOf).join('\n') } }
}

const byChannel = (one: Growing, other: Growing): number => one.lane.channel - other.lane.channel

const newGrowing = (channel: number): Growing => ({
  lane: { channel, committed: '', partial: '', closed: false },
  recognitionId: undefined,
  beginsAt: 0,
  recent: [],
})

function grow(state: Growing, event: ResultEvent): Growing {
  const times = event.startMs === undefined || event.endMs === undefined ? undefined : `${event.startMs}-${event.endMs}`
  if (event.type === 'milestone' && times !== undefined && state.recent.includes(times)) return state
  const current = withRecognition(state, event)
  switch (event.type) {
    case 'partial':
      return withLane(current, { partial: event.text })
    case 'milestone': {
      const recent = times === undefined ? current.recent : [...current.recent, times].slice(-rememberedMilestones)
      return withLane({ ...current, recent }, { committed: append(current, event.text), partial: '' })
    }
    case 'final':
      return withLane(current, {
        committed: append(current, extension(current, event.text)),
        partial: '',
        closed: true,
        ...(event.confidence !== undefined && { confidence: event.confidence }),
        ...(event.error !== undefined && { error: event.error }),
      })
  }
}

/** The state for the recognition that the event is of: a new one begins where the text ends. */
function withRecognition(state: Growing, { recognitionId, type }: ResultEvent): Growing {
  const isOther =
    recognitionId !== undefined && state.recognitionId !== undefined && recognitionId !== state.recognitionId
  const isNext = isOther || (state.lane.closed && type !== 'final')
  if (!isNext)
    return recognitionId === state.recognitionId
      ? state
      : { ...state, recognitionId: recognitionId ?? state.recognitionId }
  const { channel, committed } = state.lane
  return {
    ...state,
    recognitionId,
    beginsAt: committed.length,
    lane: { channel, committed, partial: '', closed: false },
  }
}

function withLane(state: Growing, change: Partial<TranscriptLane>): Growing {
  const lane = { ...state.lane, ...change }
  const isSame = (Object.keys(lane) as (keyof TranscriptLane)[]).every((key) => lane[key] === state.lane[key])
  return isSame ? state : { ...state, lane }
}

/** Within a recognition as it is; between two of them with a space where the language sets spaces. */
const append = ({ lane: { committed }, beginsAt }: Growing, text: string): string =>
  beginsAt === committed.length ? joined(committed, text) : committed + text

/** What a final says beyond the milestones of its recognition. */
function extension({ lane: { committed }, beginsAt }: Growing, text: string): string {
  const known = committed.slice(beginsAt).trimStart()
  if (known === '') return text
  const whole = text.trimStart()
  return whole.startsWith(known) ? whole.slice(known.length) : ''
}

const textOf = ({ committed, partial }: TranscriptLane): string => joined(committed, partial)

/** The scripts whose words stand without spaces between them. */
const unspaced = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u

function joined(text: string, next: string): string {
  const [last, first] = [text.at(-1) ?? ' ', next.at(0) ?? ' ']
  const isSpaced = /\s/u.test(last) || /[\s.,;:!?]/u.test(first) || unspaced.test(last) || unspaced.test(first)
  return isSpaced ? text + next : `${text} ${next}`
}
