// The interface of engines, which turn speech into text. To add an engine, implement `EngineKind`: `open` loads a model
// and resolves with an `Engine`. Most engines only implement `OpenSegment`, one segment of speech, and leave the rest
// to `createSegmentEngine`.
//
// What an engine does not have to do: find speech (it gets segments), resample (audio has the rate of its
// capabilities), limit how much audio it gets (the caller does, by `progress`), or retry. The registry retries every
// engine: a segment that fails is opened again and gets its audio from the start, so each `open` is a separate attempt.
import type { OperatorFunction } from 'rxjs'
import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { engineParameters, ParametersOf } from 'rxspeech/internal/protocol/recognition-parameters'
import type { Slots, Word } from 'rxspeech/internal/protocol/session-event'

/** The input of an engine, for one channel of one session: `open`, `audio`…, `close`, `open`, … */
export type SegmentPart =
  /**
   * A segment begins at `startMs`, in milliseconds since the session's first sample. `traceparent`, of W3C Trace
   * Context, is for engines that pass the segment on, if it is traced. `before` is audio that precedes the segment, up
   * to `contextMs` of the capabilities, but none of the segment before: it helps to read the first word, and nothing of
   * it belongs to the result. `language` is that of this segment, if it is not that of the settings: a session may
   * change it between segments. `attempt` is above 1 if the segment was begun before; the retry around an engine counts.
   */
  | {
      readonly type: 'open'
      readonly startMs: number
      readonly traceparent?: string | undefined
      readonly before?: Int16Array | undefined
      readonly language?: string | undefined
      readonly attempt?: number | undefined
    }
  /**
   * 16-bit samples of one channel at the engine's rate. The engine may keep them, and must neither change nor transfer
   * them: a retry has the same.
   */
  | { readonly type: 'audio'; readonly samples: Int16Array }
  /**
   * Asks whether the segment so far is a sentence to which nothing can be added. Sent only to an engine with the
   * capability `checks`, and only within a segment; nothing follows until the answer `checked`.
   */
  | { readonly type: 'check' }
  /**
   * The segment ends at `endMs`, in milliseconds since the session's first sample. `isCut` if no silence ended it: the
   * audio stopped, or the segment had its maximum length. `after` is audio that follows the segment, as far as it has
   * arrived; see `before`.
   */
  | {
      readonly type: 'close'
      readonly endMs: number
      readonly isCut?: boolean | undefined
      readonly after?: Int16Array | undefined
    }

/** The output of an engine, in order. Times are in milliseconds since the session's first sample. */
export type Hypothesis =
  /**
   * The text of the open segment so far, which may change behind its first `stableLength` UTF-16 code units: these
   * begin all later partials of the segment, and their words stay in its result, which may have others between them.
   * Absent: all of it may change.
   */
  | {
      readonly type: 'partial'
      readonly startMs: number
      readonly text: string
      readonly stableLength?: number | undefined
    }
  /** The result of a segment, once for every `close`; the text is empty if nothing was recognized. */
  | ({
      readonly type: 'segment'
      /**
       * The number of samples at the start of the segment that this result covers; the segment continues at `endMs`.
       * Absent for the result of all of the segment, or of its rest.
       */
      readonly decidedSamples?: number | undefined
    } & RecognizedSegment)
  /**
   * The answer to `check`, once for each: whether the best reading of the audio before it is a complete sentence of the
   * grammar, and the grammar permits no word after it. It must depend on that audio alone.
   */
  | { readonly type: 'checked'; readonly isComplete: boolean }
  /**
   * The engine processed `sampleCount` more samples. The caller bounds the audio it sends by this. 0 means only that
   * the engine is alive.
   */
  | { readonly type: 'progress'; readonly sampleCount: number }
  /**
   * The engine failed within the segment that began at `startMs`. If `retried`, the segment is decoded again from its
   * start; if not, the error itself follows. Only the retry around an engine emits it, never an engine.
   */
  | { readonly type: 'fault'; readonly startMs: number; readonly error: SpeechError; readonly retried: boolean }

