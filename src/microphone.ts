/**
 * Microphones: of a page, recorded in an AudioWorklet, and of a computer, recorded by a program that Node starts. The
 * names and types are the same in Node and in browsers; what the other platform cannot do ends with
 * `microphone-unsupported`.
 *
 * @module rxspeech/microphone
 */
export { commandMicrophone } from './microphone/command-microphone.js'
export type { CommandMicrophoneOptions } from './microphone/command-microphone-options.js'
export { microphone } from './microphone/microphone.js'
export type { Microphone, MicrophoneLevel, MicrophoneState } from './microphone/microphone-audio.js'
export type { MicrophoneConstraints, MicrophoneOptions } from './microphone/microphone-options.js'
