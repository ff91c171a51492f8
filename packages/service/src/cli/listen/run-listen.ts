import { basename } from 'node:path'
import { catchError, defer, EMPTY, map, type Observable, tap } from 'rxjs'
import { msForBytes } from 'rxspeech/internal/audio/format'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { commandMicrophone } from 'rxspeech/internal/microphone/command-microphone'
import { isResult } from 'rxspeech/internal/operators/results/transcript'
import { failureOf, SilentExit, usageError } from '../process/failure.js'
import { signalExitCode, type Host } from '../process/host.js'
import { acquire, watchInterruption } from '../process/interruption.js'
import { openKeyboard, type Keyboard } from '../process/keyboard.js'
import type { Output } from '../process/output.js'
import { openSession } from '../service/open-session.js'
import { reachService, type ServicePlan } from '../service/reach-service.js'
import { openCassetteFile } from '../transcription/cassette-file.js'
import { runLiveTranscription } from '../transcription/run-transcription.js'
import { withoutWordsText } from '../transcription/outcome-text.js'
import { LiveScreen } from '../view/live-screen.js'
import { paintFor } from '../view/paint.js'
import { Panes, type Pane } from '../view/panes.js'
import { Segments } from '../view/segments.js'
import { secondsText } from '../view/plain-text.js'
import { countsText } from '../view/transcript-reader.js'
import { findClipboard, type Clipboard } from './clipboard.js'
import { type ListenOutputPlan, openListenViews } from './listen-views.js'
import { Listener } from './listener.js'
import { ProgramRunner } from './program-runner.js'
import { otherDevice, recorderCommand, recordingFailure } from './recorder.js'
import { callsFor, type SpokenCommand } from './spoken-command.js'
import { statusLine } from './status-line.js'

/** The checked plan of `listen`. */
export interface ListenPlan extends ListenOutputPlan {
  readonly service: ServicePlan
  readonly over: 'grpc' | 'websocket'
  readonly language?: string | undefined
  readonly phrases?: readonly string[] | undefined
  readonly timeoutMs?: number | undefined
  readonly record?: string | undefined
  readonly recorder?: string | undefined
  readonly device?: string | undefined
  readonly isPushToTalk: boolean
  readonly hasClipboard: boolean
  readonly commands: readonly SpokenCommand[]
}

const format = { encoding: 'pcm', sampleRateHz: 16_000, channels: 1 } as const
/** The length of a piece of `commandMicrophone`. */
const pieceMs = 20
/** How far the audio of a recorder may be ahead of the time: less than a session buffers. */
const maxAheadMs = 20_000
/** How long the last results may take after a signal other than that of Ctrl-C. */
const lastResultsWithinMs = 3_000
/** After how much audio with nothing but zeros the microphone is reported as silent. */
const silentMs = 4_000

const withoutClipboard =
  'There is no clipboard here: install wl-copy, xclip or xsel, or use a terminal; or write the text to a file with --output.'
const withoutKeyboard =
  '--push-to-talk needs a terminal, whose space bar it uses; leave it out, or do not redirect standard input.'
const tooFast =
  'The recorder delivers audio faster than a microphone does; it must write 16-bit PCM of 16000 Hz, mono. Recordings are for rxspeech transcribe.'
const onlyZeros = (command: readonly string[]): string =>
  `The microphone delivers nothing but silence; turn it on, allow this terminal to use it, or ${otherDevice(command)}.`

/**
 * Listens until a key, a signal or the recorder ends the audio, and then waits for the last words. Rejects with the
 * error that the command ends with; what was said until then has been written.
 */
