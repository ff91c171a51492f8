import { accumulate, emptyTranscript, isResult, type ResultEvent } from '../operators/results/transcript.js'
import type { SessionEvent } from '../protocol/session-event.js'
import type { TimedText, TranscriptionStreamPart, TranscriptionSummary } from './transcription-model.js'

/** Turns the events of a session into parts of a stream, and all of them into a summary. */
export class Transcription {
  readonly #language: string | undefined
  readonly #segments: TimedText[] = []
  readonly #words: TimedText[] = []
  readonly #gaps: TranscriptionSummary['providerMetadata']['rxspeech']['gaps'] = []
  /** The number of definitive pieces, by channel. */
  readonly #finals = new Map<number, number>()
  #state = emptyTranscript
  #durationMs = 0

  /** @param language as in the options of the session, such as `en-US` or `auto` */
  constructor(language: string | undefined) {
    this.#language = language === 'auto' ? undefined : language?.split('-')[0]
  }

  /** The part that an event is; undefined for an event without text. */
  add(event: SessionEvent): TranscriptionStreamPart | undefined {
    this.#state = accumulate(this.#state, event)
    if (isResult(event)) return this.#addResult(event)
    if (event.type === 'ledger') this.#durationMs = Math.max(this.#durationMs, event.capturedMs)
    else if (event.type === 'gap') this.#gaps.push({ fromMs: event.fromMs, toMs: event.toMs, cause: event.cause })
    return undefined
  }

  summary(): TranscriptionSummary {
    const seconds = this.#durationMs / 1000
    return {
      text: this.#state.transcript.text.trim(),
      segments: this.#segments.toSorted(byStart),
      ...(this.#words.length > 0 && { words: this.#words.toSorted(byStart) }),
      language: this.#language,
      durationInSeconds: seconds,
      usage: { seconds },
      providerMetadata: { rxspeech: { gaps: this.#gaps } },
    }
  }

  #addResult(event: ResultEvent): TranscriptionStreamPart | undefined {
    const { channel = 0, startMs, endMs } = event
    const count = this.#finals.get(channel) ?? 0
    const shared = { id: `${channel}-${count}`, channelIndex: channel }
    const start = startMs === undefined ? {} : { startSecond: startMs / 1000 }
    if (event.type === 'partial') {
      const duration =
        startMs === undefined || endMs === undefined ? {} : { durationInSeconds: (endMs - startMs) / 1000 }
      return { type: 'transcript-partial', ...shared, text: event.text.trim(), ...start, ...duration }
    }
    // That of a final which its milestones had, and of a milestone which came again, is empty.
    const text = this.#state.added.trim()
    if (text === '') return undefined
    this.#finals.set(channel, count + 1)
    if (startMs !== undefined && endMs !== undefined) this.#segments.push(timed(text, startMs, endMs))
    const words = event.type === 'milestone' ? (event.words ?? []) : []
    for (const word of words) this.#words.push(timed(word.text, word.startMs, word.endMs))
    const end = endMs === undefined ? {} : { endSecond: endMs / 1000 }
    return { type: 'transcript-final', ...shared, text, ...start, ...end }
  }
}

const timed = (text: string, startMs: number, endMs: number): TimedText => ({
  text,
  startSecond: startMs / 1000,
  endSecond: endMs / 1000,
})

const byStart = (a: TimedText, b: TimedText): number => a.startSecond - b.startSecond