/** What an engine needs, and what its results contain. */
export interface EngineCapabilities {
  /** The rate of the audio that the engine takes, in Hz. */
  readonly sampleRateHz: number
  /** Whether it emits partials. */
  readonly partials: boolean
  /** Whether its segments have words with times. */
  readonly words: boolean
  /** Whether it recognizes the sentences of a grammar only, or any speech. */
  readonly kind: 'grammar' | 'dictation'
  /** Whether it answers `check`; without it, only silence ends a segment. @default false */
  readonly checks?: boolean | undefined
  /** Whether it takes the phrases of a session; without it, sessions that have some are refused. @default false */
  readonly phrases?: boolean | undefined
  /**
   * The languages of which a session may choose one, by their code of ISO 639 in lower case, such as `en` or `yue`, and
   * `auto` if it detects the language then. A model of one language lists that one. @default none: sessions with a
   * language are refused
   */
  readonly languages?: readonly string[] | undefined
  /** How many segments it decodes at the same time. Further ones wait in a queue of the engine. */
  readonly segmentsAtOnce: number
  /**
   * How much true audio it uses on both sides of a segment, in milliseconds: `before` and `after` of the parts.
   * @default 0
   */
  readonly contextMs?: number | undefined
}

/**
 * What a session asks of an engine beside its model. An engine ignores what it does not have. The service has checked
 * it: phrases are in lower case, separated by single spaces, only for an engine with the capability `phrases` whose
 * `checkPhrases` accepted them; the language is one of `languages` of the capabilities.
 */
export interface RecognizeSettings extends ParametersOf<typeof engineParameters> {
  /** The id of the session, for lines of the log. @default none */
  readonly sessionId?: string | undefined
}

/** One attempt to recognize one segment, as each line of the log about it names it. */
export interface SegmentAttempt {
  /** The id of the session; absent if the engine was not told. */
  readonly sessionId?: string | undefined
  /** Where the segment begins, in milliseconds since the session's first sample. */
  readonly startMs: number
  /** How often it was begun, with this attempt. */
  readonly attempt: number
}

/** Why an engine does not take a phrase. */
export interface PhraseFault {
  /** The index of the phrase; absent if it takes none of them. */
  readonly index?: number | undefined
  /**
   * The rest of a sentence that begins with the name of the phrase, such as `has the word "wether", which
   * is not in the dictionary`.
   */
  readonly reason: string
}

/**
 * One loaded model.
 *
 * Every failure is an error of the output with the code `engine-failed`, and ends the channel: the caller subscribes
 * again to retry. The error says how:
 * - `retryable: false`: another attempt would fail too;
 * - a `cause` that is a `SpeechError` with the code of a lost connection, such as `connection-lost`: the engine itself
 *   is
 *   gone for now, and more attempts are made, over a longer time, than if it failed to decode this segment;
 * - the code `overloaded`, with `retryAfterMs`, instead of `engine-failed`: no attempt is made, the session ends with
 *   it.
 */
export interface Engine {
  /** What this engine needs, and what its results contain. */
  readonly capabilities: EngineCapabilities
  /**
   * Returns the operator for one channel of one session. A subscription uses no resources until a segment opens.
   * Completion of the input closes the open segment where its audio ends; the output completes after its result.
   * Unsubscribing aborts at once and frees everything the channel used.
   */
  recognize(settings?: RecognizeSettings): OperatorFunction<SegmentPart, Hypothesis>
  /** Resolves when the engine can recognize; rejects with a `SpeechError` when it cannot. */
  ready(): Promise<void>
  /**
   * Resolves with why the engine does not take some of these phrases, before a session starts that has them; empty if
   * it takes all. Rejects with a `SpeechError` if it cannot check now. Called only with the capability `phrases`.
   * @default every phrase is taken
   */
  checkPhrases?(phrases: readonly string[]): Promise<readonly PhraseFault[]>
  /**
   * How long its threads have worked on audio since it was opened, in total, in milliseconds. Divided by the length of
   * that audio it is the real-time factor. Absent or undefined if the work is done elsewhere or is not counted.
   */
  busyMs?(): number | undefined
  /**
   * How much memory its processes use with its model, in bytes. Absent or undefined for an engine within this process,
   * and where it is not known.
   */
  memoryBytes?(): number | undefined
  /**
   * How long a segment that closes now waits before the engine begins with its result, in milliseconds. With
   * `speakers`: how long all but one in fifty will wait while this mean number of speakers talks at the same time. For
   * engines that order their work themselves; the lag of the others is measured from outside.
   */
  waitMs?(speakers?: number): number
  /**
   * The interval within which it emits at most one partial of a channel, in milliseconds, because it has no time for
   * more. @default 0
   */
  partialIntervalMs?(): number
  /** Whether its model is in memory; it is loaded for the next channel if it is not. @default true */
  isLoaded?(): boolean
  /** Frees everything; running channels and later ones fail with `engine-failed`, not retryable. Idempotent. */
  close(): Promise<void>
}

