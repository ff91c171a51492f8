import type {
  ErrorCode,
  GapEvent,
  LedgerAccount,
  PartialEvent,
  SessionEvent,
  SessionMetrics,
  SessionState,
} from 'rxspeech'
import { audioWarningOf, thinnedMsOf } from './service-events.js'
import type { TranscriptLine } from './transcript.js'
import { splitWords, wordsOf, type CaptionWord, type PartialWords } from './words.js'

/** What happens in the studio. `atMs` is time since the start, `audioMs` the audio that was captured by then. */
export type StudioInput =
  | { readonly type: 'started'; readonly title: string; readonly channels: readonly string[] }
  | SessionInput
  | { readonly type: 'ledger'; readonly account: LedgerAccount; readonly isEstimated: boolean }
  | { readonly type: 'metrics'; readonly metrics: SessionMetrics }
  | { readonly type: 'cut'; readonly audioMs: number }
  | { readonly type: 'muted'; readonly fromMs: number; readonly toMs: number }
  | { readonly type: 'token'; readonly expiresAtMs: number }
  | { readonly type: 'ended'; readonly audioMs: number; readonly atMs: number; readonly failure?: Failure | undefined }

/** An event of the session of one channel. */
export interface SessionInput {
  readonly type: 'event'
  readonly event: SessionEvent
  readonly channel: number
  readonly atMs: number
  readonly audioMs: number
}

/** Why a session failed. */
export interface Failure {
  readonly code: ErrorCode | 'unknown'
  readonly message: string
}

/** A range of the timeline. */
export interface Span {
  readonly channel: number
  readonly fromMs: number
  readonly toMs: number
}

/** A definitive result on the timeline, at the position at which it arrived. */
export interface Mark {
  readonly channel: number
  readonly atMs: number
}

/** A state of a connection; the last span of a channel is open, its `toMs` is Infinity. */
export interface ConnectionSpan extends Span {
  readonly state: SessionState
}

/** A loss of the connection, of one channel or of several at the same time. */
export interface Incident {
  readonly lostMs: number
  readonly lostAtMs: number
  readonly isCut: boolean
  /** Channels that have lost their connection and are not resumed. */
  readonly open: readonly number[]
  readonly channels: readonly number[]
  readonly attempts: number
  readonly resumedAfterMs: number | undefined
  readonly bufferedMs: number
  readonly replayedMs: number
  readonly droppedMs: number
  readonly cause: ErrorCode
}

export type Phase = 'idle' | 'connecting' | 'streaming' | 'reconnecting' | 'finalizing' | 'ended'

/** Everything that the page shows of a session, except its audio. */
export interface StudioState {
  readonly phase: Phase
  readonly title: string
  readonly channels: readonly string[]
  readonly lines: readonly TranscriptLine[]
  /** The text of each channel that is not definitive. */
  readonly partials: readonly string[]
  /** How much of each no longer changes, in UTF-16 code units from its beginning. */
  readonly stableLengths: readonly number[]
  readonly speech: readonly Span[]
  /** Sound that matches nothing that the model knows. */
  readonly rejected: readonly Span[]
  readonly milestones: readonly (Mark & { readonly text: string })[]
  readonly finals: readonly Mark[]
  readonly gaps: readonly (Span & { readonly cause: GapEvent['cause'] })[]
  readonly connection: readonly ConnectionSpan[]
  readonly muted: readonly Span[]
  readonly incidents: readonly Incident[]
  readonly ledger: LedgerAccount | undefined
  readonly isLedgerEstimated: boolean
  readonly metrics: SessionMetrics | undefined
  /** The least time between the partials of an overloaded service. */
  readonly thinnedMs: number | undefined
  readonly tokenExpiresAtMs: number | undefined
  /** What the service says about the audio itself. */
  readonly warning: string | undefined
  readonly stopped: boolean
  readonly failure: Failure | undefined
  /** Where the next loss was caused by "Cut the line". */
  readonly cutMs: number | undefined
  readonly states: readonly SessionState[]
  /** The partial results of each channel since its last milestone, for the times of words. */
  readonly history: readonly (readonly PartialWords[])[]
  /** The speech of each channel that has no milestone yet. */
  readonly speaking: readonly (Span | undefined)[]
}

export const initialState: StudioState = {
  phase: 'idle',
  title: '',
  channels: [],
  lines: [],
  partials: [],
  stableLengths: [],
  speech: [],
  rejected: [],
  milestones: [],
  finals: [],
  gaps: [],
  connection: [],
  muted: [],
  incidents: [],
  ledger: undefined,
  isLedgerEstimated: false,
  metrics: undefined,
  thinnedMs: undefined,
  tokenExpiresAtMs: undefined,
  warning: undefined,
  stopped: false,
  failure: undefined,
  cutMs: undefined,
  states: [],
  history: [],
  speaking: [],
}

/** A pause of this length or a line of this many words starts a new line. */
const linePauseMs = 2500
const maxLineWords = 60
const maxHistory = 200
/** Losses of several channels within this time are one incident. */
const sameIncidentMs = 1500

