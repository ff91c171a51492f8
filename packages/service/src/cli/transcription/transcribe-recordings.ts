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
import { openMerged } from '../input/merge-inputs.js'
import { openInput, type AudioInput, type InputRequest } from '../input/open-input.js'
import { atTakenRate, type Pace, type SendableAudio } from '../input/sendable-audio.js'
import type { ProxyOption } from 'rxspeech/internal/protocol/proxy-option'
import type { ModelDescription } from 'rxspeech-engines/engine'
import { isGrammarModel, whatItReads } from 'rxspeech-engines/models/what-it-reads'
import { exitCode, SilentExit } from '../process/failure.js'
import { signalExitCode, type Host } from '../process/host.js'
import { acquire, watchInterruption } from '../process/interruption.js'
import { openKeyboard } from '../process/keyboard.js'
import type { Output } from '../process/output.js'
import { embeddedModel, missingEmbeddedModel } from '../process/package-files.js'
import { openSession } from '../service/open-session.js'
import { reachService, type ServicePlan } from '../service/reach-service.js'
import { LiveScreen } from '../view/live-screen.js'
import { Panes, type Pane } from '../view/panes.js'
import { statusLine, type Tally } from '../view/status-line.js'
import { downloadLine, loadProgressLine, startingLine, withProgress, type ProgressLine } from '../view/progress.js'
import {
  secondsText,
  summaryLine,
  TranscriptReader,
  type RunSummary,
  type TranscriptCounts,
} from '../view/transcript-reader.js'
import type { View } from '../view/view.js'
import { openCassetteFile } from './cassette-file.js'
import { runTranscription } from './run-transcription.js'

/** The service and the speed of transcriptions. */
export interface TranscriptionPlan {
  readonly service: ServicePlan
  readonly over: 'grpc' | 'websocket'
  /** The proxy of recordings that have an address; false for none. @default the environment */
  readonly proxy?: ProxyOption | undefined
  readonly pace: Pace
  /** The language of the speech. @default that of the model */
  readonly language?: string | undefined
  /** Sentences that are recognized in addition to those of the model. */
  readonly phrases?: readonly string[] | undefined
  readonly timeoutMs?: number | undefined
  /** The file to which the session of the only recording is recorded. */
  readonly record?: string | undefined
}

/** A recording, and what shows its session. */
export interface Recording {
  readonly input: InputRequest
  /** A second recording of one channel, which is the other channel of a call. */
  readonly mergedWith?: string | undefined
  /** Opens the view of the session, once the format of the audio is known. */
  readonly openView: (
    audio: Pick<AudioInput, 'format' | 'isLive'>,
    reader: TranscriptReader,
    pane: Pane,
  ) => Promise<View> | View
  /** Resolves when the output of the view can take more; undefined when it can now. */
  readonly whenWritable: () => Promise<void> | undefined
  /** Called when the recording has ended, before the text of the next one appears. */
  readonly ended: (outcome: Outcome, pane: Pane) => void
}

/** How the transcription of a recording ended. */
export interface Outcome {
  readonly counts: TranscriptCounts
  /** Undefined unless the session ran to its end. */
  readonly run?: RunSummary | undefined
  /** How much audio has been sent; undefined if no session began. */
  readonly sentMs?: number | undefined
  /** Why it failed, if it did; a `SilentExit` if the command was ended before the recording. */
  readonly error?: Error | undefined
}

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

