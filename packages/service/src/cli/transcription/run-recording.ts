import { Subject } from 'rxjs'
import type { ProxyOption } from 'rxspeech/internal/protocol/proxy-option'
import { openMerged } from '../input/merge-inputs.js'
import { openInput, type AudioInput, type InputRequest } from '../input/open-input.js'
import { atTakenRate, type Pace, type SendableAudio } from '../input/sendable-audio.js'
import type { SilentExit } from '../process/failure.js'
import type { Host } from '../process/host.js'
import { acquire } from '../process/interruption.js'
import { openSession } from '../service/open-session.js'
import type { reachService, ServicePlan } from '../service/reach-service.js'
import type { Pane } from '../view/panes.js'
import { downloadLine, startingLine, withProgress, type ProgressLine } from '../view/progress.js'
import { TranscriptReader, type RunSummary, type TranscriptCounts } from '../view/transcript-reader.js'
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

/** What all recordings share. */
export interface TranscriptionRun {
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

/** The ways in which a recording ends before its audio does. */
export class RunningRecording {
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
export const runRecording = async (
  run: TranscriptionRun,
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
