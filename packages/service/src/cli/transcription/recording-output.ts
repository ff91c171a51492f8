import { join } from 'node:path'
import type { AudioFormat } from 'rxspeech/internal/audio/format'
import { codeOf } from 'rxspeech/internal/errors/speech-error'
import { inputName, isAddress } from '../input/input-name.js'
import type { InputFile } from '../input/recordings-in-folder.js'
import type { Pace } from '../input/sendable-audio.js'
import { failureOf, SilentExit, usageError } from '../process/failure.js'
import type { Output } from '../process/output.js'
import { openOutputFile, type OutputFile } from '../process/output-file.js'
import { formatExtensions, openFormatView, type TranscriptFormat } from '../view/format-view.js'
import { recordingJson } from '../view/json-view.js'
import type { Paint, TextStyle } from '../view/paint.js'
import type { Pane } from '../view/panes.js'
import { Segments } from '../view/segments.js'
import { secondsText } from '../view/plain-text.js'
import { summaryLine, type TranscriptReader } from '../view/transcript-reader.js'
import type { View } from '../view/view.js'
import { errorsOf, wordErrorsText } from '../view/word-errors-view.js'
import { ReferenceComparison } from './reference.js'
import { interruptedText } from './outcome-text.js'
import type { Outcome, Recording } from './run-recording.js'

/** What the transcripts of all recordings have in common. */
export interface OutputPlan {
  readonly format: TranscriptFormat
  readonly raw?: AudioFormat | undefined
  readonly pace: Pace
  /** One for each channel. */
  readonly speakers?: readonly string[] | undefined
  readonly hasWords: boolean
  /** The folder of the transcripts; undefined for stdout. */
  readonly outputDir?: string | undefined
  /** Whether the text of a recording that fails stays in a file that ends in `.partial`. @default true */
  readonly keepsIncomplete?: boolean
}

export interface OutputOptions {
  readonly output: Output
  /** Colors of stdout. */
  readonly paint: Paint
  /** The look of comparisons on stderr. */
  readonly errorsStyle: TextStyle
}

/** The recording of a file, and the text that is said in it, if it is known. */
export interface NamedRecording extends InputFile {
  /** The file of the other channel, for two files that are one call. */
  readonly mergedWith?: string | undefined
  readonly reference?: string | undefined
  /** Whether there are others, so that what is written about it has its name. */
  readonly isOneOfSeveral: boolean
  /** Whether another transcript follows on stdout. */
  readonly isLast: boolean
}

/** A recording whose transcript is written in a format to stdout or to a file. */
export class RecordingOutput implements Recording {
  readonly input: Recording['input']
  readonly mergedWith: Recording['mergedWith']
  readonly whenWritable: Recording['whenWritable']
  /** What was said and read, after its end, if there is a reference. */
  readonly comparison: ReferenceComparison | undefined
  readonly #plan: OutputPlan
  readonly #named: NamedRecording
  readonly #options: OutputOptions
  #segments = new Segments()
  #speakers: readonly string[] = []
  /** Open from the session on to the end. */
  #file: OutputFile | undefined
  #fault: Error | undefined
  #isOpen = false
  #hasTitle = false

  constructor(plan: OutputPlan, named: NamedRecording, options: OutputOptions) {
    this.#plan = plan
    this.#named = named
    this.#options = options
    this.mergedWith = named.mergedWith
    this.input = { file: named.file, raw: plan.raw }
    // Files are written at once.
    this.whenWritable = plan.outputDir === undefined ? options.output.whenWritable : () => undefined
    this.comparison = named.reference === undefined ? undefined : new ReferenceComparison(named.reference)
  }

