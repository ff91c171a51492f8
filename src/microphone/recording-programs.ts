import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { SpeechError } from '../errors/speech-error.js'

/** What a program has to record. */
export interface Recording {
  readonly deviceName?: string | undefined
  readonly sampleRateHz: number
  readonly channels: number
}

interface RecordingProgram {
  readonly name: string
  /** Its arguments; undefined if it cannot record this. */
  readonly argsOf: (recording: Recording) => readonly string[] | undefined
}

const arecord: RecordingProgram = {
  name: 'arecord',
  argsOf: ({ deviceName, sampleRateHz, channels }) => [
    ...['--quiet', '--file-type=raw', '--format=S16_LE', `--rate=${sampleRateHz}`, `--channels=${channels}`],
    // Otherwise the audio comes in parts of an eighth of a second.
    '--period-time=20000',
    ...(deviceName === undefined ? [] : [`--device=${deviceName}`]),
  ],
}

const ffmpeg = (format: string, inputOf: (deviceName?: string) => string | undefined): RecordingProgram => ({
  name: 'ffmpeg',
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

const sox = (driver: string): RecordingProgram => ({
  name: 'sox',
  argsOf: ({ deviceName, sampleRateHz, channels }) => [
    ...['-q', '--buffer', '1024', '-t', driver, deviceName ?? 'default', '-t', 'raw', '-L', '-e', 'signed-integer'],
    ...['-b', '16', '-r', `${sampleRateHz}`, '-c', `${channels}`, '-'],
  ],
})

/** The programs for each platform of Node, in the order in which they are looked for. */
const programs: Readonly<Partial<Record<NodeJS.Platform, readonly RecordingProgram[]>>> = {
  linux: [arecord, ffmpeg('alsa', (name = 'default') => name), sox('alsa')],
  darwin: [ffmpeg('avfoundation', (name = 'default') => `:${name}`), sox('coreaudio')],
  win32: [ffmpeg('dshow', (name) => name && `audio=${name}`), sox('waveaudio')],
}

const isExecutable = async (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  )

const isInPath = async (name: string, platform: NodeJS.Platform): Promise<boolean> => {
  const file = platform === 'win32' ? `${name}.exe` : name
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return (await Promise.all(folders.map((folder) => isExecutable(join(folder, file))))).includes(true)
}

/**
 * The command of the first program in PATH that can record on this platform. Rejects with `missing-dependency`, naming
 * those that can.
 */
export const findRecordingCommand = async (
  recording: Recording,
  platform: NodeJS.Platform = process.platform,
): Promise<readonly string[]> => {
  const known = programs[platform] ?? []
  for (const { name, argsOf } of known) {
    const args = argsOf(recording)
    if (args !== undefined && (await isInPath(name, platform))) return [name, ...args]
  }
  const names = known.map(({ name }) => name).join(' or ')
  const remedy = names === '' ? 'Set command to' : `Install ${names}, or set command to`
  throw new SpeechError('missing-dependency', `${remedy} a program that records; none was found in PATH.`)
}
