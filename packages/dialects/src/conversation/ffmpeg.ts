import { spawn } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { UploadError } from './upload-error.js'
import type { Upload } from './upload.js'

/** The containers that ffmpeg may read: files of one recording, none that names other files or addresses. */
const demuxers = 'aac,aiff,amr,asf,au,caf,flac,matroska,mov,mp3,mpeg,ogg,w64,wav'

/** One block of memory, and all of it. */
const maxBlockBytes = 256 * 1_048_576
const maxMemoryKib = 1_048_576
const maxErrorBytes = 4_096

/** At most 16-bit samples of two channels, at a rate that models have. */
const samples = 'aformat=sample_fmts=s16:sample_rates=8000|16000:channel_layouts=mono|stereo'

/**
 * ffmpeg gets its limits from the shell, which it then replaces: seconds on a processor, memory, no file of its own,
 * few open ones.
 */
const limited = 'ulimit -t "$1"; ulimit -v "$2" 2>/dev/null; ulimit -f 0; ulimit -n 64; shift 2; exec "$@"'

const argumentsOf = (ffmpeg: string, maxCpuSeconds: number): readonly string[] => [
  ...['-c', limited, 'sh', String(maxCpuSeconds), String(maxMemoryKib), ffmpeg],
  ...['-nostdin', '-hide_banner', '-loglevel', 'error', '-max_alloc', String(maxBlockBytes)],
  ...['-protocol_whitelist', 'file', '-format_whitelist', demuxers, '-threads', '1', '-i', 'file:/dev/fd/0'],
  ...['-map', '0:a:0', '-map_metadata', '-1', '-af', samples, '-c:a', 'pcm_s16le', '-threads', '1'],
  ...['-f', 'wav', 'pipe:1'],
]

/** The absolute path of ffmpeg on a `PATH`, if it is there. Windows has no name for an open file, which it needs. */
export const findFfmpeg = (path = '', platform: NodeJS.Platform = process.platform): string | undefined =>
  platform === 'win32'
    ? undefined
    : path
        .split(':')
        .filter((folder) => isAbsolute(folder))
        .map((folder) => join(folder, 'ffmpeg'))
        .find(isProgram)

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

export interface DecodeOptions {
  readonly maxCpuSeconds: number
  /** Ends ffmpeg. */
  readonly signal: AbortSignal
}

/**
 * Decodes a file of any container and codec that ffmpeg reads to a WAV file, as it is read. Throws `UploadError` if
 * ffmpeg cannot read it, or not to its end.
 */
export async function* decode(
  ffmpeg: string,
  file: Upload,
  { maxCpuSeconds, signal }: DecodeOptions,
): AsyncGenerator<Uint8Array, undefined> {
  const child = spawn('/bin/sh', argumentsOf(ffmpeg, maxCpuSeconds), {
    cwd: '/',
    env: { MALLOC_ARENA_MAX: '1' },
    stdio: [file.fd, 'pipe', 'pipe'],
    signal,
    killSignal: 'SIGKILL',
  })
  const ended = new Promise<number | NodeJS.Signals>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, killedBy) => resolve(code ?? killedBy ?? 0))
  })
  // Handled below, unless the reader leaves first.
  ended.catch(() => undefined)
  let problem = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    problem = (problem + text).slice(0, maxErrorBytes)
  })
  try {
    yield* (child.stdout ?? []) as AsyncIterable<Uint8Array>
    const end = await ended
    if (end !== 0 || endsEarly.test(problem)) throw refusalOf(end, problem)
  } finally {
    child.kill('SIGKILL')
  }
}

/** What ffmpeg writes about a file of which a part is missing, and goes on. */
const endsEarly = /partial file|truncated/i

/** Its own messages are not passed on: they quote the file. */
const refusalOf = (end: number | NodeJS.Signals, problem: string): UploadError => {
  if (typeof end === 'string') return refusal('takes too much time to be decoded')
  if (problem.includes('matches no streams')) return refusal('has no sound')
  return endsEarly.test(problem) ? refusal('ends early') : refusal('is not a recording that can be read')
}

const refusal = (problem: string): UploadError =>
  new UploadError(400, 'invalid_audio', `The file ${problem}; send another copy of it, or convert it to WAV.`)