/** The same engine with another way to recognize. */
export const withRecognize = (engine: Engine, recognize: Engine['recognize']): Engine => ({
  capabilities: engine.capabilities,
  recognize,
  ready: () => engine.ready(),
  checkPhrases: (phrases) => engine.checkPhrases?.(phrases) ?? Promise.resolve([]),
  busyMs: () => engine.busyMs?.(),
  memoryBytes: () => engine.memoryBytes?.(),
  isLoaded: () => engine.isLoaded?.() ?? true,
  waitMs: (speakers) => engine.waitMs?.(speakers) ?? 0,
  partialIntervalMs: () => engine.partialIntervalMs?.() ?? 0,
  close: () => engine.close(),
})

/** The same engine for a session, whose id lines of the log about its segments have. */
export const withSession = (engine: Engine, sessionId: string | undefined): Engine =>
  sessionId === undefined ? engine : withRecognize(engine, (settings) => engine.recognize({ ...settings, sessionId }))

/** The text of a segment, and its confidence from 0 to 1. */
export interface SegmentText {
  /** The text of the segment. */
  readonly text: string
  /** The confidence of the text; absent if the engine has none. */
  readonly confidence?: number | undefined
  /** The values that the tags of a grammar derive from the text, by name. @default none */
  readonly slots?: Slots | undefined
  /** Whether it is the beginning of a sentence whose audio was cut. @default false */
  readonly isIncomplete?: boolean | undefined
}

/** The result of a segment, or of a part of one; its confidence is used if no word has one. */
export interface RecognizedSegment extends SegmentText {
  /** Where it begins, in milliseconds since the session's first sample. */
  readonly startMs: number
  /** Where it ends. */
  readonly endMs: number
  /** Its words; empty if the engine has no times. */
  readonly words: readonly Word[]
}

/** Receives the progress and the result of a segment. Nothing may follow `decided`, `failed` or an abort. */
export interface SegmentListener {
  /** `sampleCount` more samples were processed; `partial` is the text so far if it changed, with its `stableLength`. */
  readonly progress: (sampleCount: number, partial?: string, stableLength?: number) => void
  /**
   * The first `sampleCount` samples are decided, and the segment continues behind them; see `decidedSamples`. May be
   * called again, also after `close`.
   */
  readonly decidedPart: (sampleCount: number, words: readonly Word[], text?: SegmentText) => void
  /** The segment is decided. `text` is absent if it consists of the words. */
  readonly decided: (words: readonly Word[], text?: SegmentText) => void
  /** The answer to `check`. */
  readonly checked: (isComplete: boolean) => void
  /** The attempt failed; see `Engine` for what the error says. */
  readonly failed: (error: SpeechError) => void
}

/** One attempt to decode one segment. */
export interface EngineSegment {
  /** The next samples, of any number. They may be kept, and neither changed nor transferred: a retry has the same. */
  write(samples: Int16Array): void
  /**
   * Asks whether the segment so far is a sentence to which nothing can be added; `checked` of the listener is the
   * answer. An engine without the capability `checks` does not need it.
   */
  check?(): void
  /** No more samples follow. The arguments are those of the part `close`. */
  close(endMs: number, isCut?: boolean, after?: Int16Array): void
  /** Frees everything the segment used, at any time. Has no effect once it is decided. */
  abort(): void
}

