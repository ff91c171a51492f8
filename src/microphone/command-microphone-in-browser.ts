import { throwError } from 'rxjs'
import { SpeechError } from '../errors/speech-error.js'
import { commandMicrophoneFormat, type CommandMicrophoneOptions } from './command-microphone-options.js'
import { createMicrophone, type Microphone } from './microphone-audio.js'

/** `commandMicrophone` of a browser, which starts no programs: it ends with `microphone-unsupported`. */
export const commandMicrophone = (options: CommandMicrophoneOptions = {}): Microphone =>
  createMicrophone(commandMicrophoneFormat(options), () =>
    throwError(
      () =>
        new SpeechError('microphone-unsupported', 'A page cannot start the program of a microphone; use microphone.'),
    ),
  )
