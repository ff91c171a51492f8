import type { Observable } from 'rxjs'
import type { AudioFormat } from '../audio/format.js'
import {
  checkOptions,
  codec,
  eitherOf,
  jsonObject,
  observableValue,
  oneOf,
  optionsOf,
  text,
} from '../protocol/validation.js'

/**
 * What the browser does to the audio, and any other member of `MediaTrackConstraints`. Browsers turn the three
 * processing steps on by themselves.
 */
export interface MicrophoneConstraints {
  /** Removes what the loudspeakers play. */
  readonly echoCancellation?: boolean | undefined
  /** Removes steady noise. */
  readonly noiseSuppression?: boolean | undefined
  /** Makes quiet speech louder. */
  readonly autoGainControl?: boolean | undefined
  /** Any other constraint, such as `latency`. */
  readonly [name: string]: unknown
}

/** Which device is recorded, and in which format. */
export interface MicrophoneOptions {
  /**
   * The `deviceId` of a device of `navigator.mediaDevices.enumerateDevices()`. An Observable switches to each device
   * that it emits, its error is passed on, and its completion keeps the last device. An empty text is the default
   * device. @default the default device
   */
  readonly deviceId?: string | Observable<string> | undefined
  /** Samples per second of the output. @default 16000 */
  readonly sampleRateHz?: 8000 | 16000 | undefined
  /** 1 for mono, to which the channels of a stereo device are mixed; 2 for stereo. @default 1 */
  readonly channels?: 1 | 2 | undefined
  /** Constraints for the browser. @default those of the browser */
  readonly constraints?: MicrophoneConstraints | undefined
  /**
   * The address of `dist/esm/microphone/worklet.js` of this package, if a bundler does not find it: of the same origin
   * if a content security policy allows only that.
   * @default the file beside the module, or a Blob if that cannot be loaded
   */
  readonly workletUrl?: string | URL | undefined
}

const isUrl = (value: unknown): value is URL => value instanceof URL

export const sampleRate = oneOf(8000, 16000)
export const channelCount = oneOf(1, 2)

const microphoneOptions = optionsOf<MicrophoneOptions>()(
  {},
  {
    deviceId: eitherOf(text, observableValue),
    sampleRateHz: sampleRate,
    channels: channelCount,
    constraints: jsonObject,
    workletUrl: eitherOf(text, codec('a URL', isUrl)),
  },
)

/** Checks the options, and returns the format of the audio. */
export const microphoneFormat = (options: MicrophoneOptions): AudioFormat => {
  checkOptions(microphoneOptions, options)
  return pcm(options)
}

export const pcm = ({
  sampleRateHz = 16_000,
  channels = 1,
}: Pick<MicrophoneOptions, 'sampleRateHz' | 'channels'>): AudioFormat => ({ encoding: 'pcm', sampleRateHz, channels })
