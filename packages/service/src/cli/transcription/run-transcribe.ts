import { exitCode, failureOf, SilentExit } from '../process/failure.js'
import type { Host } from '../process/host.js'
import type { Output } from '../process/output.js'
import { inputName } from '../input/input-name.js'
import type { InputFile } from '../input/recordings-in-folder.js'
import { defaultColumns } from '../view/live-screen.js'
import { paintFor } from '../view/paint.js'
import { secondsText } from '../view/plain-text.js'
import { countsText, sumOfCounts } from '../view/transcript-reader.js'
import { countsLine, errorsOf, wordErrorsText } from '../view/word-errors-view.js'
import { failureCode, RecordingOutput, type OutputPlan } from './recording-output.js'
import { readReferences } from './reference.js'
import type { Outcome, TranscriptionPlan } from './run-recording.js'
import { transcribeRecording, transcribeRecordings, type Transcriptions } from './transcribe-recordings.js'

interface Plan extends TranscriptionPlan, OutputPlan {
  readonly jobs: number
  readonly reference?: string | undefined
}

/** Transcribes the files and reports. Rejects with the error that the command ends with. */
export const runTranscribe = async (
  plan: Plan,
  files: readonly (InputFile & { readonly mergedWith?: string })[],
  host: Host,
  output: Output,
): Promise<void> => {
  const references = plan.reference === undefined ? undefined : await readReferences(plan.reference, files)
  const paint = paintFor(host.stdout, host.env)
  const errorsStyle = { paint: paintFor(host.stderr, host.env), columns: host.stderr.columns ?? defaultColumns }
  const recordings = files.map(
    (file, at) =>
      new RecordingOutput(
        plan,
        {
          ...file,
          reference: references?.[at],
          isOneOfSeveral: files.length > 1,
          isLast: at === files.length - 1,
        },
        { output, paint, errorsStyle },
      ),
  )
  const [only] = recordings
  if (only !== undefined && recordings.length === 1) {
    const summary = await transcribeRecording(plan, only, host, output)
    const fault = only.fault()
    if (fault !== undefined) throw fault
    host.stderr.write(`${summary}\n`)
    if (only.comparison !== undefined) host.stderr.write(wordErrorsText(only.comparison.texts(), errorsStyle))
    return
  }
  const startedMs = performance.now()
  const { outcomes, exit, withoutWords } = await transcribeRecordings(plan, recordings, host, output)
  await output.flushed()
  // The reader of the output has enough of it.
  if (output.closed.aborted) throw exit ?? new SilentExit(exitCode.done)
  const faults = outcomes.map((outcome, at) =>
    outcome === undefined ? undefined : (outcome.error ?? recordings[at]?.fault()),
  )
  host.stderr.write(totalText(outcomes, faults, performance.now() - startedMs))
  host.stderr.write(withoutWords.map((sentence) => `${sentence}\n`).join(''))
  const compared = recordings.flatMap(({ comparison }, at) =>
    outcomes[at] === undefined || faults[at] !== undefined ? [] : (comparison ?? []),
  )
  if (compared.length > 0) {
    const errors = errorsOf(compared.flatMap((comparison) => comparison.texts()))
    host.stderr.write(countsLine(`${compared.length} ${compared.length === 1 ? 'recording' : 'recordings'}: `, errors))
  }
  host.stderr.write(problemsText(files, outcomes, faults))
  if (exit !== undefined) throw exit
  const codes = new Set(faults.filter((fault) => fault !== undefined).map((fault) => failureOf(fault).exitCode))
  const [code = exitCode.failed] = codes
  if (codes.size > 0) throw new SilentExit(codes.size === 1 ? code : exitCode.failed)
}

type Outcomes = Transcriptions['outcomes']

/** `11 of 12 recordings transcribed: 98.5 s of audio, 240 words, mean confidence 0.93, in 8.1 s`. */
const totalText = (outcomes: Outcomes, faults: readonly unknown[], elapsedMs: number): string => {
  const complete = outcomes.filter(
    (outcome, at): outcome is Outcome => outcome !== undefined && faults[at] === undefined,
  )
  const counts = outcomes.flatMap((outcome) => outcome?.counts ?? [])
  const audioMs = outcomes.reduce((sum, outcome) => sum + (outcome?.run?.audioMs ?? outcome?.sentMs ?? 0), 0)
  const numbers = [
    `${(audioMs / 1000).toFixed(1)} s of audio`,
    countsText(sumOfCounts(counts)),
    `in ${secondsText(elapsedMs)}`,
  ]
  return `${complete.length} of ${outcomes.length} recordings transcribed: ${numbers.join(', ')}\n`
}

/** How many names a line has. */
const maxNames = 20

const listed = (names: readonly string[]): string =>
  names.length <= maxNames
    ? names.join(', ')
    : `${names.slice(0, maxNames).join(', ')} and ${names.length - maxNames} more`

/** The recordings that failed, each with its code, and those that were not transcribed to their end. */
const problemsText = (files: readonly InputFile[], outcomes: Outcomes, faults: readonly unknown[]): string => {
  const failed = files.flatMap(({ file }, at) => {
    const fault = faults[at]
    if (fault === undefined || fault instanceof SilentExit) return []
    const code = failureCode(fault)
    return [`${inputName(file)}${code === undefined ? '' : ` (${code})`}`]
  })
  const unfinished = files.filter((_file, at) => outcomes[at] === undefined || faults[at] instanceof SilentExit)
  return [
    ...(failed.length === 0
      ? []
      : [`rxspeech: ${failed.length} of ${files.length} recordings failed: ${listed(failed)}.\n`]),
    ...(unfinished.length === 0
      ? []
      : [`rxspeech: Not transcribed to the end: ${listed(unfinished.map(({ file }) => inputName(file)))}.\n`]),
  ].join('')
}
