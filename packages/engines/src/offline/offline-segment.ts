import type { SchedulerLike } from 'rxjs'
import { isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { Word } from 'rxspeech/internal/protocol/session-event'
import type { EngineSegment, SegmentListener, SegmentText } from '../engine.js'
import { clamp } from '../decoded-words.js'
import { Agreement, type AgreedWord } from './agreement.js'
import { spokenOf } from './invented-text.js'
import { PartAudio } from './part-audio.js'
import type { PartialSource, ReadQueue } from './read-queue.js'
import type { ReadRequest, Reading } from './reader.js'
import { SoundLevels } from './sound-levels.js'
import { joinWords, wordsOf, type SampleSpan, type TextWord } from './text-words.js'

/** What is the same for all segments of a channel. */
export interface ReadPlan {
  readonly queue: ReadQueue
  readonly sampleRateHz: number
  readonly contextMs: number
  /** The longest part of a segment that is read at once, in milliseconds. */
  readonly maxPartMs: number
  /** The shortest time between two partials, in milliseconds; undefined for none. */
  readonly minStepMs: number | undefined
  readonly settings: Pick<ReadRequest, 'language' | 'phrases'>
  readonly scheduler: SchedulerLike
}

/** A reading takes at most this part of the time until the next. */
const stepPerCost = 2
/** A part is cut in its last seconds. */
const cutWithinMs = 5_000
/** While the part before is read, up to this much of the next one counts as processed. */
const maxAheadMs = 5_000
/** Shorter audio has no word. */
const minReadMs = 20
/** What is read of less audio is shown, but counts for no agreement: it often lacks the first word. */
const minAgreementMs = 1_500
/** A reading is incomplete with this much sound behind its last word, measured from this long after the word. */
const unreadMs = 300
const unreadAfterMs = 200
const maxReadings = 3
/** Words are read of the audio around a part only if it has this much sound. */
const minContextSoundMs = 50

/**
 * How often words prove right that two readings of a segment have in common, and others, measured with whisper tiny.en
 * on clear speech and in noise at 20 dB (docs/ACCURACY.md). For recognizers that have no probabilities.
 */
const agreedConfidence = 0.9
const singleConfidence = 0.5

/** What was read of a part: its words, and up to where. */
interface ReadPart {
  readonly words: readonly TextWord[]
  readonly readTo: number
}

/** One segment, which is read at its end, in parts if it is too long, and on the way for its partials. */
export class OfflineSegment implements EngineSegment, PartialSource {
  readonly #plan: ReadPlan
  readonly #startMs: number
  readonly #listener: SegmentListener
  readonly #samplesPerMs: number
  readonly #audio: PartAudio
  readonly #abort = new AbortController()
  /** Where the part begins that is not decided, in samples of the segment. */
  #partStart = 0
  #agreement = new Agreement()
  #isReading = false
  #isClosed = false
  /** Samples that do not count as processed yet. */
  #held = 0
  #nextPartialAtMs: number
  #text = ''
  /** What the partial that is being read is of. */
  #asked: { readonly partStart: number; readonly length: number; readonly lead: number } | undefined

  constructor(startMs: number, listener: SegmentListener, before: Int16Array | undefined, plan: ReadPlan) {
    this.#plan = plan
    this.#startMs = startMs
    this.#listener = listener
    this.#samplesPerMs = plan.sampleRateHz / 1000
    this.#audio = new PartAudio(before, plan.contextMs * this.#samplesPerMs)
    this.#nextPartialAtMs = plan.scheduler.now() + (plan.minStepMs ?? Infinity)
    plan.queue.join(this)
  }

  get lengthMs(): number {
    return this.#audio.length / this.#samplesPerMs
  }

  write(samples: Int16Array): void {
    if (this.#isOver) return
    this.#audio.append(samples)
    this.#held += samples.length
    this.#count()
    if (this.#isOver) return
    if (!this.#isReading && this.#audio.length >= this.#plan.maxPartMs * this.#samplesPerMs) this.#readUntilCut()
    else if (this.#plan.scheduler.now() >= this.#nextPartialAtMs) this.#plan.queue.readPartial(this)
  }

  close(_endMs: number, _isCut?: boolean, after?: Int16Array): void {
    this.#isClosed = true
    this.#audio.finish(after)
    this.#plan.queue.leave(this)
    if (!this.#isReading) this.#readRest()
  }

  abort(): void {
    this.#abort.abort()
    this.#plan.queue.leave(this)
  }

  request(): ReadRequest | undefined {
    if (this.#isOver || this.#isReading || this.#isClosed) return undefined
    const { length } = this.#audio
    const { samples, lead } = this.#audio.around(0, length)
    this.#asked = { partStart: this.#partStart, length, lead }
    // Until this one is done, no other one is wanted.
    this.#nextPartialAtMs = Infinity
    return { ...this.#plan.settings, samples, purpose: 'partial' }
  }

  done(reading: Reading | undefined, tookMs: number): void {
    const asked = this.#asked
    this.#asked = undefined
    const stepMs = Math.max(this.#plan.minStepMs ?? Infinity, stepPerCost * tookMs)
    this.#nextPartialAtMs = this.#plan.scheduler.now() - tookMs + stepMs
    // What was cut or ended in the meantime is read for its result.
    if (this.#isOver || this.#isReading || asked?.partStart !== this.#partStart || reading === undefined) return
    const words = this.#spoken(reading, { from: 0, to: asked.length }, { purpose: 'partial', lead: asked.lead })
    const isCounted = asked.length >= minAgreementMs * this.#samplesPerMs
    const { text, stableLength } = this.#agreement.add(words, isCounted)
    if (text === this.#text && stableLength === 0) return
    this.#text = text
    this.#listener.progress(0, text, stableLength)
  }

  get #isOver(): boolean {
    return this.#abort.signal.aborted
  }

  /** Audio counts as processed when it is here, unless too much of it waits for the part before. */
  #count(): void {
    if (this.#isReading && this.#audio.length > (this.#plan.maxPartMs + maxAheadMs) * this.#samplesPerMs) return
    const held = this.#held
    this.#held = 0
    if (held > 0) this.#listener.progress(held)
  }

  /** The part is as long as can be read: its result, up to the quietest point of its last seconds. */
  #readUntilCut(): void {
    const { length } = this.#audio
    const from = Math.max(length - cutWithinMs * this.#samplesPerMs, Math.floor(length / 2))
    const to = length - this.#plan.contextMs * this.#samplesPerMs
    const { samples, lead } = this.#audio.around(0, length)
    const levels = new SoundLevels(samples, this.#plan.sampleRateHz)
    const cut = levels.quietest({ from: from + lead, to: to + lead }) - lead
    this.#read(cut, ({ words, readTo }) => {
      const agreed = this.#agreement.cut(words, cut)
      this.#decideRead(agreed.words, readTo, cut)
      if (this.#isOver) return
      this.#agreement = agreed.next
      this.#audio.drop(cut)
      this.#partStart += cut
      this.#text = ''
      this.#isReading = false
      this.#count()
      if (this.#isOver) return
      if (this.#audio.length >= this.#plan.maxPartMs * this.#samplesPerMs) this.#readUntilCut()
      else if (this.#isClosed) this.#readRest()
    })
  }

  #decideRead(words: readonly AgreedWord[], readTo: number, cut: number): void {
    this.#listener.decidedPart(Math.min(readTo, cut), ...this.#resultOf(words))
    if (readTo < cut && !this.#isOver) this.#listener.decidedPart(cut - readTo, [], { text: '' })
  }

  #readRest(): void {
    const { length } = this.#audio
    this.#read(length, ({ words, readTo }) => {
      const agreed = this.#agreement.finish(words)
      if (readTo < length) this.#listener.decidedPart(readTo, ...this.#resultOf(agreed))
      if (this.#isOver) return
      this.#abort.abort()
      this.#listener.decided(...(readTo < length ? this.#resultOf([]) : this.#resultOf(agreed)))
    })
  }

  #read(to: number, act: (part: ReadPart) => void): void {
    this.#isReading = true
    this.#readPart(to).then(
      (part) => {
        if (!this.#isOver) act(part)
      },
      (error: unknown) => {
        if (this.#isOver) return
        this.abort()
        this.#listener.failed(failure(error))
      },
    )
  }

  /** Reads the part up to a position, and again from where a reading ended early. */
  async #readPart(to: number): Promise<ReadPart> {
    const words: TextWord[] = []
    let from = 0
    for (let readings = 0; readings < maxReadings && to - from >= minReadMs * this.#samplesPerMs; readings += 1) {
      const { samples, lead } = this.#audio.around(from, to)
      const purpose = 'final'
      const reading = await this.#plan.queue.readFinal({ ...this.#plan.settings, samples, purpose }, this.#abort.signal)
      const found = this.#spoken(reading, { from, to }, { purpose, lead })
      // The last word before may be read once more, because its end is an estimate.
      const isRepeated = readings > 0 && found[0]?.key === words.at(-1)?.key
      words.push(...(isRepeated ? found.slice(1) : found))
      const unreadFrom = this.#unreadFrom(found.at(-1), to)
      if (unreadFrom === undefined) return { words, readTo: found.length > 0 || readings === 0 ? to : from }
      from = unreadFrom
    }
    return { words, readTo: words.length === 0 ? to : from }
  }

  /** Where the audio begins that a reading left out; undefined if it is complete. */
  #unreadFrom(last: TextWord | undefined, to: number): number | undefined {
    if (last?.span === undefined) return undefined
    const { samples, lead } = this.#audio.around(0, to)
    const from = last.span.to + unreadAfterMs * this.#samplesPerMs
    const soundMs = new SoundLevels(samples, this.#plan.sampleRateHz).soundMs({ from: from + lead, to: to + lead })
    return soundMs >= unreadMs ? last.span.to : undefined
  }

  /** The words of a reading that are in the span, and not in the audio around it, where that has any sound. */
  #spoken(
    reading: Reading,
    span: SampleSpan,
    { purpose, lead }: { readonly purpose: ReadRequest['purpose']; readonly lead: number },
  ): readonly TextWord[] {
    const { samples } = this.#audio.around(span.from, span.to)
    const levels = new SoundLevels(samples, this.#plan.sampleRateHz)
    const end = lead + span.to - span.from
    const isAfterSound = levels.soundMs({ from: 0, to: lead }) >= minContextSoundMs
    const isBeforeSound = levels.soundMs({ from: end, to: samples.length }) >= minContextSoundMs
    const words = wordsOf(reading, this.#samplesPerMs).flatMap((word) => {
      if (word.span === undefined) return [word]
      const [from, to] = [word.span.from - lead + span.from, word.span.to - lead + span.from]
      const middle = (from + to) / 2
      if ((isAfterSound && middle < span.from) || (isBeforeSound && middle > span.to)) return []
      return [{ ...word, span: { from: clamp(from, span.from, span.to), to: clamp(to, span.from, span.to) } }]
    })
    const soundFrom = levels.soundFrom({ from: lead, to: end }) - lead + span.from
    return spokenOf(beginningAt(soundFrom, words), {
      purpose,
      levels,
      noSpeechProbability: reading.noSpeechProbability,
    })
  }

  /** A word without a probability, of a segment that was read once, has no confidence. */
  #confidenceOf({ confidence, isAgreed }: AgreedWord): number | undefined {
    if (confidence !== undefined || !this.#agreement.isCompared) return confidence
    return isAgreed ? agreedConfidence : singleConfidence
  }

  #resultOf(words: readonly AgreedWord[]): [readonly Word[], SegmentText] {
    const rated = words.map((word) => ({ ...word, confidence: this.#confidenceOf(word) }))
    const confidences = rated.flatMap(({ confidence }) => confidence ?? [])
    const isRated = confidences.length > 0 && confidences.length === rated.length
    const confidence = confidences.reduce((sum, one) => sum + one, 0) / confidences.length
    const spans = inOrder(words.flatMap(({ span }) => span ?? []))
    const isTimed = spans.length === words.length
    const timed = rated.flatMap(({ text, confidence: ofWord }, index) => {
      const span = isTimed ? spans[index] : undefined
      return span === undefined
        ? []
        : [
            {
              text,
              startMs: this.#msOf(span.from),
              endMs: this.#msOf(span.to),
              ...(ofWord !== undefined && { confidence: ofWord }),
            },
          ]
    })
    const text: SegmentText = { text: joinWords(words), ...(isRated && { confidence }) }
    return [timed, text]
  }

  #msOf(position: number): number {
    return this.#startMs + Math.round((this.#partStart + position) / this.#samplesPerMs)
  }
}

/**
 * The words, the first of which begins no earlier than the sound: recognizers often place it at the start of their
 * audio.
 */
const beginningAt = (soundFrom: number, words: readonly TextWord[]): readonly TextWord[] =>
  words.map((word, index) =>
    index > 0 || word.span === undefined || soundFrom >= word.span.to
      ? word
      : { ...word, span: { from: Math.max(word.span.from, soundFrom), to: word.span.to } },
  )

/** The spans of words of several readings: none begins before the one before it, or ends after the next one begins. */
const inOrder = (spans: readonly SampleSpan[]): readonly SampleSpan[] => {
  let latest = 0
  const starts = spans.map(({ from }) => (latest = Math.max(latest, from)))
  return spans.map(({ to }, index) => {
    const from = starts[index] ?? 0
    return { from, to: Math.max(from, Math.min(to, starts[index + 1] ?? to)) }
  })
}

const failure = (error: unknown): SpeechError =>
  isSpeechError(error)
    ? error
    : new SpeechError('engine-failed', 'The recognition engine failed; try again.', { cause: error })
