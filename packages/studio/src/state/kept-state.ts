import { initialState, type Span, type StudioState } from './state.js'
import type { LineStatus, TranscriptDocument, TranscriptLine } from './transcript.js'

/** The state of a session of which the transcript was kept: without figures, connections and partial results. */
export const stateOfKept = ({ title, speakers, lines }: TranscriptDocument): StudioState => ({
  ...initialState,
  phase: 'ended',
  title,
  lines,
  channels: speakers,
  speech: spansOf(lines, 'recognized'),
  rejected: spansOf(lines, 'rejected'),
  gaps: lines.flatMap(({ channel, startMs, endMs, cause }) =>
    cause === undefined ? [] : [{ channel, fromMs: startMs, toMs: endMs, cause }],
  ),
})

const spansOf = (lines: readonly TranscriptLine[], wanted: LineStatus): readonly Span[] =>
  lines.flatMap(({ channel, startMs, endMs, status }) =>
    status === wanted ? [{ channel, fromMs: startMs, toMs: endMs }] : [],
  )
