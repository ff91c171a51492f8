import { basename } from 'node:path'
import { decodeChannels } from '../../audio/codec.js'
import { SpeechError } from '../../errors/speech-error.js'
import type { Engine } from '../../service/engines/engine.js'
import type { ChannelEvent } from '../../service/recognition/channel-event.js'
import { RecognitionChannel } from '../../service/recognition/recognition-channel.js'
import { defaultSegmenterParameters } from '../../service/recognition/segmenter-parameters.js'
import { expandFiles } from '../input/file-names.js'
import { modelAt, modelFolders, namedModelFlags } from '../input/find-models.js'
import { openInput, type AudioInput } from '../input/open-input.js'
import { atTakenRate } from '../input/sendable-audio.js'
import type { CommandCall } from '../parsing/command.js'
import { wrapText } from '../parsing/help-text.js'
import { jsonFlag } from '../parsing/service-flags.js'
import { exitCode, failureOf, SilentExit } from '../process/failure.js'
import { acquire, watchInterruption } from '../process/interruption.js'
import { defaultColumns } from '../view/live-screen.js'
import { paintFor, type Paint } from '../view/paint.js'
import { plainText } from '../view/plain-text.js'
import { clockText } from '../view/transcript-line.js'

export const hearFlags = { ...namedModelFlags, json: jsonFlag }

interface Style {
  readonly paint: Paint
  readonly columns: number
}

/** A segment of a recording: its text, or that the model knows none. */
type Heard = Extract<ChannelEvent, { readonly type: 'milestone' | 'no-match' }> & { readonly channel: number }

/** Audio that a channel may have in the engine before more is read. */
const maxPendingSamples = 80_000

/** Recognizes recordings with a model in this process, and shows each segment. Exit code 3 if a file cannot be read. */
export const hearFiles = async (
  { argument: typed, flags: { models, json }, host, output }: CommandCall<typeof hearFlags, readonly string[]>,
  name: string,
): Promise<void> => {
  const folders = modelFolders(models, host)
  const model = modelAt(name, folders)
  const kind = folders.kinds.find((one) => one.name === model.options.engine)
  if (kind === undefined) throw new SpeechError('invalid-model', `No engine here is called ${model.options.engine}.`)
  const files = await expandFiles(typed)
  const { signal, release } = watchInterruption(host, { also: output.closed })
  let hasFailed = false
  try {
    const engine = await acquire(kind.open(model), signal)
    try {
      const style = { paint: paintFor(host.stdout, host.env), columns: output.terminal.columns ?? defaultColumns }
      for (const file of files) {
        try {
          const input = await openInput({ file }, host, signal)
          const heard = await hear(engine, input, signal)
          signal.throwIfAborted()
          output.write(json ? `${JSON.stringify(jsonOf(file, input, heard))}\n` : textOf(file, input, heard, style))
          const fault = input.fault()
          if (fault !== undefined) throw fault
        } catch (error) {
          signal.throwIfAborted()
          const { sentence, exitCode: code } = failureOf(error)
          if (code !== exitCode.unreadable) throw error
          hasFailed = true
          host.stderr.write(`rxspeech: ${sentence ?? ''}\n`)
        }
      }
    } finally {
      await engine.close()
    }
  } finally {
    release()
  }
  if (hasFailed) throw new SilentExit(exitCode.unreadable)
}

/** The segments of a recording in the order of time. Silence ends nothing. Rejects with the error of the engine. */
const hear = async (engine: Engine, input: AudioInput, signal: AbortSignal): Promise<readonly Heard[]> => {
  const heard: Heard[] = []
  const { format, audio } = atTakenRate(input)
  const channels = Array.from(
    { length: format.channels },
    (_none, channel) =>
      new HeardChannel(engine, format, (event) => {
        if (event.type === 'milestone' || event.type === 'no-match') heard.push({ ...event, channel })
      }),
  )
  const abort = (): void => {
    for (const channel of channels) channel.stop(signal.reason)
  }
  signal.addEventListener('abort', abort)
  try {
    for await (const piece of audio) {
      decodeChannels(piece, format).forEach((samples, at) => channels[at]?.push(samples))
      await Promise.all(channels.map((channel) => channel.whenReady()))
    }
    await Promise.all(channels.map((channel) => channel.end()))
  } finally {
    signal.removeEventListener('abort', abort)
    for (const channel of channels) channel.stop()
    await input.close()
  }
  return heard.toSorted((a, b) => a.startMs - b.startMs || a.channel - b.channel)
}