export const reduce = (state: StudioState, input: StudioInput): StudioState => {
  switch (input.type) {
    case 'started':
      return { ...initialState, phase: 'connecting', title: input.title, channels: input.channels }
    case 'ledger':
      return { ...state, ledger: input.account, isLedgerEstimated: input.isEstimated }
    case 'metrics':
      return { ...state, metrics: input.metrics }
    case 'token':
      return { ...state, tokenExpiresAtMs: input.expiresAtMs }
    case 'cut':
      return { ...state, cutMs: input.audioMs }
    case 'muted':
      return { ...state, muted: [...state.muted, { channel: 0, fromMs: input.fromMs, toMs: input.toMs }] }
    case 'ended':
      return ended(state, input.audioMs, input.failure)
    case 'event':
      return reduceEvent(state, input)
  }
}

const reduceEvent = (state: StudioState, input: SessionInput): StudioState => {
  const { event, channel, audioMs } = input
  switch (event.type) {
    case 'partial': {
      const { startMs = audioMs, endMs = audioMs } = event
      const words = { words: splitWords(event.text), endMs }
      return {
        ...state,
        partials: put(state.partials, channel, event.text.trim(), ''),
        stableLengths: put(state.stableLengths, channel, stableLengthOf(event), 0),
        history: put(state.history, channel, [...(state.history[channel] ?? []), words].slice(-maxHistory), []),
        speaking: put(state.speaking, channel, { channel, fromMs: startMs, toMs: endMs }, undefined),
      }
    }
    case 'milestone': {
      const { startMs = audioMs, endMs = startMs } = event
      const words = wordsOf(event, state.history[channel] ?? [])
      return {
        ...withoutPartial(state, channel),
        lines: words.length === 0 ? state.lines : addWords(state.lines, channel, words),
        speech: [...state.speech, { channel, fromMs: startMs, toMs: endMs }],
        milestones: [...state.milestones, { channel, atMs: audioMs, text: event.text.trim() }],
      }
    }
    case 'final':
      return {
        ...withoutPartial(state, channel),
        finals: [...state.finals, { channel, atMs: audioMs }],
      }
    case 'gap': {
      const { fromMs, toMs, cause } = event
      return {
        ...state,
        gaps: [...state.gaps, { channel, fromMs, toMs, cause }],
        lines: harmless.has(cause)
          ? state.lines
          : addLine(state.lines, { channel, startMs: fromMs, endMs: toMs, status: 'gap', words: [], cause }),
        incidents:
          cause === 'replay-full' || cause === 'buffer-full'
            ? dropped(state.incidents, toMs - fromMs)
            : state.incidents,
      }
    }
    case 'connection': {
      const states = put(state.states, channel, event.state, 'idle' as const)
      const next = {
        ...state,
        states,
        stopped: state.stopped || event.state === 'stopped',
        phase: state.phase === 'ended' ? state.phase : phaseOf(states),
        connection: enter(state.connection, { channel, fromMs: audioMs, toMs: Infinity, state: event.state }),
      }
      return event.state === 'reconnecting' ? lost(next, input, event) : next
    }
    case 'resumed':
      return event.isNextRecognition ? state : resumed(state, input, event.replayedMs)
    case 'event': {
      if (event.name === 'Partials Thinned') return { ...state, thinnedMs: thinnedMsOf(event.data) }
      const warning = audioWarningOf(event)
      if (warning !== undefined) return { ...state, warning }
      if (event.name !== 'SR No Match') return state
      const span = { channel, fromMs: event.startMs, toMs: event.endMs }
      return {
        ...withoutPartial(state, channel),
        lines: addLine(state.lines, {
          channel,
          startMs: event.startMs,
          endMs: event.endMs,
          status: 'rejected',
          words: [],
        }),
        rejected: [...state.rejected, span],
      }
    }
    default:
      return state
  }
}

/** Gaps in which no word is lost. */
const harmless: ReadonlySet<GapEvent['cause']> = new Set(['silence', 'cut-sample'])

const stableLengthOf = ({ text, stableLength = 0 }: PartialEvent): number => text.slice(0, stableLength).trim().length

const put = <A>(list: readonly A[], index: number, value: A, empty: A): readonly A[] =>
  Array.from({ length: Math.max(list.length, index + 1) }, (_, at) => (at === index ? value : (list[at] ?? empty)))

const withoutPartial = (state: StudioState, channel: number): StudioState => ({
  ...state,
  partials: put(state.partials, channel, '', ''),
  stableLengths: put(state.stableLengths, channel, 0, 0),
  history: put(state.history, channel, [], []),
  speaking: put(state.speaking, channel, undefined, undefined),
})

const addWords = (
  lines: readonly TranscriptLine[],
  channel: number,
  words: readonly CaptionWord[],
): readonly TranscriptLine[] => {
  const startMs = words[0]?.startMs ?? 0
  return addLine(lines, { channel, startMs, endMs: words.at(-1)?.endMs ?? startMs, status: 'recognized', words })
}

