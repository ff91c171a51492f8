import { spawn, type ChildProcess } from 'node:child_process'
import { defer, Observable, switchMap, tap } from 'rxjs'
import { sanitizePeerText } from '../errors/refusal.js'
import { codeOf, SpeechError } from '../errors/speech-error.js'
import type { ErrorCode } from '../errors/error-table.js'
import { chunk } from '../operators/audio/chunk.js'
import { commandMicrophoneFormat, type CommandMicrophoneOptions } from './command-microphone-options.js'
import { failWithoutAudio } from './fail-without-audio.js'
import { createMicrophone, type Microphone } from './microphone-audio.js'
import { findRecordingCommand } from './recording-programs.js'

/** How long a program may take to exit before it is killed. */
const exitMs = 2_000
/** How much of the end of the standard error is kept. */
const maxErrorText = 4_096

/**
 * A microphone in Node: the audio that a program records, `arecord`, `ffmpeg`, `sox` or one of yours, as audio for
 * `recognize` or `dataflow`, in pieces of 20 ms. The Observable is cold: each subscription starts the program and ends
 * it.
 *
 * - Completion: when the program ends by itself with exit code 0, after some audio.
 * - Unsubscription: ends the program, after 2 s by force.
 * - Buffering: less than a piece. While Node is busy the audio waits in the pipe of the system and in the program.
 *
 * Errors: `missing-dependency` if there is no program; by what the program says, `microphone-missing`,
 * `microphone-busy` or `microphone-denied`; `microphone-lost` if it fails after it has delivered audio; `source-failed`
 * for any other failure, for an end without audio, and if no audio comes for `audioTimeoutMs`. The message has the exit
 * code and the last line of the standard error. In a browser: `microphone-unsupported`.
 *
 * Throws `invalid-options` when it is called.
 *
 * @example
 * const voice$ = commandMicrophone({ sampleRateHz: 8000 })
 * recognize({ url, token, model: 'call', format: voice$.format })(voice$).subscribe(console.log)
 *
 * @example
 * const radio$ = commandMicrophone({ command: ['parec', '--raw', '--format=s16le', '--rate=16000', '--channels=1'] })
 */
export const commandMicrophone = (options: CommandMicrophoneOptions = {}): Microphone => {
  const format = commandMicrophoneFormat(options)
  const { command, deviceName, audioTimeoutMs = 5_000 } = options
  return createMicrophone(format, (report) =>
    defer(() => Promise.resolve(command ?? findRecordingCommand({ ...format, deviceName }))).pipe(
      switchMap(([program = '', ...args]) => {
        const silence = `${program} delivered no audio for ${audioTimeoutMs} ms; check the device and the arguments.`
        return outputOf(program, args).pipe(failWithoutAudio(audioTimeoutMs, silence))
      }),
      tap(() => report('live')),
      chunk({ format }),
    ),
  )
}

/** The standard output of a program, which runs as long as the subscription. */
const outputOf = (program: string, args: readonly string[]): Observable<Uint8Array> =>
  new Observable((subscriber) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true })
    let hasAudio = false
    let errorText = ''
    child.stdout.on('data', (bytes: Uint8Array) => {
      hasAudio = true
      subscriber.next(bytes)
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errorText = (errorText + text).slice(-maxErrorText)
    })
    child.on('error', (cause) => subscriber.error(startFailure(program, cause)))
    child.on('close', (exitCode, signal) => {
      if (exitCode === 0 && hasAudio) subscriber.complete()
      else subscriber.error(failure(program, signal ?? exitCode, errorText, hasAudio))
    })
    return () => endChild(child)
  })

/** Ends one process by its id. Its output is not read any more. */
const endChild = (child: ChildProcess): void => {
  child.stdout?.destroy()
  child.stderr?.destroy()
  if (child.exitCode !== null || child.signalCode !== null || !child.kill()) return
  const force = setTimeout(() => child.kill('SIGKILL'), exitMs)
  child.once('exit', () => clearTimeout(force))
}

const startFailure = (program: string, cause: Error): SpeechError =>
  codeOf(cause) === 'ENOENT'
    ? new SpeechError('missing-dependency', `There is no program ${program} in PATH; install it.`, { cause })
    : new SpeechError('source-failed', `${program} cannot be started; see the cause.`, { cause })

/** What programs write to their standard error, most specific first. */
const meanings: readonly (readonly [RegExp, ErrorCode])[] = [
  [/busy/i, 'microphone-busy'],
  [/permission|not (permitted|authorized)|denied/i, 'microphone-denied'],
  [
    /no such (file|device)|cannot find card|unknown pcm|no default audio device|not found|no devices?/i,
    'microphone-missing',
  ],
]

const failure = (program: string, end: string | number | null, errorText: string, hasAudio: boolean): SpeechError => {
  const lastLine = sanitizePeerText(errorText.trim().split('\n').at(-1) ?? '')
  const how = typeof end === 'number' ? `with exit code ${end}` : `by ${String(end)}`
  const found = end === 0 ? undefined : meanings.find(([pattern]) => pattern.test(errorText))?.[1]
  const code = hasAudio ? 'microphone-lost' : (found ?? 'source-failed')
  const without = hasAudio ? '' : ' without audio'
  return new SpeechError(code, `${program} ended ${how}${without}${lastLine === '' ? '.' : `: ${lastLine}`}`)
}
