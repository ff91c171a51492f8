import { spawn, type ChildProcessByStdio } from 'node:child_process'
import type { Readable } from 'node:stream'
import { findProgram } from 'rxspeech/internal/microphone/find-program'

/** The containers that ffmpeg may read: files of one recording, none that names other files or addresses. */
const demuxers = 'aac,aiff,amr,asf,au,caf,flac,matroska,mov,mp3,mpeg,ogg,w64,wav'
/** Further ones of the same kind, for files of the person who runs the command. */
const rareDemuxers = 'ac3,ape,avi,dv,eac3,flv,mpegts,mxf,rm,tta,wv'

/** One block of memory, and all of it. */
const maxBlockBytes = 256 * 1_048_576
const maxMemoryKib = 1_048_576
const maxErrorLength = 4_096
/** How long it may decode nothing while its output is awaited. */
const maxSilentMs = 60_000

/** At most 16-bit samples of two channels, at a rate that models have. */
const samples = 'aformat=sample_fmts=s16:sample_rates=8000|16000:channel_layouts=mono|stereo'

/**
 * ffmpeg gets its limits from the shell, which it then replaces: seconds on a processor, memory, no file of its own,
 * few open ones.
 */
const limited = 'ulimit -t "$1"; ulimit -v "$2" 2>/dev/null; ulimit -f 0; ulimit -n 64; shift 2; exec "$@"'

const argumentsOf = (ffmpeg: string, { maxCpuSeconds, isOwnFile = false }: DecodeOptions): readonly string[] => [
  ...['-c', limited, 'sh', String(maxCpuSeconds), String(maxMemoryKib), ffmpeg],
  ...['-nostdin', '-hide_banner', '-nostats', '-loglevel', 'level+info', '-max_alloc', String(maxBlockBytes)],
  ...['-protocol_whitelist', 'file', '-format_whitelist', isOwnFile ? `${demuxers},${rareDemuxers}` : demuxers],
  ...['-threads', '1', '-i', 'file:/dev/fd/0'],
  ...['-map', '0:a:0', '-map_metadata', '-1', '-af', samples, '-c:a', 'pcm_s16le', '-threads', '1'],
  ...['-f', 'wav', 'pipe:1'],
]

/** The absolute path of ffmpeg on a `PATH`, if it is there. Windows has no name for an open file, which it needs. */
export const findFfmpeg = (path = '', platform: NodeJS.Platform = process.platform): string | undefined =>
  platform === 'win32' ? undefined : findProgram('ffmpeg', { PATH: path }, platform)

export interface DecodeOptions {
  readonly maxCpuSeconds: number
  /** Ends ffmpeg. */
  readonly signal: AbortSignal
  /** Whether it may read more kinds of containers than those that strangers send. @default false */
  readonly isOwnFile?: boolean
  /** How long it may deliver nothing, in milliseconds. @default 60_000 */
  readonly maxSilentMs?: number
  /** Called before the first bytes with the duration, if the file says it. */
  readonly onDuration?: (durationMs: number) => void
}

/** Why ffmpeg did not read a file, or not to its end. */
export class DecodingError extends Error {
  override readonly name = 'DecodingError'
  /** Such as `has no sound`, without a word of the file. */
  readonly problem: string

  constructor(problem: string) {
    super(`The file ${problem}.`)
    this.problem = problem
  }
}

/**
 * Decodes a file of any container and codec that ffmpeg reads to a WAV file, as it is read. Throws `DecodingError` if
 * ffmpeg cannot read it, or not to its end.
 *
 * @param file the descriptor of the open file, which stays open
 */
export async function* decode(
  ffmpeg: string,
  file: number,
  options: DecodeOptions,
): AsyncGenerator<Uint8Array, undefined> {
  const child = spawn('/bin/sh', argumentsOf(ffmpeg, options), {
    cwd: '/',
    env: { MALLOC_ARENA_MAX: '1' },
    stdio: [file, 'pipe', 'pipe'],
    signal: options.signal,
    killSignal: 'SIGKILL',
  }) as ChildProcessByStdio<null, Readable, Readable>
  const ended = new Promise<number | NodeJS.Signals>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, killedBy) => resolve(code ?? killedBy ?? 0))
  })
  // Handled below, unless the reader leaves first.
  ended.catch(() => undefined)
  const report = new FfmpegReport()
  child.stderr.setEncoding('utf8').on('data', (text: string) => report.take(text))
  const parts: AsyncIterator<Uint8Array, undefined> = child.stdout[Symbol.asyncIterator]()
  // Only while the next part is awaited: a slow reader is no fault of ffmpeg.
  let isAwaited = true
  const deadline = setTimeout(() => {
    if (!isAwaited) return
    child.kill('SIGKILL')
    // Programs that it has started may have these open.
    child.stderr.destroy()
    child.stdout.destroy(new DecodingError(tooSlow))
  }, options.maxSilentMs ?? maxSilentMs)
  const nextPart = (): ReturnType<typeof parts.next> => {
    isAwaited = true
    deadline.refresh()
    return parts.next()
  }
  // Requested at once: Node discards what is not being read when the process exits.
  const first = parts.next()
  first.catch(() => undefined)
  try {
    if (options.onDuration !== undefined) {
      const durationMs = await Promise.race([report.durationMs, ended.then(() => undefined)])
      if (durationMs !== undefined) options.onDuration(durationMs)
    }
    for (let part = await first; part.done !== true; part = await nextPart()) {
      isAwaited = false
      yield part.value
    }
    const end = await ended
    if (end !== 0 || report.endsEarly) throw report.errorOf(end)
  } finally {
    clearTimeout(deadline)
    child.kill('SIGKILL')
    child.stdout.destroy()
  }
}

const tooSlow = 'takes too much time to be decoded'

/** What ffmpeg writes about a file, as far as it is used: its messages quote the file. */
class FfmpegReport {
  #line = ''
  #problem = ''
  #described: (durationMs: number | undefined) => void = () => undefined
  /** What it says before it decodes anything; undefined if that is not known. */
  readonly durationMs = new Promise<number | undefined>((resolve) => {
    this.#described = resolve
  })

  take(text: string): void {
    const lines = (this.#line + text).split('\n')
    // The title of a recording can be of any length.
    this.#line = lines.pop()?.slice(0, maxErrorLength) ?? ''
    for (const line of lines) this.#takeLine(line)
  }

  get endsEarly(): boolean {
    return endsEarly.test(this.#problem)
  }

  errorOf(end: number | NodeJS.Signals): DecodingError {
    if (typeof end === 'string') return new DecodingError(tooSlow)
    if (this.#problem.includes('matches no streams')) return new DecodingError('has no sound')
    return new DecodingError(this.endsEarly ? 'ends early' : 'is not a recording that can be read')
  }

  #takeLine(line: string): void {
    if (/\[(?:error|fatal)\]/.test(line)) this.#problem = `${this.#problem}${line}\n`.slice(0, maxErrorLength)
    const [, duration] = /^\[info\] {3}Duration: ([^,]+)/.exec(line) ?? []
    if (duration !== undefined) this.#described(msOf(duration))
  }
}

/** Of `01:02:03.45`; undefined for `N/A`. */
const msOf = (duration: string): number | undefined => {
  const [, hours, minutes, seconds] = /^(\d+):(\d\d):(\d\d\.\d+)$/.exec(duration) ?? []
  return hours === undefined
    ? undefined
    : Math.round((Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000)
}

/** What ffmpeg writes about a file of which a part is missing, and goes on. */
const endsEarly = /partial file|truncated/i
