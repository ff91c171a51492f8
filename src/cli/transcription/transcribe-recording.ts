import { open } from 'node:fs/promises'
import { Subject } from 'rxjs'
import { SilentExit, CommandError } from '../process/failure.js'
import { signalExitCode, type Host } from '../process/host.js'
import { atTakenRate, type Pace, type SendableAudio } from '../input/sendable-audio.js'
import { openInput, type AudioInput, type InputRequest } from '../input/open-input.js'
import { acquire, watchInterruption } from '../process/interruption.js'
import type { Output } from '../process/output.js'
import { openSession } from '../service/open-session.js'
import { reachService, type ServicePlan } from '../service/reach-service.js'
import { runTranscription } from './run-transcription.js'
import { summaryLine, TranscriptReader, type RunSummary } from '../view/transcript-reader.js'
import { clockText } from '../view/transcript-line.js'
import type { View } from '../view/view.js'
import type { CassetteLoss } from '../../cassette/record/line-queue.js'
import type { RecordedSession } from '../../cassette/record/record.js'
import { codeOf } from '../../errors/speech-error.js'

/** The recording, the service and the speed of a transcription. */
export interface TranscriptionPlan {
  readonly input: InputRequest
  readonly service: ServicePlan
  readonly over: 'grpc' | 'websocket'
  readonly pace: Pace
  readonly timeoutMs?: number | undefined
  /** The file to which the session is recorded. */
  readonly record?: string | undefined
}

/** Opens the view of the session, once the format of the audio is known. */
export type OpenView = (
  audio: Pick<AudioInput, 'format' | 'durationMs'>,
  reader: TranscriptReader,
) => Promise<View> | View

/** How long a command waits after a signal for the results of the audio it has sent. */
const lastResultsWithinMs = 3_000

/**
 * Transcribes one recording: opens it, reaches the service, runs the session, shows it, and closes all of that however
 * it ends. Resolves with the summary. Rejects with the first failure; a recording that ends prematurely is transcribed
 * up to there, and then fails. The first signal ends the audio, and the command when the results of the sent audio have
 * arrived, after 3 s at the latest; the second one ends it at once.
 */
export const transcribeRecording = async (
  { input: request, service: plan, over, pace, timeoutMs, record }: TranscriptionPlan,
  openView: OpenView,
  host: Host,
  output: Output,
): Promise<string> => {
  const finalize$ = new Subject<void>()
  let isEndedEarly = false
  const asked: { exit?: SilentExit } = {}
  const tooLate = new AbortController()
  let deadline: NodeJS.Timeout | undefined
  const interruption = watchInterruption(host, {
    also: AbortSignal.any([output.closed, tooLate.signal]),
    first: (signal) => {
      isEndedEarly = finalize$.observed
      if (!isEndedEarly) return false
      // Ctrl-C is the normal end of live audio from a pipe.
      if (signal !== 'SIGINT' || request.file !== '-') {
        const silentExit = new SilentExit(signalExitCode(signal))
        asked.exit = silentExit
        deadline = setTimeout(() => tooLate.abort(silentExit), lastResultsWithinMs)
      }
      finalize$.next()
      return true
    },
  })
  const opened: (() => Promise<void> | void)[] = [interruption.release, () => clearTimeout(deadline)]
  try {
    const input = await acquire(openInput(request, host, interruption.signal), interruption.signal)
    opened.push(input.close)
    const audio: SendableAudio = atTakenRate(input)
    const reached = await acquire(reachService(plan, host), interruption.signal)
    opened.push(reached.close)
    const cassette = record === undefined ? undefined : await openCassetteFile(record)
    if (cassette !== undefined) opened.push(cassette.close)
    const session = await openSession({
      access: reached.access,
      over,
      format: audio.format,
      finalize$,
      timeoutMs,
      record: cassette?.record,
    })
    const reader = new TranscriptReader()
    const view = await openView(input, reader)
    opened.push(view.end)
    const run: RunSummary = await runTranscription({
      audio,
      session,
      view,
      pace,
      whenWritable: output.whenWritable,
      interruption: interruption.signal,
      isEndedEarly: () => isEndedEarly,
    })
    view.end()
    if (asked.exit !== undefined) {
      const summary = summaryLine(reader.counts(), run)
      host.stderr.write(`${summary}, interrupted at ${clockText(run.audioMs).replace(/\.\d$/, '')}\n`)
      throw asked.exit
    }
    const fault = input.fault() ?? cassette?.fault()
    if (fault !== undefined) throw fault
    return summaryLine(reader.counts(), run)
  } finally {
    for (const close of opened.reverse()) await close()
  }
}

/** A cassette file to which the session of a command is recorded. */
interface CassetteFile {
  readonly record: RecordedSession
  /** The error for missing lines, if any: the command fails with it. */
  readonly fault: () => CommandError | undefined
  /** Resolves when the file is closed. */
  readonly close: () => Promise<void>
}

/** Rejects if the file cannot be written, before a session is opened. */
const openCassetteFile = async (path: string): Promise<CassetteFile> => {
  const [{ record }, { toFile }] = await Promise.all([
    import('../../cassette/record/record.js'),
    import('../../cassette/record/sink.js'),
  ])
  await (await open(path, 'w', 0o600).catch((error: unknown) => Promise.reject(unwritable(path, error)))).close()
  const file = toFile(path)
  let loss: CassetteLoss | undefined
  let ended: void | PromiseLike<void>
  return {
    record: record(
      {
        open: () => {
          const { write, end } = file.open()
          return { write, end: () => (ended = end?.()) }
        },
      },
      {
        onLoss: (reported) => {
          loss ??= reported
        },
      },
    ),
    fault: () =>
      loss === undefined
        ? undefined
        : new CommandError(`${path} misses ${loss.lines} lines of the session (${loss.cause}); check the disk.`),
    close: async () => {
      // A failure has been reported as a loss.
      await Promise.resolve(ended).catch(() => undefined)
    },
  }
}

const unwritable = (path: string, error: unknown): CommandError => {
  const code = codeOf(error) ?? 'unknown'
  return new CommandError(`${path} cannot be written (${code}); choose another file for --record.`)
}
