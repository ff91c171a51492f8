import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RejectLevel } from 'rxspeech/internal/protocol/recognition-parameters'
import type { Word } from 'rxspeech/internal/protocol/session-event'
import { isSpoken, spokenWords, textOf, type DecodedWord } from '../decoded-words.js'
import type { RecognizeSettings } from '../engine.js'
import type { DecodedSegment, SegmentDecoder, SegmentSpan } from '../pool/leased-segment.js'
import { speechCepstralMean } from './cepstral-mean.js'
import { ComfortNoise } from './comfort-noise.js'
import { leastConfidence } from './confidence.js'
import { decoderRateHz, type AlignedWord, type Decoder } from './package.js'
import { steadyAudio } from './steady-audio.js'
import type { DecoderGrammar, WorkerGrammars } from './worker-grammars.js'

const samplesPerMs = decoderRateHz / 1000
/**
 * How much audio is decoded at a time, whatever the length of chunks, so that partials and times do not depend on it.
 */
export const frameSamples = 800

/**
 * The mean cepstrum that the first pass assumes. The first coefficient is the level; 50 was the best in measurements.
 */
const assumedMean = '50,3,-1'
/** The second pass is done for segments up to this length, which bounds memory. */
const maxSecondPassSamples = 60 * decoderRateHz
/** After this number of samples the second pass yields to other segments of the worker. */
const turnSamples = 10 * frameSamples

const joined = (frames: readonly Int16Array[], sampleCount: number): Int16Array => {
  const samples = new Int16Array(sampleCount)
  let at = 0
  for (const frame of frames) {
    samples.set(frame, at)
    at += frame.length
  }
  return samples
}

const decodedWord = ({ t, b, d, p }: AlignedWord): DecodedWord => ({
  text: t,
  startMs: Math.round(b * 1000),
  endMs: Math.round((b + d) * 1000),
  posterior: p,
})

const fits = ({ posterior, startMs, endMs }: DecodedWord, perSecond: number): boolean =>
  Math.log(posterior) >= (perSecond * (endMs - startMs)) / 1000

/** The words of a pass. They are incomplete if the audio was cut before the end of a sentence of the grammar. */
interface Reading {
  readonly words: readonly DecodedWord[]
  readonly isIncomplete: boolean
}

/**
 * At the end of the audio the decoder completes a sentence, whatever was spoken last, and if it cannot, it has no
 * words. So the end of a cut sentence counts only if its words fit; otherwise the words count that were read without
 * it, but for the last, of which a part may be missing. Of 238 sentences that were cut anywhere 780 words were right
 * and 84 wrong, where the completed sentences had 443 and 141.
 */
const cutFitPerSecond = -0.45

const cutReading = (completed: readonly DecodedWord[], open: readonly DecodedWord[]): Reading => {
  const differs = completed.findIndex(({ text }, at) => text !== open[at]?.text)
  const end = differs === -1 ? [] : completed.slice(differs).filter(({ text }) => isSpoken(text))
  if (completed.length > 0 && end.every((word) => fits(word, cutFitPerSecond))) {
    return { words: completed, isIncomplete: false }
  }
  const spoken = open.filter(({ text }) => isSpoken(text))
  const last = spoken.at(-1)
  return { words: last && !fits(last, cutFitPerSecond) ? spoken.slice(0, -1) : spoken, isIncomplete: true }
}

/** The times of a reading without the begin of its audio. */
const withoutBegin = ({ words, isIncomplete }: Reading, skippedMs: number): Reading => ({
  words: words.map((word) => ({ ...word, startMs: word.startMs - skippedMs, endMs: word.endMs - skippedMs })),
  isIncomplete,
})

const decoded = (words: readonly Word[], isIncomplete: boolean): DecodedSegment =>
  isIncomplete ? { words, text: { text: textOf(words), isIncomplete } } : { words }

/** Gives a decoder the audio of a segment from `startMs` to `endMs`; all of it by default. */
export type DecodePart = (decoder: Decoder, startMs?: number, endMs?: number) => Promise<void>

/** A reading whose confidence is wanted. It has a word. */
export interface RatedReading {
  /** With silences and noises. */
  readonly words: readonly DecodedWord[]
  /** Whether the audio was cut before the end of a sentence. */
  readonly isIncomplete: boolean
  /** Those of the segment; undefined if it is too long to be decoded again. */
  readonly samples: Float32Array | undefined
  /**
   * The mean cepstrum of the segment, as a setting of decoders; undefined if the segment is too long to be decoded
   * again.
   */
  readonly cepstralMean: string | undefined
  /** Decodes a part of the segment with another decoder, which is started. */
  readonly decode: DecodePart
}

