import { basename } from 'node:path'
import { codeOf, isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { findProgram } from 'rxspeech/internal/microphone/find-program'
import {
  findRecordingCommand,
  listDevicesCommand,
  recordingProgramNames,
} from 'rxspeech/internal/microphone/recording-programs'
import { usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import { splitArguments } from './argument-list.js'

export interface RecorderOptions {
  /** The name or path of a program that is known, or a command. @default the first in PATH */
  readonly recorder?: string | undefined
  readonly device?: string | undefined
  readonly sampleRateHz: number
}

/** The command that records one channel. Throws `invalid-options`, or `source-failed` without any program. */
export const recorderCommand = (
  { recorder, device, sampleRateHz }: RecorderOptions,
  host: Pick<Host, 'env'>,
): readonly string[] => {
  if (recorder?.trim().includes(' ') === true && findProgram(recorder, host.env) === undefined) {
    return splitArguments(recorder, '--recorder')
  }
  try {
    return findRecordingCommand({ program: recorder, deviceName: device, sampleRateHz, channels: 1 })
  } catch (error) {
    throw isSpeechError(error) ? withFlags(error, recorder) : error
  }
}

const install: Partial<Record<NodeJS.Platform, string>> = {
  linux: 'Install alsa-utils (arecord), ffmpeg or sox',
  darwin: 'Install ffmpeg or sox, such as with brew install sox',
  win32: 'Install ffmpeg or sox, and put its folder into PATH',
}

const withFlags = (error: SpeechError, recorder: string | undefined): SpeechError => {
  if (error.code === 'invalid-options') {
    return usageError(
      error.message.replace('name one.', 'name one with --device.').replace(/^\S+ is none/, '--recorder names none'),
      error,
    )
  }
  if (recorder !== undefined) return usageError(`--recorder: ${lowerFirst(error.message)}`, error)
  const names = recordingProgramNames().join(', ') || 'the known programs'
  const remedy = install[process.platform] ?? 'Install one'
  return new SpeechError(
    'source-failed',
    `None of ${names}, which record a microphone, was found in PATH. ${remedy}, or name a program with --recorder.`,
    { cause: error },
  )
}

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)

/** What to do to record from another device. */
export const otherDevice = ([program = '']: readonly string[]): string => {
  const list = listDevicesCommand(program)
  return list === undefined ? 'check the command of --recorder' : `name another with --device, as ${list} lists them`
}

/** The failure of a recording, with what to do about it. */
export const recordingFailure = (error: unknown, command: readonly string[]): SpeechError => {
  const [program = ''] = command
  const message = error instanceof Error ? error.message : String(error)
  const devices = otherDevice(command)
  const code = codeOf(error)
  const remedy = remedies[code ?? '']?.(devices, basename(program)) ?? `${devices}.`
  const sentence = /[.!?]$/.test(message) ? message : `${message}.`
  return new SpeechError(isMicrophoneCode(code) ? code : 'source-failed', `${sentence} ${upperFirst(remedy)}`, {
    cause: error,
  })
}

type Remedy = (devices: string, program: string) => string
const microphoneRemedies = {
  'microphone-missing': (devices) => `connect a microphone, or ${devices}.`,
  'microphone-busy': (devices) => `close the other program that records, or ${devices}.`,
  'microphone-denied': (devices, program) =>
    `allow ${program} and this terminal to record (${permissionOf(process.platform)}), or ${devices}.`,
  'microphone-lost': (devices) => `connect the microphone again, or ${devices}.`,
} satisfies Readonly<Record<string, Remedy>>
const remedies: Readonly<Partial<Record<string, Remedy>>> = {
  ...microphoneRemedies,
  'missing-dependency': () => 'name a program that is there with --recorder.',
}

const isMicrophoneCode = (code: unknown): code is keyof typeof microphoneRemedies =>
  typeof code === 'string' && code in microphoneRemedies

const permissionOf = (platform: NodeJS.Platform): string => {
  if (platform === 'darwin') return 'System Settings, Privacy & Security, Microphone'
  if (platform === 'win32') return 'Settings, Privacy, Microphone'
  return 'such as by the group audio'
}

const upperFirst = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
