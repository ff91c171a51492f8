import { existsSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { map } from 'rxjs'
import type { InputFile } from '../input/recordings-in-folder.js'
import { exitCode, failureOf, SilentExit } from '../process/failure.js'
import type { Host } from '../process/host.js'
import type { Output } from '../process/output.js'
import { defaultColumns } from '../view/live-screen.js'
import { plainText } from '../view/plain-text.js'
import { formatExtensions } from '../view/format-view.js'
import { RecordingOutput, type OutputPlan } from './recording-output.js'
import type { Recording, TranscriptionPlan } from './run-recording.js'
import { transcribeRecordings } from './transcribe-recordings.js'
import { changedMs, FolderScan, watchFolder } from './watch-folder.js'

interface Plan extends TranscriptionPlan, OutputPlan {
  readonly jobs: number
  readonly watch: string
}

/**
 * Transcribes the recordings of a folder as they come, until a signal. The transcripts are the record of what is done:
 * one that is not older than its recording is kept. It has the time at which the recording was complete, so that one
 * which has changed since then is newer. Rejects with the error that the command ends with; a signal is its normal end.
 */
export const runWatch = async (plan: Plan, host: Host, output: Output): Promise<void> => {
  const outputDir = plan.outputDir ?? plan.watch
  const pathOf = ({ stem }: InputFile): string => join(outputDir, `${stem}.${formatExtensions[plan.format]}`)
  const scan = new FolderScan({ folder: plan.watch, transcribedMs: (file) => changedMs(pathOf(file)) })
  const note = (sentence: string): void => void host.stderr.write(`rxspeech: ${sentence}\n`)
  note(`Watching ${plainText(plan.watch)} for recordings; Ctrl-C ends it.`)
  const errorsStyle = { paint: (_color: unknown, text: string) => text, columns: defaultColumns }
  const recording$ = watchFolder(scan, (error) => note(failureOf(error).sentence ?? '')).pipe(
    map((file): Recording => {
      const completeMs = Math.max(Date.now(), Math.ceil(changedMs(file.file) ?? 0))
      const recording = new RecordingOutput(
        { ...plan, outputDir, keepsIncomplete: false },
        { ...file, isOneOfSeveral: true, isLast: false },
        { output, paint: errorsStyle.paint, errorsStyle },
      )
      const ended: Recording['ended'] = (outcome, pane) => {
        scan.ended(file.file)
        // It was removed or renamed before its turn, under which name it comes again.
        if (outcome.sentMs === undefined && !existsSync(file.file)) return
        recording.ended(outcome, pane)
        if ((outcome.error ?? recording.fault()) === undefined) setChanged(pathOf(file), completeMs)
      }
      return { input: recording.input, openView: recording.openView, whenWritable: recording.whenWritable, ended }
    }),
  )
  const { tally, exit, isStopped } = await transcribeRecordings(plan, recording$, host, output)
  await output.flushed()
  const failed = tally.failed === 0 ? '' : `, ${tally.failed} failed`
  const done = tally.ended - tally.failed - tally.interrupted
  note(`${done} ${done === 1 ? 'recording' : 'recordings'} transcribed${failed}.`)
  if (output.closed.aborted) throw exit ?? new SilentExit(exitCode.done)
  if (exit === undefined && isStopped) throw new SilentExit(exitCode.failed)
}

const setChanged = (path: string, ms: number): void => {
  try {
    utimesSync(path, ms / 1000, ms / 1000)
  } catch {
    // It was moved at once; without it the recording is new again, as it is for a file system without times.
  }
}
