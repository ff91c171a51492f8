import { dirname, extname, join } from 'node:path'
import { type AudioFormat, bytesPerFrame, msForBytes, validateFormat } from 'rxspeech/internal/audio/format'
import { FrameAligner } from 'rxspeech/internal/audio/frame-aligner'
import { readWav } from 'rxspeech/internal/audio/read-wav'
import { remedy } from 'rxspeech/internal/audio/wav-header'
import { isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { decode, DecodingError, findFfmpeg } from 'rxspeech-server/recognition/ffmpeg'
import type { Host } from '../process/host.js'
import { shellWord } from '../view/typed-command.js'
import { openBytes, type ByteSource, unusable } from './byte-source.js'
import { inputName } from './input-name.js'
import type { OpenOptions } from './download.js'
import { stemOf } from './file-names.js'

/** Audio that is ready to send. */
export interface AudioInput {
  readonly format: AudioFormat
  /** Its duration, if the file has it. */
  readonly durationMs?: number | undefined
  /** Chunks of whole frames; can be iterated once. Ends where the input ends prematurely; see `fault`. */
  readonly audio: AsyncIterable<Uint8Array>
  /** Why the audio ended prematurely; undefined if it did not. */
  readonly fault: () => SpeechError | undefined
  /** Whether it comes in real time and has no known end, rather than from a file. */
  readonly isLive: boolean
  readonly close: () => Promise<void>
}

export interface InputRequest {
  /** A path, the address of a file, or `-` for standard input. */
  readonly file: string
  /** The format of raw samples; undefined for a WAV file. */
  readonly raw?: AudioFormat | undefined
}

/**
 * Opens the input and reads up to its first samples. Rejects with `source-failed`, `invalid-wav` or `invalid-format` if
 * there are none. A later error ends the audio there, so that everything before it is still transcribed; `fault` has
 * the error.
 */
export const openInput = async (
  { file, raw }: InputRequest,
  host: Pick<Host, 'stdin' | 'env'>,
  options: OpenOptions,
): Promise<AudioInput> => {
  if (raw !== undefined) validateFormat(raw)
  const source = await openBytes(file, host, options)
  const { signal } = options
  // A pipe may never send anything: only closing it ends the wait.
  signal.addEventListener('abort', () => void source.close(), { once: true })
  try {
    const first = await source.bytes.next()
    if (first.done === true) throw unusable(file, 'is empty; pass a recording.')
    const bytes = beginningWith(first.value, source.bytes)
    const { audio, ...opened } =
      raw === undefined
        ? await openRecording({ file, source, first: first.value, bytes }, host, signal)
        : openRaw(file, raw, source, bytes)
    let fault: SpeechError | undefined
    const keep = (error: unknown): void => {
      fault = isSpeechError(error) ? named(file, error) : unusable(file, 'cannot be read to its end.')
    }
    const isLive = source.descriptor === undefined && opened.durationMs === undefined
    return { ...opened, isLive, audio: untilFault(audio, keep), fault: () => fault, close: source.close }
  } catch (error) {
    await source.close()
    throw error
  }
}

type OpenedAudio = Pick<AudioInput, 'format' | 'durationMs' | 'audio'>

interface OpenedFile {
  readonly file: string
  readonly source: ByteSource
  readonly first: Uint8Array
  readonly bytes: AsyncIterable<Uint8Array>
}

/** A WAV file, or with ffmpeg any other. */
const openRecording = async (
  { file, source: { descriptor }, first, bytes }: OpenedFile,
  { env }: Pick<Host, 'env'>,
  signal: AbortSignal,
): Promise<OpenedAudio> => {
  if (isText(first)) throw new SpeechError('invalid-wav', `${inputName(file)} is text; pass a recording.`)
  try {
    return await readWav(bytes)
  } catch (error) {
    if (!isSpeechError(error)) throw error
    // Other remedies leave a choice, or ffmpeg would read noise.
    if (!error.message.endsWith(remedy) || descriptor === undefined) throw named(file, error)
    const ffmpeg = findFfmpeg(env['PATH'])
    if (ffmpeg === undefined) throw withoutFfmpeg(named(file, error))
    return await openDecoded(ffmpeg, { file, descriptor, error, signal })
  }
}

const withoutFfmpeg = ({ code, message }: SpeechError): SpeechError =>
  new SpeechError(
    code,
    process.platform === 'win32' ? message : `${message} With ffmpeg on the PATH it is read as it is.`,
  )

/** Seconds of a processor for one file: ffmpeg needs about a second for the sound of five minutes. */
const maxCpuSeconds = 3600

interface UndecodedFile {
  readonly file: string
  readonly descriptor: number
  /** Why it is no WAV file that can be read. */
  readonly error: SpeechError
  readonly signal: AbortSignal
}

const openDecoded = async (
  ffmpeg: string,
  { file, descriptor, error, signal }: UndecodedFile,
): Promise<OpenedAudio> => {
  let durationMs: number | undefined
  const onDuration = (ms: number): void => {
    durationMs = ms
  }
  const explained = (cause: unknown): unknown => {
    if (!(cause instanceof DecodingError)) return cause
    const { problem } = cause
    // What is wrong with a WAV file says more than that ffmpeg does not read it.
    const isUnreadable = problem.includes('not a recording')
    if (isUnreadable && !error.message.includes('not a RIFF/WAVE file')) return named(file, error)
    return unusable(file, `${isUnreadable ? 'is no recording that ffmpeg can read' : problem}; pass another copy.`)
  }
  try {
    const decoded = decode(ffmpeg, descriptor, { maxCpuSeconds, signal, isOwnFile: true, onDuration })
    const { format, audio } = await readWav(decoded)
    return { format, durationMs, audio: translated(audio, explained) }
  } catch (cause) {
    throw explained(cause)
  }
}

/** The audio, with other errors. */
async function* translated(
  audio: AsyncIterable<Uint8Array>,
  explained: (cause: unknown) => unknown,
): AsyncGenerator<Uint8Array, undefined> {
  try {
    yield* audio
  } catch (cause) {
    throw explained(cause)
  }
  return undefined
}

const openRaw = (
  file: string,
  format: AudioFormat,
  { byteCount }: ByteSource,
  bytes: AsyncIterable<Uint8Array>,
): OpenedAudio => ({
  format,
  audio: wholeFrames(file, bytes, bytesPerFrame(format)),
  durationMs: byteCount === undefined ? undefined : msForBytes(format, byteCount),
})

/** How much of a file shows whether it is text, such as the page of an error in place of a download. */
const textSampleBytes = 512

/** A shorter beginning, such as a magic number alone, may be anything. */
const minTextBytes = 12

const isText = (first: Uint8Array): boolean => {
  const sample = first.subarray(0, textSampleBytes)
  const isPrintable = sample.every((byte) => byte >= 0x20 || (byte >= 0x09 && byte <= 0x0d))
  // A character that continues behind the sample is not replaced in a stream.
  const decoded = new TextDecoder().decode(sample, { stream: true })
  return sample.length > minTextBytes && isPrintable && !decoded.includes('\ufffd')
}

/** Adds the name of the file to an error about its contents and to the command there; errors of reading have it. */
const named = (file: string, error: SpeechError): SpeechError => {
  if (error.code !== 'invalid-wav') return error
  const message = error.message
    .replace(/(?<=ffmpeg (?:-ignore_length 1 )?-i |sox )FILE(.*)converted\.wav/, (all, options: string) =>
      file === '-' ? all : `${shellWord(file)}${options}${shellWord(convertedName(file))}`,
    )
    .replace(/^(This is not .* converts it)\.$/, '$1; for raw samples set --encoding and --rate.')
  return new SpeechError('invalid-wav', `${inputName(file)}: ${message}`)
}

/** The file that a conversion makes, beside the other. */
const convertedName = (file: string): string =>
  join(dirname(file), `${stemOf(file)}${extname(file).toLowerCase() === '.wav' ? '-converted' : ''}.wav`)

async function* beginningWith(
  first: Uint8Array,
  rest: AsyncIterator<Uint8Array, undefined>,
): AsyncGenerator<Uint8Array, undefined> {
  yield first
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value
  return undefined
}

async function* wholeFrames(
  file: string,
  bytes: AsyncIterable<Uint8Array>,
  frameBytes: number,
): AsyncGenerator<Uint8Array, undefined> {
  const aligner = new FrameAligner(frameBytes)
  for await (const piece of bytes) {
    const frames = aligner.push(piece)
    if (frames.length > 0) yield frames
  }
  const cut = aligner.rest()
  if (cut.length === 0) return undefined
  const what = `${cut.length} of the ${frameBytes} bytes of its last frame are there`
  throw new SpeechError(
    'cut-sample',
    `${inputName(file)} ends within a sample: ${what}; check --encoding and --channels.`,
  )
}

async function* untilFault(
  audio: AsyncIterable<Uint8Array>,
  keep: (error: unknown) => void,
): AsyncGenerator<Uint8Array, undefined> {
  try {
    yield* audio
  } catch (error) {
    keep(error)
  }
  return undefined
}