/** What all recordings share. */
interface Run {
  readonly plan: TranscriptionPlan
  readonly host: Host
  /** Starts or reaches the service when the first recording needs it. */
  readonly reach: () => ReturnType<typeof reachService>
  readonly progressLine: ProgressLine | undefined
  /** Whether a session has reached the service, and whether further recordings are begun. */
  hasConnected: boolean
  isStopped: boolean
  /** Begins no further recording. */
  readonly stop: () => void
}

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
  const run: Run = {
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

/**
 * `interrupted at 12.9 s` of the audio, and the numbers of what was transcribed. Empty if no session had begun, or if
 * the reader of the output has enough of it.
 */
export const interruptedText = ({ counts, run, sentMs }: Outcome, exit: SilentExit): string => {
  if (exit.exitCode === exitCode.done) return ''
  if (run !== undefined) return summaryLine(counts, run).replace(/^(.*?) of audio/, 'interrupted at $1')
  return sentMs === undefined ? '' : `interrupted at ${secondsText(sentMs)}, without the results of its last audio`
}

/** Why complete recordings have no words: a grammar that is not theirs, or no speech. */
export const withoutWordsText = (
  outcomes: Transcriptions['outcomes'],
  model: ModelDescription | undefined,
): readonly string[] => {
  const isEmpty = outcomes.every((outcome) => outcome?.run !== undefined && outcome.counts.words === 0)
  if (!isEmpty || model === undefined) return []
  if (!isGrammarModel(model.options)) return ['rxspeech: No speech was found.']
  const install = missingEmbeddedModel() === undefined ? '' : `, after npm install ${embeddedModel.package}`
  return [
    `rxspeech: The model ${model.name} recognizes ${whatItReads(model.options)} only, and found none. ` +
      `For any English speech take --model ${embeddedModel.name}${install}.`,
  ]
}

/** The ways in which a recording ends before its audio does. */
class RunningRecording {
  readonly #finalize$ = new Subject<void>()
  readonly finalize$ = this.#finalize$.asObservable()
  /** Why it fails although its session ends in an orderly way. */
  exit: SilentExit | undefined
  isEndedEarly = false
  readonly #abort = new AbortController()
  readonly signal = this.#abort.signal

  /** Ends the audio, so that its last results arrive. Returns false if there is no session yet, and ends at once. */
  endAudio(exit: SilentExit, isNormalEnd: boolean): boolean {
    this.isEndedEarly = this.#finalize$.observed
    if (!this.isEndedEarly) {
      this.abort(exit)
      return false
    }
    if (!isNormalEnd) this.exit = exit
    this.#finalize$.next()
    return true
  }

  /** Ends the recording at once. */
  abort(reason: Error): void {
    this.#abort.abort(reason)
  }
}

/** Opens the recording, reaches the service, runs and shows the session, and closes all but the service. */
const runRecording = async (
  run: Run,
  { input: request, mergedWith, openView, whenWritable }: Recording,
  running: RunningRecording,
  pane: Pane,
  name: string | undefined,
): Promise<Outcome> => {
  const { host, progressLine } = run
  const { over, pace, language, phrases, timeoutMs, record } = run.plan
  const { finalize$, signal } = running
  const opened: (() => Promise<void> | void)[] = []
  const reader = new TranscriptReader()
  if (name !== undefined) pane.show({ progress: (columns) => startingLine(name, columns) })
  // A failure there is one of the service rather than of the recording.
  let isAtService = false
  let sentMs: number | undefined
  try {
    const onDownload = (doneBytes: number, totalBytes: number | undefined): void =>
      pane.show({ progress: (columns) => downloadLine(name, doneBytes, totalBytes, columns) })
    const opening = { signal, proxy: run.plan.proxy, onDownload }
    const input = await acquire(
      mergedWith === undefined
        ? openInput(request, host, opening)
        : openMerged([request.file, mergedWith], request.raw, host, opening),
      signal,
    )
    opened.push(input.close)
    const audio: SendableAudio = atTakenRate(input)
    isAtService = true
    const { access } = await run.reach()
    isAtService = false
    const cassette = record === undefined ? undefined : await openCassetteFile(record)
    if (cassette !== undefined) opened.push(cassette.close)
    const session = await openSession({
      access,
      over,
      format: audio.format,
      finalize$,
      language,
      phrases,
      timeoutMs,
      record: cassette?.record,
    })
    const ownView = await openView(input, reader, pane)
    const follow = pace.speed === Infinity ? 'results' : 'sent'
    const view =
      progressLine === undefined
        ? ownView
        : withProgress(ownView, pane, { progressLine, name, totalMs: input.durationMs, follow })
    opened.push(view.end)
    isAtService = true
    const summary = await runTranscription({
      audio,
      session,
      pace,
      whenWritable,
      view: {
        ...view,
        sent: (audioMs) => {
          sentMs = audioMs
          view.sent(audioMs)
        },
      },
      interruption: signal,
      connected: () => {
        run.hasConnected = true
      },
      isEndedEarly: () => running.isEndedEarly,
    })
    view.end()
    return { counts: reader.counts(), run: summary, sentMs, error: running.exit ?? input.fault() ?? cassette?.fault() }
  } catch (error) {
    if (isAtService && !run.hasConnected) run.stop()
    return { counts: reader.counts(), sentMs, error: error instanceof Error ? error : new Error(String(error)) }
  } finally {
    for (const close of opened.reverse()) await close()
  }
}