  openView: Recording['openView'] = (audio, reader, pane) => {
    const { format, outputDir } = this.#plan
    const { stem } = this.#named
    this.#speakers = namesFor(this.#plan, audio.format.channels)
    if (outputDir !== undefined) {
      this.#file = openOutputFile(join(outputDir, `${stem}.${formatExtensions[format]}`))
    }
    this.#isOpen = true
    const view = this.#viewOf(audio, reader, this.#paneOfText(pane))
    return this.comparison?.watch(view, this.#speakers) ?? view
  }

  ended: Recording['ended'] = (outcome, pane) => {
    const { format, hasWords, outputDir } = this.#plan
    const { file, isOneOfSeveral, isLast } = this.#named
    const isStdout = outputDir === undefined
    let error = outcome.error ?? this.#file?.fault()
    if (format === 'json' && (isStdout ? !(error instanceof SilentExit) || this.#isOpen : this.#isOpen)) {
      const json = recordingJson({
        file: isAddress(file) ? inputName(file) : file,
        segments: this.#segments,
        speakers: this.#speakers,
        hasWords,
        audioMs: outcome.run?.audioMs ?? (error instanceof SilentExit ? outcome.sentMs : undefined),
        wordErrors: this.#isOpen && this.comparison ? errorsOf(this.comparison.texts()) : undefined,
        error: error === undefined ? undefined : errorJson(error, outcome),
      })
      this.#paneOfText(pane).write(json)
    }
    // The text of thousands of recordings is not kept.
    this.#segments = new Segments()
    if (error === undefined) this.#writeTitle(pane)
    if (this.#hasTitle && !isLast) pane.write('\n')
    this.#file?.end(error === undefined, this.#plan.keepsIncomplete)
    // The file gets its name at its end, which can fail, too.
    this.#fault = this.#file?.fault()
    this.#file = undefined
    error ??= this.#fault
    if (!isOneOfSeveral) return
    pane.note(endText(inputName(file), outcome, error))
    if (error === undefined && this.comparison) {
      pane.note(wordErrorsText(this.comparison.texts(), this.#options.errorsStyle))
    }
  }

  /** The first failure of its file, after its end. */
  fault(): Error | undefined {
    return this.#fault
  }

  /** The pane, with text that goes to the file if there is one. */
  #paneOfText(pane: Pane): Pane {
    const file = this.#file
    const { isOneOfSeveral, file: name } = this.#named
    const note = (lines: string): void =>
      pane.note(isOneOfSeveral ? lines.replace(/^rxspeech: /, `rxspeech: ${inputName(name)}: `) : lines)
    const write = (lines: string): void => {
      this.#writeTitle(pane)
      pane.write(lines)
    }
    return file === undefined ? { ...pane, note, write } : { ...pane, note, write: file.write, show: () => undefined }
  }

  /** The name above one of several texts on stdout. */
  #writeTitle(pane: Pane): void {
    const { format, outputDir } = this.#plan
    const { file, isOneOfSeveral } = this.#named
    if (this.#hasTitle || !isOneOfSeveral || outputDir !== undefined || format !== 'text') return
    this.#hasTitle = true
    pane.write(`${this.#options.paint('bold', `==> ${inputName(file)} <==`)}\n`)
  }

  #viewOf(
    { format: { channels }, isLive }: Parameters<Recording['openView']>[0],
    reader: TranscriptReader,
    pane: Pane,
  ): View {
    const { format, pace, hasWords, outputDir } = this.#plan
    const paint: Paint = outputDir === undefined ? this.#options.paint : (_color, text) => text
    return openFormatView({
      format,
      pane,
      reader,
      segments: this.#segments,
      style: { speakers: this.#speakers, paint, hasWords },
      channels,
      isLive,
      isHurried: pace.speed > 1,
    })
  }
}

/** The names for the channels of the recording. Throws `invalid-options` if there are more or fewer names. */
const namesFor = ({ speakers: names }: OutputPlan, channels: number): readonly string[] => {
  if (names === undefined) return channels === 1 ? [] : ['left', 'right']
  if (names.length === channels) return names
  const count = channels === 1 ? 'one channel' : `${channels} channels`
  throw usageError(`--speakers must be one name for each channel; the recording has ${count}.`)
}

/** The code of a failure, also of one that has another error as its cause. */
export const failureCode = (error: unknown): string | undefined =>
  codeOf(error) ?? (error instanceof Error ? codeOf(error.cause) : undefined)

const errorJson = (
  error: unknown,
  { sentMs = 0 }: Outcome,
): { readonly code?: string | undefined; readonly message: string } =>
  error instanceof SilentExit
    ? { code: 'interrupted', message: `The command was interrupted at ${secondsText(sentMs)} of the recording.` }
    : { code: failureCode(error), message: failureOf(error).sentence ?? '' }

/** What stderr says of one of several recordings at its end. */
const endText = (name: string, outcome: Outcome, error: unknown): string => {
  const { counts, run } = outcome
  if (error === undefined) return run === undefined ? '' : `${name}: ${summaryLine(counts, run)}\n`
  if (error instanceof SilentExit) {
    const text = interruptedText(outcome, error)
    return text === '' ? '' : `${name}: ${text}\n`
  }
  const { sentence = '' } = failureOf(error)
  return `rxspeech: ${sentence.startsWith(name) ? '' : `${name}: `}${sentence}\n`
}