/** Rejects readings that are unlikely to be right. */
export interface Rejection {
  /** The level of the model. */
  readonly level: RejectLevel
  /** How likely words are right, 0 to 1, by themselves. One of them is spoken. */
  readonly rateWords: (words: readonly DecodedWord[]) => number
  /**
   * Resolves with how likely it is that a reading is right, 0 to 1. `isThorough`: other decoders are used, too, if the
   * reading by itself is not sufficient.
   */
  readonly rate: (reading: RatedReading, isThorough: boolean) => Promise<number>
}

/**
 * A complete sentence counts as over if its last word fits that well, or if silence follows it: a word of which only
 * the beginning was spoken fits worse, and so does one that is read into the beginning of another. Of 288 sentences of
 * 6 voices on clear and noisy lines none was cut, and 82 % ended with the first check; without this condition 5 were
 * cut.
 */
const endFitPerSecond = -0.28
const minSilenceAfterMs = 30

/**
 * And only if its words are that likely to be right. In a pause within digits or letters the decoder makes four words
 * of the three that were spoken, because only then the sentence is complete: of 180 strings of a person with pauses of
 * up to 0.3 s, 45 were cut without this condition, and 8 with it. Of 144 sentences of other kinds it lets 66 % end
 * early instead of 77 %.
 */
const leastConfidenceOfEnd = 0.7

const isOver = (words: readonly DecodedWord[]): boolean => {
  const last = words.findLast(({ text }) => isSpoken(text))
  if (last === undefined) return false
  const silenceMs = (words.at(-1)?.endMs ?? 0) - last.endMs
  return silenceMs >= minSilenceAfterMs || fits(last, endFitPerSecond)
}

/**
 * Decodes one segment after another. The result depends only on the samples of the segment: every segment begins with
 * the same state, and audio is decoded in frames of one length.
 *
 * The first pass yields the partials. It does not have the mean cepstrum of the speaker and the line, nor how loud the
 * segment will be, so when the segment ends a second pass decodes it with its own mean: of 144 sentences on noisy and
 * quiet lines 18 were wrong instead of 31. The second reading does not depend on the place of the speech between two
 * frames, and hardly on its level.
 */
export class TwoPassDecoder implements SegmentDecoder {
  readonly #decoder: Decoder
  readonly #onTurn: () => void
  readonly #grammars: Pick<WorkerGrammars, 'with'> | undefined
  readonly #rejection: Rejection | undefined
  #level: RejectLevel = 'off'
  /** The one that the decoder has. */
  #grammar: DecoderGrammar | undefined
  #comfortNoise = new ComfortNoise()
  #frames: Int16Array[] = []
  #sampleCount = 0
  #text = ''

  /**
   * `onTurn` is called during a second pass, which takes seconds for a long segment. `grammars` has the grammar of each
   * segment; without it the decoder keeps the one that it has, no sentence of which counts as complete. Without
   * `rejection` nothing is rejected, and the confidences of words are those of the decoder.
   */
  constructor(
    decoder: Decoder,
    onTurn: () => void = () => undefined,
    grammars?: Pick<WorkerGrammars, 'with'>,
    rejection?: Rejection,
  ) {
    this.#decoder = decoder
    this.#onTurn = onTurn
    this.#grammars = grammars
    this.#rejection = rejection
  }

  isReadyFor({ phrases }: RecognizeSettings): boolean {
    return this.#grammars?.with(phrases) === this.#grammar
  }