/**
 * Adds a result to the lines, which are in the order of time: the results of one channel may arrive after later ones of
 * the other, and then belong between two results that were one line so far.
 */
const addLine = (
  lines: readonly TranscriptLine[],
  result: Omit<TranscriptLine, 'id' | 'starts'>,
): readonly TranscriptLine[] => {
  const { channel, startMs, endMs, words, status } = result
  const at = lines.findLastIndex((line) => line.startMs <= startMs)
  const before = lines[at]
  if (
    before?.channel === channel &&
    before.status === status &&
    status !== 'gap' &&
    startMs - before.endMs < linePauseMs &&
    before.words.length + words.length <= maxLineWords
  ) {
    const starts = [...before.starts, before.words.length]
    return lines.with(at, { ...before, endMs, words: [...before.words, ...words], starts })
  }
  const line = { ...result, id: lines.length + 1, starts: [0] }
  const cut = before?.starts.find((start) => (before.words[start]?.startMs ?? 0) > startMs)
  if (before === undefined || cut === undefined) return lines.toSpliced(at + 1, 0, line)
  const [first, second] = [before.words.slice(0, cut), before.words.slice(cut)]
  return lines.toSpliced(
    at,
    1,
    {
      ...before,
      endMs: first.at(-1)?.endMs ?? startMs,
      words: first,
      starts: before.starts.filter((start) => start < cut),
    },
    line,
    {
      ...before,
      id: lines.length + 2,
      startMs: second[0]?.startMs ?? startMs,
      words: second,
      starts: before.starts.filter((start) => start >= cut).map((start) => start - cut),
    },
  )
}

const enter = (spans: readonly ConnectionSpan[], span: ConnectionSpan): readonly ConnectionSpan[] => {
  const at = spans.findLastIndex(({ channel }) => channel === span.channel)
  const before = spans[at]
  if (before?.state === span.state) return spans
  const closed = before === undefined ? spans : spans.with(at, { ...before, toMs: span.fromMs })
  return [...closed, span]
}

const order: readonly SessionState[] = ['finalizing', 'done', 'stopped', 'failed']

const phaseOf = (states: readonly SessionState[]): Phase => {
  if (states.includes('reconnecting')) return 'reconnecting'
  if (states.some((state) => ['idle', 'authorizing', 'connecting', 'starting'].includes(state))) return 'connecting'
  return states.every((state) => order.includes(state)) ? 'finalizing' : 'streaming'
}

const lost = (
  state: StudioState,
  { channel, atMs, audioMs }: SessionInput,
  { attempt, bufferedMs, cause }: { readonly attempt: number; readonly bufferedMs: number; readonly cause: ErrorCode },
): StudioState => {
  const { incidents } = state
  const at = incidents.findLastIndex(
    (incident) =>
      incident.open.includes(channel) || (incident.open.length > 0 && atMs - incident.lostAtMs < sameIncidentMs),
  )
  const known = incidents[at]
  if (known !== undefined) {
    const change = {
      open: known.open.includes(channel) ? known.open : [...known.open, channel],
      channels: known.channels.includes(channel) ? known.channels : [...known.channels, channel],
      attempts: Math.max(known.attempts, attempt),
      bufferedMs: Math.max(known.bufferedMs, bufferedMs),
    }
    return { ...state, incidents: incidents.with(at, { ...known, ...change }) }
  }
  const incident: Incident = {
    lostMs: audioMs,
    lostAtMs: atMs,
    isCut: state.cutMs !== undefined,
    open: [channel],
    channels: [channel],
    attempts: attempt,
    resumedAfterMs: undefined,
    bufferedMs,
    replayedMs: 0,
    droppedMs: 0,
    cause,
  }
  return { ...state, cutMs: undefined, incidents: [...incidents, incident] }
}

const resumed = (state: StudioState, { channel, atMs }: SessionInput, replayedMs: number): StudioState => {
  const at = state.incidents.findLastIndex(({ open }) => open.includes(channel))
  const incident = state.incidents[at]
  if (incident === undefined) return state
  const change = {
    open: incident.open.filter((other) => other !== channel),
    resumedAfterMs: atMs - incident.lostAtMs,
    replayedMs: incident.replayedMs + replayedMs,
  }
  return { ...state, incidents: state.incidents.with(at, { ...incident, ...change }) }
}

const dropped = (incidents: readonly Incident[], ms: number): readonly Incident[] => {
  const last = incidents.at(-1)
  return last === undefined ? incidents : incidents.with(-1, { ...last, droppedMs: last.droppedMs + ms })
}

const ended = (state: StudioState, audioMs: number, failure: Failure | undefined): StudioState => ({
  ...state,
  phase: 'ended',
  failure,
  thinnedMs: undefined,
  partials: state.partials.map(() => ''),
  stableLengths: state.stableLengths.map(() => 0),
  speaking: state.speaking.map(() => undefined),
  connection: state.connection.map((span) =>
    span.toMs === Infinity ? { ...span, toMs: Math.max(span.fromMs, audioMs) } : span,
  ),
})
