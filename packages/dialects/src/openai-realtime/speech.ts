import type { OpenAiError } from '../openai-errors/openai-error.js'
import { noText, withSegment, withStable, type AppendOnlyText } from './append-only-text.js'
import { findItem, noItems, shownItem, withItem, withTranscript, type Items } from './items.js'

/** A message for the client; `event_id` is added when it is sent. */
export type ServerEvent = Readonly<Record<string, unknown>> & { readonly type: string }

/** An item that has no transcript yet. Times are milliseconds of the audio of the session. */
export interface OpenItem {
  readonly id: string
  readonly startMs: number
  /** Whether the client commits it; its text is that of all segments of its audio. Otherwise it is one segment. */
  readonly isOfClient: boolean
  /** Whether the client knows that its speech has begun, and not that it has ended. */
  readonly isSpeaking: boolean
  readonly isCommitted: boolean
  readonly durationMs: number
  readonly text: AppendOnlyText
}

/** The items of a session. */
export interface Speech {
  readonly idPrefix: string
  readonly count: number
  /** In their order. */
  readonly open: readonly OpenItem[]
  readonly items: Items
}

export const noSpeech = (idPrefix: string): Speech => ({ idPrefix, count: 0, open: [], items: noItems })

/** A result of the recognizer, with the times of the session. */
export interface Segment {
  readonly startMs: number
  readonly endMs: number
  readonly text: string
}

const transcription = 'conversation.item.input_audio_transcription'

export interface SpeechRules {
  /** Whether the client divides the audio. */
  readonly isOfClient: boolean
  /** Whether words are sent before it is definitive how they are written. */
  readonly isEarly: boolean
}

/** What becomes of the items in one step of the session, and what its client is sent. */
export class SpeechStep {
  readonly events: ServerEvent[] = []
  #speech: Speech

  constructor(
    speech: Speech,
    readonly rules: SpeechRules,
  ) {
    this.#speech = speech
  }

  get speech(): Speech {
    return this.#speech
  }

  /** The service has detected speech. */
  started(startMs: number): void {
    if (!this.rules.isOfClient) this.#begin(startMs)
  }

  /** The service has detected its end. */
  stopped(endMs: number): void {
    const item = this.rules.isOfClient ? undefined : this.#uncommitted()
    if (item !== undefined) this.#commit(item, endMs)
  }

  /** Text that is not definitive, of which the service no longer changes the beginning. */
  partial({ text, ...place }: Segment, stableLength: number): void {
    const stable = text.slice(0, stableLength)
    if (!this.rules.isEarly || stable.trim() === '') return
    const item = this.#itemOf(place) ?? this.#begin(place.startMs)
    this.#grow(item, withStable(item.text, stable))
  }

  /** A definitive text. */
  segment({ text, ...place }: Segment): void {
    const item = this.#itemOf(place) ?? this.#begin(place.startMs)
    const grown = this.#grow(item, withSegment(item.text, text))
    if (!grown.isOfClient) this.#complete(this.#commit(grown, place.endMs))
  }

  /** A segment has no text. */
  noMatch(place: Omit<Segment, 'text'>): void {
    const item = this.#itemOf(place)
    if (item?.isOfClient === false) this.#complete(this.#commit(item, place.endMs))
  }

  /** The client ends an item, whose transcript comes with the end of the recognition. */
  commit(startMs: number, endMs: number): void {
    const item = this.#uncommitted() ?? this.#begin(startMs, true)
    const ofClient = { ...item, isOfClient: true, startMs: Math.min(item.startMs, startMs) }
    this.#commit(ofClient, endMs)
  }

  /** The recognition has ended: no item has further text. What the client has not committed stays open. */
  completeAll(endMs: number): void {
    for (const item of this.#speech.open) {
      if (item.isCommitted || !item.isOfClient) this.#complete(this.#commit(item, endMs))
    }
  }

  /** The client drops its audio. */
  clear(): void {
    this.#setOpen(this.#speech.open.filter((item) => item.isCommitted))
  }

  /** No item will have a transcript. */
  fail(error: OpenAiError): void {
    for (const { id } of this.#speech.open) {
      this.events.push({ type: `${transcription}.failed`, item_id: id, content_index: 0, error: error.fields })
    }
    this.#setOpen([])
  }

  #uncommitted(): OpenItem | undefined {
    return this.#speech.open.find((item) => !item.isCommitted)
  }

  /**
   * The first open item, unless it begins behind this place: a long segment has its text in several parts, and the next
   * segment may begin before the last of them.
   */
  #itemOf({ endMs }: Omit<Segment, 'text'>): OpenItem | undefined {
    const [first] = this.#speech.open
    return first !== undefined && (first.isOfClient || first.startMs < endMs) ? first : undefined
  }

  #begin(startMs: number, isOfClient = this.rules.isOfClient): OpenItem {
    const count = this.#speech.count + 1
    const item: OpenItem = {
      id: `${this.#speech.idPrefix}${count}`,
      startMs,
      isOfClient,
      isSpeaking: !isOfClient,
      isCommitted: false,
      durationMs: 0,
      text: noText,
    }
    const isLast = this.#speech.open.every((other) => other.startMs <= startMs)
    const open = isLast ? [...this.#speech.open, item] : [item, ...this.#speech.open]
    this.#speech = { ...this.#speech, count, open }
    if (!isOfClient) {
      this.events.push({ type: 'input_audio_buffer.speech_started', audio_start_ms: startMs, item_id: item.id })
    }
    return item
  }

  #grow(item: OpenItem, [text, delta]: readonly [AppendOnlyText, string]): OpenItem {
    if (delta !== '') {
      this.events.push({ type: `${transcription}.delta`, item_id: item.id, content_index: 0, delta })
    }
    return this.#replace({ ...item, text })
  }

  #commit(item: OpenItem, endMs: number): OpenItem {
    if (item.isCommitted) return item
    const { id } = item
    if (item.isSpeaking) {
      this.events.push({ type: 'input_audio_buffer.speech_stopped', audio_end_ms: endMs, item_id: id })
    }
    const items = withItem(this.#speech.items, id)
    const previous_item_id = this.#speech.items.lastId
    this.#speech = { ...this.#speech, items }
    this.events.push(
      { type: 'input_audio_buffer.committed', item_id: id, previous_item_id },
      { type: 'conversation.item.added', previous_item_id, item: shownItem({ id, previousId: previous_item_id }) },
    )
    return this.#replace({ ...item, isSpeaking: false, isCommitted: true, durationMs: endMs - item.startMs })
  }

  #complete({ id, text: { text: transcript }, durationMs }: OpenItem): void {
    const usage = { type: 'duration', seconds: Math.max(0, durationMs) / 1000 }
    this.events.push({ type: `${transcription}.completed`, item_id: id, content_index: 0, transcript, usage })
    const items = withTranscript(this.#speech.items, id, transcript)
    const item = findItem(items, id)
    if (item !== undefined) {
      const previous_item_id = item.previousId
      this.events.push({ type: 'conversation.item.done', previous_item_id, item: shownItem(item) })
    }
    this.#speech = { ...this.#speech, items }
    this.#setOpen(this.#speech.open.filter((open) => open.id !== id))
  }

  #replace(item: OpenItem): OpenItem {
    this.#setOpen(this.#speech.open.map((open) => (open.id === item.id ? item : open)))
    return item
  }

  #setOpen(open: readonly OpenItem[]): void {
    this.#speech = { ...this.#speech, open }
  }
}