export const runListen = async (plan: ListenPlan, host: Host, output: Output): Promise<void> => {
  const command = recorderCommand({ ...plan, sampleRateHz: format.sampleRateHz }, host)
  const terminal = output.terminal.isTTY === true ? output.terminal : host.stderr
  const clipboard = findClipboard(host.env, terminal)
  if (plan.hasClipboard && clipboard === undefined) throw usageError(withoutClipboard)
  const listener = new Listener(plan)
  const segments = new Segments()
  const screen = new LiveScreen({ out: output.terminal, err: host.stderr, env: host.env })
  const panes = new Panes({ screen })
  const pane = panes.open()
  const note = (line: string): void => pane.note(`${line}\n`)
  const programs = new ProgramRunner(note)
  let exit: SilentExit | undefined
  const abort = new AbortController()
  let deadline: NodeJS.Timeout | undefined
  const interruption = watchInterruption(host, {
    also: AbortSignal.any([output.closed, abort.signal]),
    first: (signal) => {
      if (!listener.finish()) return false
      if (signal === 'SIGINT') return true
      const silentExit = new SilentExit(signalExitCode(signal))
      exit = silentExit
      deadline = setTimeout(() => abort.abort(silentExit), lastResultsWithinMs)
      return true
    },
  })
  const keyboard = openKeys(host, screen, (key) => {
    if (key === ' ') listener.pressSpace()
    else if (key === 'm') listener.toggleMute()
    else if (key === 'c')
      void copyText(clipboard, segments.text(), note).catch((error: unknown) =>
        note(`rxspeech: ${failureOf(error).sentence ?? ''}`),
      )
    else if (endKeys.has(key)) host.raise('SIGINT')
    pane.refresh()
  })
  const offExit = host.onExit(() => {
    panes.end()
    keyboard?.close()
    programs.kill()
  })
  const opened: (() => unknown)[] = [
    offExit,
    interruption.release,
    () => clearTimeout(deadline),
    () => keyboard?.close(),
    () => panes.end(),
    () => listener.end(),
    () => programs.kill(),
  ]
  try {
    if (plan.isPushToTalk && keyboard === undefined) throw usageError(withoutKeyboard)
    const position = { audioMs: 0 }
    showStatus(pane, listener, position, host, keyboard !== undefined, plan.isPushToTalk)
    pane.refresh()
    const { access, model, close } = await acquire(reachService(plan.service, host), interruption.signal)
    opened.push(close)
    const cassette = plan.record === undefined ? undefined : await openCassetteFile(plan.record)
    if (cassette !== undefined) opened.push(cassette.close)
    const session = await openSession({
      ...plan,
      access,
      format,
      finalize$: listener.finalize$,
      record: cassette?.record,
    })
    const views = openListenViews(plan, pane, paintFor(host.stdout, host.env))
    opened.push(views.close, views.end)
    const recording = record(command, listener, () => note(`rxspeech: ${onlyZeros(command)}`))
    opened.push(recording.close)
    const run = await runLiveTranscription({
      audio$: recording.audio$.pipe(
        catchError((error: unknown) => {
          recording.fail(error)
          if (position.audioMs === 0) abort.abort(recording.fault())
          return EMPTY
        }),
      ),
      format,
      session,
      interruption: interruption.signal,
      connected: () => listener.begin(),
      isEndedEarly: () => listener.state === 'finishing',
      view: {
        event: (event, transcript) => {
          views.event(event, transcript)
          if (!isResult(event)) return
          segments.take(event)
          if (event.type === 'milestone') for (const call of callsFor(plan.commands, event)) programs.run(call)
        },
        sent: (audioMs) => {
          position.audioMs = audioMs
          views.sent(audioMs)
        },
        end: views.end,
      },
    })
    views.end()
    const fault = recording.fault()
    if (fault === undefined) views.finish(segments, run.audioMs)
    await programs.end()
    pane.end()
    const counts = views.reader.counts()
    const summary = [
      ...(recording.hasEnded() ? [`The recorder ended by itself: ${basename(command[0] ?? '')}.`] : []),
      `${secondsText(run.audioMs)} of audio, ${countsText(counts)}`,
      ...withoutWordsText([{ counts, run }], model),
    ]
    screen.note(summary.map((line) => `${line}\n`).join(''))
    const failure = views.fault() ?? cassette?.fault()
    if (failure !== undefined) throw failure
    const say = (line: string): void => screen.note(`${line}\n`)
    if (plan.output !== undefined && fault === undefined) say(`The transcript is in ${plan.output}.`)
    if (plan.hasClipboard) await copyText(clipboard, segments.text(), say)
    if (fault !== undefined) throw fault
    if (exit !== undefined) throw exit
  } finally {
    for (const close of opened.reverse()) await close()
  }
}

