import { Subject } from 'rxjs'
import { acquire } from '../process/acquire.js'
import { QuietEnd } from '../process/failure.js'
import { signalExitCode, type Host } from '../process/host.js'
import { atTakenRate, type Pace, type SendableAudio } from '../input/sendable-audio.js'
import { openInput, type AudioInput, type InputRequest } from '../input/open-input.js'
import { watchInterruption } from '../process/interruption.js'
import type { Output } from '../process/output.js'
import { openSession, type SessionRequest } from '../service/open-session.js'
import { reachService } from '../service/reach-service.js'
import type { ServicePlan } from '../service/service-plan.js'
import { openCassetteFile, type CassetteFile } from './cassette-file.js'
import { runTranscription } from './run-transcription.js'
import { summaryLine, type Work } from '../view/summary.js'
import { TranscriptReader } from '../view/transcript-reader.js'
import type { View } from '../view/view.js'

export interface Recording {
  readonly input: InputRequest
  readonly service: ServicePlan
  readonly over: 'grpc' | 'websocket'
  readonly pace: Pace
  readonly timeoutMs?: number
  /** The file to which the session is written. */
  readonly record?: string
}

/** Opens what shows the session, once it is known what the audio is. */
export type OpenView = (
  audio: Pick<AudioInput, 'format' | 'durationMs'>,
  reader: TranscriptReader,
) => Promise<View> | View

/** How long a command that is told to end waits for the words of what it has sent, in milliseconds. */
const lastWordsWithinMs = 3_000

/**
 * Transcribes one recording: opens it, reaches the service, runs the session, shows it, and lets go of all of that
 * however it ends. Gives the summary. Rejects with the first thing that failed; a recording that broke off is
 * transcribed as far as it goes, and then is that. The first signal ends the audio, and the command when the words of what was
 * sent are there, at the latest after 3 s; the second one ends it at once.
 */
export const transcribeRecording = async (
  { input: request, service: plan, over, pace, timeoutMs, record }: Recording,
  openView: OpenView,
  host: Host,
  output: Output,
): Promise<string> => {
  const finalize$ = new Subject<void>()
  let endedEarly = false
  const told: { toEndBy?: QuietEnd } = {}
  const tooLate = new AbortController()
  let deadline: NodeJS.Timeout | undefined
  const interruption = watchInterruption(host, {
    also: AbortSignal.any([output.gone, tooLate.signal]),
    // What was said until then is worth its words, if they come soon.
    first: (signal) => {
      endedEarly = finalize$.observed
      if (!endedEarly) return false
      // Who speaks into a pipe ends it so.
      if (signal !== 'SIGINT' || request.file !== '-') {
        const quietEnd = new QuietEnd(signalExitCode(signal))
        told.toEndBy = quietEnd
        deadline = setTimeout(() => tooLate.abort(quietEnd), lastWordsWithinMs)
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
    const asked = { access: reached.access, over, format: audio.format, finalize$ }
    const session = await openSession(requestOf(asked, timeoutMs, cassette))
    const reader = new TranscriptReader()
    const view = await openView(input, reader)
    opened.push(view.end)
    const work: Work = await runTranscription({
      audio,
      session,
      view,
      pace,
      room: output.room,
      interruption: interruption.signal,
      endedEarly: () => endedEarly,
    })
    view.end()
    if (told.toEndBy !== undefined) throw told.toEndBy
    const fault = input.fault() ?? cassette?.fault()
    if (fault !== undefined) throw fault
    return summaryLine(reader.tally(), work)
  } finally {
    for (const close of opened.reverse()) await close()
  }
}

/** What was not given is left to the session. */
const requestOf = (
  asked: Omit<SessionRequest, 'timeoutMs' | 'record'>,
  timeoutMs: number | undefined,
  cassette: CassetteFile | undefined,
): SessionRequest => ({
  ...asked,
  ...(timeoutMs === undefined ? {} : { timeoutMs }),
  ...(cassette === undefined ? {} : { record: cassette.record }),
})
