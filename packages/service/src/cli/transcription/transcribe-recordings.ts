import {
  defer,
  from,
  ignoreElements,
  isObservable,
  lastValueFrom,
  mergeMap,
  Subject,
  takeUntil,
  type Observable,
} from 'rxjs'
import { inputName } from '../input/input-name.js'
import { SilentExit } from '../process/failure.js'
import { signalExitCode, type Host } from '../process/host.js'
import { acquire, watchInterruption } from '../process/interruption.js'
import { openKeyboard } from '../process/keyboard.js'
import type { Output } from '../process/output.js'
import { reachService } from '../service/reach-service.js'
import { LiveScreen } from '../view/live-screen.js'
import { Panes } from '../view/panes.js'
import { loadProgressLine } from '../view/progress.js'
import { statusLine, type Tally } from '../view/status-line.js'
import { summaryLine } from '../view/transcript-reader.js'
import { interruptedText, withoutWordsText } from './outcome-text.js'
import {
  runRecording,
  RunningRecording,
  type Outcome,
  type Recording,
  type TranscriptionPlan,
  type TranscriptionRun,
} from './run-recording.js'

export interface Transcriptions {
  /** In the order of the recordings; undefined for one that was not begun. Those that come one by one are not kept. */
  readonly outcomes: readonly (Outcome | undefined)[]
  /** How many have ended, and how many of them failed. */
  readonly tally: Tally
  /** Whether the service could not be reached. */
  readonly isStopped: boolean
  /** The error that the command ends with if a signal or its output ended it. */
  readonly exit: Error | undefined
  /** Sentences for recordings of which none has words. */
  readonly withoutWords: readonly string[]
}

/** How long a command waits after a signal for the results of the audio it has sent. */
const lastResultsWithinMs = 3_000

/**
 * Transcribes recordings, `jobs` at a time, and shows them in their order. A recording that fails does not end the
 * others, unless the service cannot be reached at all; one that ends prematurely is transcribed up to there, and then
 * fails. The first signal begins no further recording and ends the audio of the running ones, and the command when the
 * results of the sent audio have arrived, after 3 s at the latest; the second one ends it with the results so far, the
 * third one at once.
 */
export const transcribeRecordings = async (
  plan: TranscriptionPlan & { readonly jobs: number },
  recordings: readonly Recording[] | Observable<Recording>,
  host: Host,
  output: Output,
): Promise<Transcriptions> => {
  const listed = isObservable(recordings) ? undefined : recordings
  const isOnly = listed?.length === 1
  // Before signals are handled: from then on nothing waits until the run can be interrupted.
  const progressLine = await loadProgressLine()
  const running = new Set<RunningRecording>()
  const stopped$ = new Subject<void>()
  const isLive = isOnly && listed[0]?.input.file === '-'
  const tooLate = new AbortController()
  let deadline: NodeJS.Timeout | undefined
  let exit: Error | undefined
  const interruption = watchInterruption(host, {
    also: AbortSignal.any([output.closed, tooLate.signal]),
    first: (signal) => {
      run.stop()
      const silentExit = new SilentExit(signalExitCode(signal))
      // Ctrl-C is the normal end of live audio from a pipe.
      const isNormalEnd = isLive && signal === 'SIGINT'
      const ending = [...running].filter((one) => one.endAudio(silentExit, isNormalEnd))
      if (ending.length === 0) return false
      if (!isNormalEnd) {
        exit = silentExit
        deadline = setTimeout(() => tooLate.abort(silentExit), lastResultsWithinMs)
      }
      return true
    },
    second: (signal) => tooLate.abort(new SilentExit(signalExitCode(signal))),
  })
  interruption.signal.addEventListener('abort', () => {
    for (const one of running) one.abort(interruption.signal.reason as Error)
  })
  let reached: ReturnType<typeof reachService> | undefined
  const run: TranscriptionRun = {
    plan,
    host,
    reach: () => (reached ??= acquire(reachService(plan.service, host), interruption.signal)),
    progressLine,
    hasConnected: false,
    isStopped: false,
    stop: () => {
      run.isStopped = true
      stopped$.next()
    },
  }
  const outcomes: (Outcome | undefined)[] = listed?.map(() => undefined) ?? []
  const tally: Tally = { ended: 0, failed: 0, interrupted: 0, total: listed?.length, startedMs: performance.now() }
  const screen = new LiveScreen({ out: output.terminal, err: host.stderr, env: host.env })
  // What is typed does not appear among lines that change.
  const keyboard =
    screen.showsLive || screen.showsProgress ? openKeyboard(host, { suspending: () => screen.clear() }) : undefined
  const panes = new Panes({
    screen,
    status: isOnly ? undefined : (hidden, columns) => statusLine(tally, { running: running.size, hidden }, columns),
  })
  const begun$ = from(recordings).pipe(takeUntil(stopped$))
  // Nothing that changes is left on the screen if the process ends at once.
  const offExit = host.onExit(() => panes.end())
  const transcribe = async (recording: Recording, at: number): Promise<void> => {
    if (run.isStopped || interruption.signal.aborted) return
    const one = new RunningRecording()
    running.add(one)
    const pane = panes.open()
    const name = isOnly ? undefined : inputName(recording.input.file)
    const outcome = await runRecording(run, recording, one, pane, name)
    running.delete(one)
    tally.ended += 1
    if (outcome.error instanceof SilentExit) tally.interrupted += 1
    else if (outcome.error !== undefined) tally.failed += 1
    if (listed !== undefined) outcomes[at] = outcome
    recording.ended(outcome, pane)
    pane.end()
  }
  try {
    await lastValueFrom(
      begun$.pipe(
        mergeMap((recording, at) => defer(() => transcribe(recording, at)), plan.jobs),
        ignoreElements(),
      ),
      { defaultValue: undefined },
    )
    return {
      outcomes,
      tally,
      isStopped: run.isStopped,
      exit: interruption.signal.aborted ? (interruption.signal.reason as Error) : exit,
      withoutWords: withoutWordsText(outcomes, (await reached?.catch(() => undefined))?.model),
    }
  } finally {
    panes.end()
    keyboard?.close()
    offExit()
    await reached?.then(({ close }) => close()).catch(() => undefined)
    clearTimeout(deadline)
    interruption.release()
  }
}

/**
 * Transcribes one recording. Resolves with its summary, or rejects with the error that the command ends with; the
 * summary of a recording that a signal has ended goes to stderr.
 */
export const transcribeRecording = async (
  plan: TranscriptionPlan,
  recording: Recording,
  host: Host,
  output: Output,
): Promise<string> => {
  const { outcomes, exit, withoutWords } = await transcribeRecordings({ ...plan, jobs: 1 }, [recording], host, output)
  const [outcome] = outcomes
  const error = outcome?.error ?? exit
  if (error === undefined) {
    return outcome?.run === undefined ? '' : [summaryLine(outcome.counts, outcome.run), ...withoutWords].join('\n')
  }
  const text = error instanceof SilentExit && outcome !== undefined ? interruptedText(outcome, error) : ''
  if (text !== '') host.stderr.write(`${text}\n`)
  throw error
}