/** q, Escape and Ctrl-D, which ends the input of a terminal. */
const endKeys: ReadonlySet<string> = new Set(['q', '\u001b', '\u0004'])

/** The keys of a terminal, which hides its cursor; a pasted text or the sequence of a special key is no key. */
const openKeys = (host: Host, screen: LiveScreen, onKey: (key: string) => void): Keyboard | undefined => {
  const showCursor = (isShown: boolean): void => {
    if (screen.showsLive) host.stdout.write(`\u001b[?25${isShown ? 'h' : 'l'}`)
    else if (screen.showsProgress) host.stderr.write(`\u001b[?25${isShown ? 'h' : 'l'}`)
  }
  const keyboard = openKeyboard(host, {
    key: (typed) => {
      // Of a held key several may come at once.
      if (/^ +$/.test(typed)) for (const key of typed) onKey(key)
      else if (typed.length === 1) onKey(typed.toLowerCase())
    },
    suspending: () => {
      screen.clear()
      showCursor(true)
    },
    resumed: () => showCursor(false),
  })
  if (keyboard === undefined) return undefined
  showCursor(false)
  let isOpen = true
  return {
    close: () => {
      if (!isOpen) return
      isOpen = false
      showCursor(true)
      keyboard.close()
    },
  }
}

const showStatus = (
  pane: Pane,
  listener: Listener,
  position: { readonly audioMs: number },
  host: Host,
  hasKeys: boolean,
  isPushToTalk: boolean,
): void => {
  const paint = paintFor(host.stderr, host.env)
  const keys = (): readonly (readonly [string, string])[] => {
    const { state } = listener
    if (!hasKeys || state === 'starting') return [['Ctrl-C', 'end']]
    if (state === 'finishing') return [['Ctrl-C', 'end at once']]
    const space = isPushToTalk ? (state === 'paused' ? 'talk' : 'stop') : state === 'muted' ? 'unmute' : 'mute'
    return [
      ['space', space],
      ['q', 'end'],
      ['c', 'copy'],
    ]
  }
  pane.show({
    progress: (columns) =>
      statusLine(
        { state: listener.state, audioMs: position.audioMs, peak: listener.takePeak(), keys: keys() },
        paint,
        columns,
      ),
  })
}

interface MicrophoneRecording {
  readonly audio$: Observable<Uint8Array>
  /** Keeps the error of the audio, unless the audio is ended anyway. */
  readonly fail: (error: unknown) => void
  readonly fault: () => SpeechError | undefined
  /** Whether the recorder ended without a failure, and nothing else ended the audio before. */
  readonly hasEnded: () => boolean
  readonly close: () => void
}

/** @param silent called once, if the microphone delivers nothing but zeros */
const record = (command: readonly string[], listener: Listener, silent: () => void): MicrophoneRecording => {
  const voice$ = commandMicrophone({ command, sampleRateHz: format.sampleRateHz })
  const levels = voice$.levels$.subscribe(({ peak }) => {
    if (listener.hear(peak, silentMs / pieceMs)) silent()
  })
  let fault: SpeechError | undefined
  let hasEnded = false
  return {
    audio$: defer(() => {
      const startedMs = performance.now()
      let audioMs = 0
      return voice$.pipe(
        map((bytes) => {
          audioMs += msForBytes(format, bytes.length)
          if (audioMs > performance.now() - startedMs + maxAheadMs) throw new SpeechError('source-failed', tooFast)
          return listener.gate(bytes)
        }),
        tap({ complete: () => (hasEnded = listener.state !== 'finishing') }),
      )
    }),
    fail: (error) => {
      // Ctrl-C without a keyboard ends the recorder, too.
      if (listener.state !== 'finishing') fault = recordingFailure(error, command)
    },
    fault: () => fault,
    hasEnded: () => hasEnded,
    close: () => levels.unsubscribe(),
  }
}

const copyText = async (clipboard: Clipboard | undefined, text: string, say: (line: string) => void): Promise<void> => {
  if (clipboard === undefined) say(`rxspeech: ${withoutClipboard}`)
  else if (text === '') say('There is no text to copy yet.')
  else {
    await clipboard.copy(text)
    say(`The text is in the clipboard (${clipboard.name}).`)
  }
}