/** A channel as promises: `whenReady` bounds what waits for the engine. */
class HeardChannel {
  readonly #channel: RecognitionChannel
  readonly #ended: Promise<void>
  #complete: () => void = () => undefined
  #fail: (error: unknown) => void = () => undefined
  #pendingSamples = 0
  #wake: () => void = () => undefined

  constructor(engine: Engine, { sampleRateHz }: AudioInput['format'], emit: (event: ChannelEvent) => void) {
    this.#ended = new Promise((resolve, reject) => {
      this.#complete = resolve
      this.#fail = reject
    })
    // It is awaited later; until then its rejection is not unhandled.
    this.#ended.catch(() => undefined)
    const options = {
      engine,
      sampleRateHz,
      parameters: { ...defaultSegmenterParameters, gracefulSilenceMs: 0 },
      closeAfterSilentWallMs: 0,
      finalizeAfterMs: 0,
      graceful: 'off',
    } as const
    this.#channel = new RecognitionChannel(options, {
      next: (event) => {
        emit(event)
        if (event.type === 'progress') this.#processed(event.sampleCount)
      },
      inputEnded: () => this.#processed(Infinity),
      error: (error) => this.#fail(error),
      complete: () => this.#complete(),
    })
    this.#channel.start()
  }

  push(samples: Int16Array): void {
    this.#pendingSamples += samples.length
    this.#channel.push(samples)
  }

  /** Resolves when more audio may follow; rejects with the error of the engine. */
  async whenReady(): Promise<void> {
    while (this.#pendingSamples > maxPendingSamples) {
      await Promise.race([this.#ended, new Promise<void>((resolve) => (this.#wake = resolve))])
    }
  }

  /** Resolves after the last segment; rejects with the error of the engine. */
  async end(): Promise<void> {
    this.#channel.complete()
    await this.#ended
  }

  stop(reason?: unknown): void {
    this.#channel.unsubscribe()
    if (reason === undefined) this.#complete()
    else this.#fail(reason)
  }

  #processed(sampleCount: number): void {
    this.#pendingSamples -= sampleCount
    this.#wake()
  }
}

/** Columns of the times, the channel and the confidence before a text. */
const clock = ({ startMs, endMs }: Heard): string => `${clockText(startMs)} – ${clockText(endMs)}`

const textOf = (file: string, input: AudioInput, heard: readonly Heard[], { paint, columns }: Style): string => {
  const { sampleRateHz, channels } = input.format
  const name = file === '-' ? 'standard input' : plainText(basename(file))
  const head = `${paint('bold', name)} ${paint('dim', `${sampleRateHz} Hz, ${channels === 1 ? 'mono' : 'stereo'}`)}\n`
  if (heard.length === 0) return `${head}  no speech\n`
  return head + heard.map((segment) => segmentText(segment, channels, paint, columns)).join('')
}

const segmentText = (segment: Heard, channels: number, paint: Paint, columns: number): string => {
  const channel = channels === 1 ? '' : `${segment.channel}  `
  const place = `  ${clock(segment)}  ${channel}`
  if (segment.type === 'no-match') return `${paint('dim', `${place}      no match`)}\n`
  const { text, confidence, slots = {}, isIncomplete } = segment
  const indent = ' '.repeat(place.length + 6)
  const lines = (content: string): readonly string[] => wrapText(plainText(content), columns - indent.length)
  const said = lines(isIncomplete ? `${text} …` : text).join(`\n${indent}`)
  const pairs = Object.entries(slots).map(([name, value = '']) => `${name}: ${value}`)
  const tags = lines(pairs.join(', ')).map((line) => `${indent}${paint('green', line)}\n`)
  return `${paint('dim', place)}${confidence.toFixed(2)}  ${said}\n${tags.join('')}`
}

const jsonOf = (file: string, { format, durationMs }: AudioInput, heard: readonly Heard[]): unknown => ({
  file,
  format,
  durationMs: durationMs ?? null,
  segments: heard.map((segment) => {
    const { type, channel, startMs, endMs } = segment
    if (segment.type === 'no-match') return { type, channel, startMs, endMs }
    const { text, confidence, words, slots = null, isIncomplete } = segment
    return { type, channel, startMs, endMs, text: text.trim(), confidence, words, slots, isIncomplete }
  }),
})
