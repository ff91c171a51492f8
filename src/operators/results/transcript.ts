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
  /** How many UTF-16 code units at its beginning no longer change, as in `PartialEvent`. @default 0 */
  readonly stableLength?: number | undefined
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
 * - A milestone is appended to the committed text as it is, because milestones bring their own separators, and clears
 *   the partial. After a reconnect (`resumed`) one with the channel, times and text of an earlier one is a repetition,
 *   which changes nothing.
 * - A final closes the channel and clears the partial. Its text counts as far as it extends the milestones of its
 *   recognition, so it is the whole text if the service sends no milestones. A contradicting text is ignored, because
 *   milestones are definitive.
 * - A result with another `recognitionId`, or after a final, starts a new recognition whose text follows the earlier
 *   one.
 * - Completion and errors of the source are passed on. Buffering: the transcript itself.
 *
 * @example
 * ```ts
 * session$.pipe(transcript()).subscribe(({ text }) => console.log(text))
 * ```
 */
export const transcript = (): OperatorFunction<SessionEvent, Transcript> =>
  pipe(
    scan(({ state }, event: SessionEvent) => ({ event, state: accumulate(state, event) }), beforeEvents),
    filter(({ event }) => event !== undefined && isResult(event)),
    map(({ state }) => state.transcript),
  )

export type ResultEvent = PartialEvent | MilestoneEvent | FinalEvent

export const isResult = (event: SessionEvent): event is ResultEvent =>
  event.type === 'partial' || event.type === 'milestone' || event.type === 'final'

/** A channel and the recognition that is adding to it. */
interface ChannelState {
  readonly view: TranscriptChannel
  readonly recognitionId: string | undefined
  /**
   * The committed text of this recognition, and the last character of all of it. JavaScript joins long texts without a
   * copy, but copies the whole text as soon as a part of it is read.
   */
  readonly own: string
  readonly last: string
  /** The latest milestones with times, to detect repetitions, and those of earlier connections. */
  readonly recent: readonly string[]
  readonly repeatable: readonly string[]
}

export interface Accumulated {
  readonly states: readonly ChannelState[]
  /** The same object as before if an event changed nothing. */
  readonly transcript: Transcript
  /** The text that the last event added to the committed text of its channel. */
  readonly added: string
}

export const emptyTranscript: Accumulated = { states: [], transcript: { channels: [], text: '' }, added: '' }

const beforeEvents: { readonly event?: SessionEvent; readonly state: Accumulated } = { state: emptyTranscript }

/** More than a resumed session can repeat. */
const rememberedMilestones = 64

/** The state after an event. */
export function accumulate(state: Accumulated, event: SessionEvent): Accumulated {
  if (event.type === 'resumed' && event.isNextRecognition !== true) return resumed(state, event.channel)
  if (!isResult(event)) return unchanged(state)
  const channel = event.channel ?? 0
  const before = state.states.find(({ view }) => view.channel === channel) ?? createChannelState(channel)
  const { after, added } = applyResult(before, event)
  const isKnown = state.states.includes(before)
  if (isKnown && after === before) return unchanged(state)
  const states = [...state.states.filter((other) => other !== before), after].sort(byChannel)
  if (isKnown && after.view === before.view) return { ...state, states, added }
  const channels = states.map(({ view }) => view)
  return { states, transcript: { channels, text: textOfAll(states) }, added }
}

const unchanged = (state: Accumulated): Accumulated => (state.added === '' ? state : { ...state, added: '' })

/** What is recognized again can be repeated. */
const resumed = (state: Accumulated, channel: number | undefined): Accumulated => ({
  ...state,
  added: '',
  states: state.states.map((one) =>
    channel === undefined || channel === one.view.channel ? { ...one, repeatable: one.recent } : one,
  ),
})

const byChannel = (a: ChannelState, b: ChannelState): number => a.view.channel - b.view.channel

const createChannelState = (channel: number): ChannelState => ({
  view: { channel, committed: '', partial: '', closed: false },
  recognitionId: undefined,
  own: '',
  last: '',
  recent: [],
  repeatable: [],
})

const noPartial = { partial: '', stableLength: undefined } as const

interface Applied {
  readonly after: ChannelState
  readonly added: string
}

function applyResult(state: ChannelState, event: ResultEvent): Applied {
  const key = event.type === 'milestone' ? keyOf(event) : undefined
  const repeated = key === undefined ? -1 : state.repeatable.indexOf(key)
  if (repeated >= 0) {
    return { after: { ...state, repeatable: state.repeatable.filter((_key, at) => at !== repeated) }, added: '' }
  }
  const current = withRecognition(state, event)
  switch (event.type) {
    case 'partial':
      return { after: withView(current, { partial: event.text, stableLength: event.stableLength }), added: '' }
    case 'milestone': {
      const recent = key === undefined ? current.recent : [...current.recent, key].slice(-rememberedMilestones)
      return commit({ ...current, recent }, event.text, noPartial)
    }
    case 'final':
      return commit(current, extension(current, event.text), {
        ...noPartial,
        closed: true,
        ...(event.confidence !== undefined && { confidence: event.confidence }),
        ...(event.error !== undefined && { error: event.error }),
      })
  }
}

/** The audio and the text; undefined without times, which services of other kinds do not send. */
const keyOf = ({ startMs, endMs, text }: MilestoneEvent): string | undefined =>
  startMs === undefined || endMs === undefined ? undefined : `${startMs}-${endMs} ${text.trim()}`

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
  return { ...state, recognitionId, own: '', view: { channel, committed, partial: '', closed: false } }
}

function withView(state: ChannelState, change: Partial<TranscriptChannel>): ChannelState {
  const view = { ...state.view, ...change }
  const isSame = (Object.keys(view) as (keyof TranscriptChannel)[]).every((key) => view[key] === state.view[key])
  return isSame ? state : { ...state, view }
}

/** Adds definitive text: within a recognition as it is, between two with a space if the script uses spaces. */
function commit(state: ChannelState, text: string, change: Partial<TranscriptChannel>): Applied {
  const { own, last, view } = state
  const added = own === '' ? separator(last, text) + text : text
  if (added === '') return { after: withView(state, change), added }
  const grown = { ...state, own: own + added, last: added.slice(-1) }
  return { after: withView(grown, { ...change, committed: view.committed + added }), added }
}

/** The text of a final beyond the milestones of its recognition. */
function extension({ own }: ChannelState, text: string): string {
  const known = own.trimStart()
  if (known === '') return text
  const whole = text.trimStart()
  return whole.startsWith(known) ? whole.slice(known.length) : ''
}

const textOf = ({ view: { committed, partial }, last }: ChannelState): string =>
  committed + separator(last, partial) + partial

/** `join` would copy the texts. */
const textOfAll = (states: readonly ChannelState[]): string =>
  states.reduce((text, state, at) => (at === 0 ? textOf(state) : text + '\n' + textOf(state)), '')

/** Between a text that ends with `last` and the next one. */
function separator(last: string, next: string): string {
  const [before, first] = [last || ' ', next.at(0) ?? ' ']
  const isSpaced =
    /\s/u.test(before) || /[\s.,;:!?]/u.test(first) || unspacedScript.test(before) || unspacedScript.test(first)
  return isSpaced ? '' : ' '
}