/**
 * Opens a segment, or queues it if the engine decodes its maximum. The listener may not be called before this returns.
 *
 * Each call is an attempt of its own, also for a segment that is retried. An engine in another process numbers its
 * attempts and ignores answers to an earlier one; it also sends with each message of audio how many samples of the
 * segment precede it, so that a lost message fails the attempt and never yields wrong words. `traceparent`, `before` and
 * `attempt` are those of the part `open`.
 */
export type OpenSegment = (
  startMs: number,
  listener: SegmentListener,
  traceparent?: string,
  before?: Int16Array,
  attempt?: number,
) => EngineSegment

/** A model folder as found by the registry: the content of `model.json`, and where its files are. */
export interface ModelDescription {
  /** The name of the first folder. */
  readonly tenant: string
  /** The name of the second folder. */
  readonly name: string
  /** The name of the third folder. */
  readonly version: string
  /** Absolute path. */
  readonly folder: string
  /** The content of `model.json`: the name of an engine and the options of that engine. */
  readonly options: { readonly engine: string; readonly [key: string]: unknown }
}

/** A flag of `rxspeech models add`. */
export interface AddInput {
  /** Such as `<file>`; absent for a switch. */
  readonly placeholder?: string | undefined
  /** Its line in the help of the command. */
  readonly help: string
  /** The only values. @default any text */
  readonly choices?: readonly string[] | undefined
}

/** How `rxspeech models add` makes a model of a kind. */
export interface ModelSource {
  /** The title of its flags in the help. */
  readonly title: string
  /** What it is a model for, in a sentence: `a grammar or phrases`. */
  readonly what: string
  /** Its flags by their names in camel case. No two kinds have the same. */
  readonly inputs: Readonly<Record<string, AddInput>>
  /** The flags that say what the model consists of: exactly one is given. */
  readonly sources: readonly string[]
  /** Whether the argument of the command, a folder, is the first of these. @default false */
  readonly takesFolder?: boolean | undefined
  /** The values of its option `language`. @default any text */
  readonly languages?: readonly string[] | undefined
  /** The options for `model.json`, and the files to copy, by their names in the model's folder; a switch is `true`. */
  plan(given: Readonly<Record<string, string | undefined>>): Promise<ModelContent> | ModelContent
}

/** What a model consists of. */
export interface ModelContent {
  /** The keys of `model.json` beside `engine`. */
  readonly options: Readonly<Record<string, unknown>>
  /** The paths of files to copy, by their names in the folder of the model. */
  readonly files: Readonly<Record<string, string>>
}

/** Opens the models of one kind of engine. */
export interface EngineKind {
  /** The value of `engine` in `model.json`. */
  readonly name: string
  /** Loads a model. Rejects with `invalid-model` that names the key or the file that is wrong. */
  open(model: ModelDescription): Promise<Engine>
  /**
   * Throws `invalid-model` for what is wrong in `model.json` itself, without loading anything; for `rxspeech models
   * lint`.
   */
  readonly lint?: ((model: ModelDescription) => unknown) | undefined
  /** The path of the dictionary in which the words of a grammar or of phrases have to be. */
  readonly dictionaryOf?: ((model: ModelDescription) => string) | undefined
  /** The options that a model has whose `model.json` does not name them; for lists of models. */
  readonly presets?: Readonly<Record<string, unknown>> | undefined
  /** How a model is made of files; for `rxspeech models add`. */
  readonly add?: ModelSource | undefined
  /** The options of a model with which it is read once only, without partials; for `rxspeech models check`. */
  readonly withoutPartials?: Readonly<Record<string, unknown>> | undefined
  /**
   * Packages that may be missing without harm to other engines, and what loads each completely; for `rxspeech doctor`.
   */
  readonly requirements?: Readonly<Record<string, () => Promise<unknown>>> | undefined
}
