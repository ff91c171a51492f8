import { firstValueFrom, from, mergeMap, reduce, tap, timeout, type Observable, type SchedulerLike } from 'rxjs'
import type { Engine, Hypothesis, RecognizeSettings, SegmentPart } from 'rxspeech-engines/engine'
import {
  alignWords,
  comparedWords,
  countErrors,
  isRight,
  type AlignedWords,
  type WordErrors,
} from 'rxspeech-engines/word-errors'
import { isSpeechError, SpeechError, toSpeechError } from 'rxspeech/internal/errors/speech-error'

/** A longer segment is dropped. It is as much as is kept for retries. */
const maxKeptBytes = 1_048_576
/** A reading may take this long, and twice the duration of its segment. */
const readWithinMs = 30_000
/** Comparing takes time by the product of the words: that of 65 s of speech takes a millisecond. */
const maxWords = 1_000
/** Of the words in a line of the log. */
const maxDifferences = 10
const maxWordLength = 40

/** Both have read a segment. The words of the model count as those that were said. */
export interface Comparison {
  readonly errors: WordErrors
  /** The words that differ, if the operator wants them and there are some. */
  readonly differences: string | undefined
}

/** A segment is `dropped` if there is no place, or its session ends before its result. An error is of the challenger. */
export type ChallengeOutcome = Comparison | 'dropped' | SpeechError

export interface TrialOptions {
  readonly logsWords: boolean
  readonly settings: RecognizeSettings
  /** The rate of the audio. */
  readonly sampleRateHz: number
  /** The engine of the challenger; undefined while it has no place. */
  readonly spareEngine: () => Promise<Engine> | undefined
  readonly scheduler: SchedulerLike
  /** Called once. */
  readonly ended: (outcome: ChallengeOutcome) => void
}

/** One segment that both read: its audio until the model has read it, and its text until the challenger has. */
export class Trial {
  readonly #options: TrialOptions
  #parts: SegmentPart[] = []
  #keptBytes = 0
  #text = ''
  #state: 'kept' | 'reading' | 'over' = 'kept'

  constructor(options: TrialOptions) {
    this.#options = options
  }

  take(part: SegmentPart): void {
    if (this.#state !== 'kept' || part.type === 'check') return
    if (part.type === 'audio') this.#keptBytes += part.samples.byteLength
    this.#parts.push(part)
    if (this.#keptBytes > maxKeptBytes) this.drop()
  }

  /** A result of the model; reads the segment if it is that of its end. */
  decided({ text, decidedSamples }: Extract<Hypothesis, { readonly type: 'segment' }>): void {
    if (this.#state !== 'kept') return
    this.#text = `${this.#text} ${text}`.trim()
    if (decidedSamples !== undefined) return
    const { spareEngine, scheduler, sampleRateHz } = this.#options
    const loading = spareEngine()
    if (loading === undefined) {
      this.drop()
      return
    }
    this.#state = 'reading'
    const audioMs = (this.#keptBytes / 2 / sampleRateHz) * 1000
    const read$ = from(loading).pipe(
      mergeMap((engine) => this.#read(engine)),
      timeout({ first: readWithinMs + 2 * audioMs, scheduler }),
    )
    firstValueFrom(read$).then(
      (read) => this.#compare(read),
      (error: unknown) => this.#fail(error),
    )
  }

  /** The segment has no result, or no place. */
  drop(): void {
    if (this.#state === 'kept') this.#end('dropped')
  }

  #read(engine: Engine): Observable<string> {
    const { sampleRateHz, settings } = this.#options
    const neededHz = engine.capabilities.sampleRateHz
    if (neededHz !== sampleRateHz) {
      const sentence = `A challenger with audio of ${neededHz} Hz cannot read that of a model with ${sampleRateHz} Hz.`
      throw new SpeechError('invalid-model', sentence)
    }
    return from(this.#parts.map((part) => partFor(engine, part))).pipe(
      engine.recognize(settingsFor(engine, settings)),
      tap((hypothesis) => {
        // Nothing is tried again.
        if (hypothesis.type === 'fault') throw hypothesis.error
      }),
      reduce((text, hypothesis) => (hypothesis.type === 'segment' ? `${text} ${hypothesis.text}`.trim() : text), ''),
    )
  }

  #compare(text: string): void {
    const said = comparedWords(this.#text)
    const read = comparedWords(text)
    if (Math.max(said.length, read.length) > maxWords) {
      this.#fail(new SpeechError('engine-failed', `A segment has more than ${maxWords} words.`))
      return
    }
    const aligned = alignWords(said, read)
    const differences = this.#options.logsWords ? differencesOf(aligned) : undefined
    this.#end({ errors: countErrors(aligned), differences })
  }

  #fail(cause: unknown): void {
    const error = toSpeechError(cause, 'engine-failed', 'The challenger failed, or did not read the segment in time.')
    // Its engine processes had no place after all.
    this.#end(isSpeechError(error) && error.code === 'overloaded' ? 'dropped' : error)
  }

  #end(outcome: ChallengeOutcome): void {
    this.#state = 'over'
    this.#parts = []
    this.#options.ended(outcome)
  }
}

/** Only as much context as the engine uses, and a language that it has. */
const partFor = ({ capabilities }: Engine, part: SegmentPart): SegmentPart => {
  const { contextMs = 0, sampleRateHz } = capabilities
  const samples = Math.round((contextMs * sampleRateHz) / 1000)
  if (part.type === 'open') {
    const { traceparent: _ofSession, before, ...rest } = part
    return { ...rest, before: before?.slice(Math.max(before.length - samples, 0)), ...languageFor(capabilities, part) }
  }
  return part.type === 'close' ? { ...part, after: part.after?.slice(0, samples) } : part
}

const settingsFor = ({ capabilities }: Engine, settings: RecognizeSettings): RecognizeSettings => ({
  ...settings,
  phrases: capabilities.phrases === true ? settings.phrases : undefined,
  ...languageFor(capabilities, settings),
})

const languageFor = (
  { languages = [] }: Engine['capabilities'],
  { language }: Pick<RecognizeSettings, 'language'>,
): Pick<RecognizeSettings, 'language'> => ({
  language: language !== undefined && languages.includes(language) ? language : undefined,
})

/** Such as `their → there, – → uh, well → –`. */
const differencesOf = (aligned: readonly AlignedWords[]): string | undefined => {
  const wrong = aligned.filter((pair) => !isRight(pair))
  const shown = wrong.slice(0, maxDifferences).map(({ said, read }) => `${wordOf(said)} → ${wordOf(read)}`)
  return wrong.length === 0 ? undefined : `${shown.join(', ')}${wrong.length > maxDifferences ? ' …' : ''}`
}

const wordOf = (word = '–'): string => word.slice(0, maxWordLength)
