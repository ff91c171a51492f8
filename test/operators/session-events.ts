import type {
  FinalEvent,
  GapEvent,
  LedgerEvent,
  MilestoneEvent,
  PartialEvent,
  SessionEvent,
} from '../../src/protocol/session-event.js'

type Details<Event> = Partial<Omit<Event, 'type' | 'text'>>

export const partial = (text: string, details: Details<PartialEvent> = {}): PartialEvent => ({
  type: 'partial',
  text,
  ...details,
})
export const milestone = (text: string, details: Details<MilestoneEvent> = {}): MilestoneEvent => ({
  type: 'milestone',
  text,
  ...details,
})
export const final = (text: string, details: Details<FinalEvent> = {}): FinalEvent => ({
  type: 'final',
  text,
  ...details,
})
export const gap = (fromMs: number, toMs: number, details: Details<GapEvent> = {}): GapEvent => ({
  type: 'gap',
  fromMs,
  toMs,
  cause: 'buffer-full',
  ...details,
})
/** All captured audio is pending unless other counts are given. */
export const ledgerOf = (details: Details<LedgerEvent>): LedgerEvent => {
  const { capturedMs = 0, finalizedMs = 0, replayedPendingMs = 0, droppedMs = 0 } = details
  const pendingMs = capturedMs - finalizedMs - replayedPendingMs - droppedMs
  return {
    type: 'ledger',
    capturedMs,
    finalizedMs,
    pendingMs,
    replayedPendingMs,
    droppedMs,
    sentMs: capturedMs,
    estimated: false,
    ...details,
  }
}
export const streaming: SessionEvent = { type: 'connection', state: 'streaming' }

/** Text as words of equal length in time. */
export const wordsOf = (text: string, startMs: number, msPerWord = 300): MilestoneEvent => {
  const words = text
    .trim()
    .split(' ')
    .map((word, at) => ({
      text: word,
      startMs: startMs + at * msPerWord,
      endMs: startMs + (at + 1) * msPerWord,
      confidence: 0.9,
    }))
  return milestone(text, { startMs, endMs: startMs + words.length * msPerWord, words })
}