  /** Gives the decoder the grammar of a session with these phrases. Throws if the package does not accept it. */
  useGrammar(phrases?: readonly string[]): void {
    const grammar = this.#grammars?.with(phrases)
    if (grammar === this.#grammar) return
    grammar?.setFor(this.#decoder)
    this.#grammar = grammar
  }

  async begin({ reject, phrases }: RecognizeSettings = {}): Promise<void> {
    this.useGrammar(phrases)
    this.#level = this.#rejection === undefined ? 'off' : (reject ?? this.#rejection.level)
    this.#comfortNoise = new ComfortNoise()
    this.#frames = []
    this.#sampleCount = 0
    this.#text = ''
    await this.#restart(assumedMean)
    this.#decoder.start()
  }

  process(samples: Int16Array): string | undefined {
    const frame = this.#comfortNoise.fill(samples)
    this.#sampleCount += samples.length
    if (this.#sampleCount > maxSecondPassSamples) this.#frames = []
    else this.#frames.push(samples)
    this.#decoder.process_audio(Float32Array.from(frame, (sample) => sample / 32_768))
    const text = this.#decoder.get_text().trim()
    if (text === this.#text) return undefined
    this.#text = text
    return text
  }

  isComplete(): boolean {
    if (this.#grammar?.isComplete(this.#text) !== true) return false
    const words = this.#words()
    return isOver(words) && (this.#rejection?.rateWords(words) ?? 1) >= leastConfidenceOfEnd
  }

  async end({ startMs, endMs, isCut }: SegmentSpan, isCancelled: () => boolean): Promise<DecodedSegment> {
    const steady = this.#frames.length === 0 ? undefined : steadyAudio(joined(this.#frames, this.#sampleCount))
    this.#frames = []
    const { samples, skippedMs = 0 } = steady ?? {}
    const first = withoutBegin(this.#finish(isCut), skippedMs)
    const cepstralMean = await this.#meanOf(samples)
    const decode: DecodePart = async (decoder, fromMs = 0, toMs = Infinity) => {
      const part = samples?.subarray(fromMs * samplesPerMs, toMs * samplesPerMs)
      if (part !== undefined) await this.#decode(decoder, part, isCancelled)
    }
    const second = await this.#decodeAgain(cepstralMean, decode, isCut)
    const reading = this.#choose(first, second, isCut)
    const words = spokenWords(reading.words, startMs + skippedMs, endMs)
    const { isIncomplete } = reading
    if (this.#rejection === undefined || words.length === 0 || isCancelled()) return decoded(words, isIncomplete)
    const confidence = await this.#rejection.rate({ ...reading, samples, cepstralMean, decode }, this.#level !== 'off')
    if (confidence < leastConfidence[this.#level]) return { words: [] }
    // A sentence of a grammar is right or wrong as a whole.
    return decoded(
      words.map((word) => ({ ...word, confidence })),
      isIncomplete,
    )
  }

  /**
   * The second reading counts, unless it does not reach the end of a sentence of the grammar. Most speech for which it
   * does not is foreign to the grammar; it counts as such if anything is rejected, unless the speaker was interrupted.
   */
  #choose(first: Reading, second: Reading | undefined, isCut: boolean): Reading {
    if (second === undefined || second.words.some(({ text }) => isSpoken(text))) return second ?? first
    return this.#level === 'off' || isCut ? first : second
  }

  cancel(): void {
    this.#frames = []
    this.#decoder.stop()
  }

  async #meanOf(samples: Float32Array | undefined): Promise<string | undefined> {
    if (samples === undefined) return undefined
    await this.#restart(assumedMean)
    const mean = speechCepstralMean(this.#decoder.spectrogram(samples))
    return mean?.map((value) => value.toFixed(3)).join(',')
  }

  async #decodeAgain(
    cepstralMean: string | undefined,
    decode: DecodePart,
    isCut: boolean,
  ): Promise<Reading | undefined> {
    if (cepstralMean === undefined) return undefined
    await this.#restart(cepstralMean)
    this.#decoder.start()
    await decode(this.#decoder)
    return this.#finish(isCut)
  }

  async #decode(decoder: Decoder, samples: Float32Array, isCancelled: () => boolean): Promise<void> {
    for (let at = 0; at < samples.length && !isCancelled(); at += frameSamples) {
      decoder.process_audio(samples.slice(at, at + frameSamples))
      if (at % turnSamples === turnSamples - frameSamples) {
        await nextTurn()
        this.#onTurn()
      }
    }
  }

  #finish(isCut: boolean): Reading {
    const open = isCut ? this.#words() : []
    this.#decoder.stop()
    const completed = this.#words()
    return isCut ? cutReading(completed, open) : { words: completed, isIncomplete: false }
  }

  async #restart(cepstralMean: string): Promise<void> {
    this.#decoder.set_config('cmninit', cepstralMean)
    await this.#decoder.reinitialize_audio()
  }

  #words(): readonly DecodedWord[] {
    if (this.#decoder.get_text() === '') return []
    return (this.#decoder.get_alignment().w ?? []).map(decodedWord)
  }
}
