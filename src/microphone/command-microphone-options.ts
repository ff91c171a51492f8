import type { AudioFormat } from '../audio/format.js'
import { SpeechError } from '../errors/speech-error.js'
import { listOf } from '../protocol/collections.js'
import { checkOptions, durationMs, nonEmptyText, optionsOf, text } from '../protocol/validation.js'
import { channelCount, pcm, sampleRate } from './microphone-options.js'

/** Which program records, and in which format. */
export interface CommandMicrophoneOptions {
  /**
   * A program and its arguments. It writes 16-bit little-endian PCM without a header to its standard output, in the
   * sample rate and channels of these options. It is started without a shell.
   * @default the first of `arecord`, `ffmpeg` and `sox` in PATH that can record on this system
   */
  readonly command?: readonly string[] | undefined
  /**
   * The name of the device for `arecord` (`arecord -L` lists them), `ffmpeg` or `sox`; not with `command`. On Windows,
   * `ffmpeg` needs one. @default the default device of the system
   */
  readonly deviceName?: string | undefined
  /** Samples per second. @default 16000 */
  readonly sampleRateHz?: 8000 | 16000 | undefined
  /** 1 for mono, 2 for stereo. @default 1 */
  readonly channels?: 1 | 2 | undefined
  /** How long the program may deliver nothing, at the start and later, in milliseconds. @default 5000 */
  readonly audioTimeoutMs?: number | undefined
}

const commandMicrophoneOptions = optionsOf<CommandMicrophoneOptions>()(
  {},
  {
    command: listOf(text),
    deviceName: nonEmptyText,
    sampleRateHz: sampleRate,
    channels: channelCount,
    audioTimeoutMs: durationMs(1),
  },
)

/** Checks the options, and returns the format of the audio. */
export const commandMicrophoneFormat = (options: CommandMicrophoneOptions): AudioFormat => {
  const { command, deviceName } = checkOptions(commandMicrophoneOptions, options)
  if (command?.[0] === '' || command?.length === 0) {
    throw new SpeechError('invalid-options', 'command must begin with the name of a program.')
  }
  if (command !== undefined && deviceName !== undefined) {
    throw new SpeechError('invalid-options', 'deviceName does not go with command; name the device in its arguments.')
  }
  return pcm(options)
}
