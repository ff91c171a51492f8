import { basename } from 'node:path'
import { SpeechError } from '../errors/speech-error.js'
import { findProgram } from './find-program.js'

/** What a program has to record. */
export interface Recording {
  /** The name or the path of one of the programs below. @default the first of them in PATH that can record this */
  readonly program?: string | undefined
  readonly deviceName?: string | undefined
  readonly sampleRateHz: number
  readonly channels: number
}

interface RecordingProgram {
  readonly name: string
  /** Prints the names of devices. */
  readonly listDevices: string
  /** Its arguments; undefined if it cannot record this. */
  readonly argsOf: (recording: Recording) => readonly string[] | undefined
}

const arecord: RecordingProgram = {
  name: 'arecord',
  listDevices: 'arecord -L',
  argsOf: ({ deviceName, sampleRateHz, channels }) => [
    ...['--quiet', '--file-type=raw', '--format=S16_LE', `--rate=${sampleRateHz}`, `--channels=${channels}`],
    // Otherwise the audio comes in parts of an eighth of a second.
    '--period-time=20000',
    ...(deviceName === undefined ? [] : [`--device=${deviceName}`]),
  ],
}

const ffmpeg = (
  format: string,
  listDevices: string,
  inputOf: (deviceName?: string) => string | undefined,
): RecordingProgram => ({
  name: 'ffmpeg',
  listDevices,
  argsOf: ({ deviceName, sampleRateHz, channels }) => {
    const input = inputOf(deviceName)
    return input === undefined
      ? undefined
      : [
          ...['-hide_banner', '-nostdin', '-loglevel', 'error', '-f', format, '-i', input],
          ...['-ac', `${channels}`, '-ar', `${sampleRateHz}`, '-f', 's16le', '-flush_packets', '1', 'pipe:1'],
        ]
  },
})

const sox = (driver: string, listDevices: string): RecordingProgram => ({
  name: 'sox',
  listDevices,
  argsOf: ({ deviceName, sampleRateHz, channels }) => [
    ...['-q', '--buffer', '1024', '-t', driver, deviceName ?? 'default', '-t', 'raw', '-L', '-e', 'signed-integer'],
    ...['-b', '16', '-r', `${sampleRateHz}`, '-c', `${channels}`, '-'],
  ],
})

/** The programs for each platform of Node, in the order in which they are looked for. */
const programs: Readonly<Partial<Record<NodeJS.Platform, readonly RecordingProgram[]>>> = {
  linux: [arecord, ffmpeg('alsa', 'ffmpeg -sources alsa', (name = 'default') => name), sox('alsa', 'arecord -L')],
  darwin: [
    ffmpeg('avfoundation', 'ffmpeg -f avfoundation -list_devices true -i ""', (name = 'default') => `:${name}`),
    sox('coreaudio', 'system_profiler SPAudioDataType'),
  ],
  win32: [
    ffmpeg('dshow', 'ffmpeg -f dshow -list_devices true -i dummy', (name) => name && `audio=${name}`),
    sox('waveaudio', 'control mmsys.cpl'),
  ],
}

/** `rec` of the package of `sox` is `sox`. */
const aliases: Readonly<Record<string, string>> = { rec: 'sox' }

/** A program of the table by its name or path. */
const programOf = (typed: string, platform: NodeJS.Platform): RecordingProgram | undefined => {
  const name = basename(typed).replace(/\.exe$/i, '')
  return programs[platform]?.find((program) => program.name === (aliases[name] ?? name))
}

/** The command that prints the names of devices for a program of the table. */
export const listDevicesCommand = (typed: string, platform: NodeJS.Platform = process.platform): string | undefined =>
  programOf(typed, platform)?.listDevices

export const recordingProgramNames = (platform: NodeJS.Platform = process.platform): readonly string[] =>
  (programs[platform] ?? []).map(({ name }) => name)

const isThere = (program: string, platform: NodeJS.Platform): boolean =>
  findProgram(program, process.env, platform) !== undefined

/**
 * The command of the program, or of the first in PATH that can record on this platform. Throws
 * `missing-dependency`, naming those that can, and with `invalid-options` where a program records only a device with a
 * name, or is none of them.
 */
export const findRecordingCommand = (
  recording: Recording,
  platform: NodeJS.Platform = process.platform,
): readonly string[] => {
  const { program } = recording
  if (program !== undefined) return namedCommand(program, recording, platform)
  const known = programs[platform] ?? []
  let needsDevice: RecordingProgram | undefined
  for (const candidate of known) {
    if (!isThere(candidate.name, platform)) continue
    const args = candidate.argsOf(recording)
    if (args !== undefined) return [candidate.name, ...args]
    needsDevice ??= candidate
  }
  if (needsDevice !== undefined) throw withoutDevice(needsDevice)
  const names = known.map(({ name }) => name).join(' or ')
  const remedy = names === '' ? 'Set command to' : `Install ${names}, or set command to`
  throw new SpeechError('missing-dependency', `${remedy} a program that records; none was found in PATH.`)
}

const namedCommand = (typed: string, recording: Recording, platform: NodeJS.Platform): readonly string[] => {
  const program = programOf(typed, platform)
  if (program === undefined) {
    const names = recordingProgramNames(platform).join(', ')
    throw new SpeechError('invalid-options', `${typed} is none of the programs that record here: ${names}.`)
  }
  const isPath = basename(typed) !== typed
  const file = isPath ? typed : program.name
  if (!isThere(file, platform)) {
    const where = isPath ? '' : ' in PATH'
    throw new SpeechError('missing-dependency', `There is no program ${file}${where}; install it.`)
  }
  const args = program.argsOf(recording)
  if (args === undefined) throw withoutDevice(program)
  return [file, ...args]
}

const withoutDevice = ({ name, listDevices }: RecordingProgram): SpeechError =>
  new SpeechError('invalid-options', `${name} has no default device here; name one. This lists them: ${listDevices}`)
