import { sizeText } from 'rxspeech-engines/catalogue/disk-space'
import { modelLabel } from 'rxspeech-engines/models/model-json'
import { bytesForMs, msForBytes } from 'rxspeech/internal/audio/format'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { modelAt, modelFolders, type modelReportFlags } from '../input/find-models.js'
import { openInput, type AudioInput } from '../input/open-input.js'
import type { CommandCall } from '../parsing/command.js'
import { wrapText } from '../parsing/help-text.js'
import { acquire, watchInterruption } from '../process/interruption.js'
import { processUse } from '../process/process-use.js'
import { sampleCall } from '../process/package-files.js'
import { hear, type Heard } from '../transcription/hear.js'
import { defaultColumns } from '../view/live-screen.js'
import { paintFor, type Paint } from '../view/paint.js'
import { plainText, secondsText } from '../view/plain-text.js'

/** How much of a recording is read, in milliseconds. */
const maxAudioMs = 10_000

/** What a model needs, and what it reads. */
interface Checked {
  readonly model: string
  readonly engine: string
  readonly loadMs: number
  readonly audioMs: number
  /** How long the engine worked on the audio. */
  readonly busyMs: number
  readonly realTimeFactor: number
  /** Of this process and the engine's, beyond what the command itself takes; null where the system does not tell. */
  readonly memoryBytes: number | null
  readonly text: string
}

/** Loads a model, reads the beginning of a recording, and prints what that took. */
export const checkModel = async (
  {
    argument: file = sampleCall(),
    flags: { models, json },
    host,
    output,
  }: CommandCall<typeof modelReportFlags, string | undefined>,
  name: string,
): Promise<void> => {
  const folders = modelFolders(models, host)
  const model = modelAt(name, folders)
  const { engine: engineName } = model.options
  const kind = folders.kinds.find((one) => one.name === engineName)
  if (kind === undefined) throw new SpeechError('invalid-model', `No engine here is called ${engineName}.`)
  const { signal, release } = watchInterruption(host, { also: output.closed })
  try {
    const input = await openInput({ file }, host, { signal })
    const [startMs, before] = [performance.now(), processUse('self')?.memoryBytes]
    // Partials would be read beside the segments that are measured.
    const engine = await acquire(
      kind.open({ ...model, options: { ...model.options, ...kind.withoutPartials } }),
      signal,
    )
    try {
      const loadMs = performance.now() - startMs
      const taken = beginningOf(input)
      const readMs = performance.now()
      const heard = await hear(engine, taken, signal).finally(input.close)
      signal.throwIfAborted()
      const audioMs = taken.takenMs()
      const fault = input.fault()
      if (fault !== undefined) throw fault
      const busyMs = engine.busyMs?.() ?? performance.now() - readMs
      const after = processUse('self')?.memoryBytes
      const checked: Checked = {
        model: modelLabel(model),
        engine: engineName,
        loadMs: Math.round(loadMs),
        audioMs: Math.round(audioMs),
        busyMs: Math.round(busyMs),
        realTimeFactor: Number((busyMs / Math.max(1, audioMs)).toFixed(3)),
        memoryBytes: before === undefined || after === undefined ? null : Math.max(0, after - before),
        text: textOf(heard),
      }
      const columns = output.terminal.columns ?? defaultColumns
      output.write(json ? `${JSON.stringify(checked)}\n` : report(checked, paintFor(host.stdout, host.env), columns))
    } finally {
      await engine.close()
    }
  } finally {
    release()
  }
}

/** The beginning of a recording, and how much of it was taken. */
const beginningOf = ({ format, audio }: AudioInput) => {
  const maxBytes = bytesForMs(format, maxAudioMs)
  let byteCount = 0
  const beginning = async function* (): AsyncGenerator<Uint8Array, undefined> {
    for await (const piece of audio) {
      const kept = piece.subarray(0, maxBytes - byteCount)
      byteCount += kept.length
      if (kept.length > 0) yield kept
      if (byteCount >= maxBytes) return undefined
    }
    return undefined
  }
  return { format, audio: beginning(), takenMs: () => msForBytes(format, byteCount) }
}

const textOf = (heard: readonly Heard[]): string =>
  heard.flatMap((segment) => (segment.type === 'milestone' ? [segment.text.trim()] : [])).join(' ')

const report = (checked: Checked, paint: Paint, columns: number): string => {
  const { model, engine, loadMs, audioMs, busyMs, realTimeFactor, memoryBytes, text } = checked
  const words = text === '' ? ['none'] : wrapText(plainText(text), columns - 12)
  const rows: readonly (readonly [string, string])[] = [
    ['loaded in', secondsText(loadMs)],
    ['read', `${secondsText(audioMs)} of audio in ${secondsText(busyMs)}, ${realTimeFactor} of real time`],
    ['memory', memoryBytes === null ? 'not known on this system' : sizeText(memoryBytes)],
    ['words', words.join(`\n${' '.repeat(12)}`)],
  ]
  const lines = rows.map(([title, value]) => `${paint('dim', `  ${title}`.padEnd(12))}${value}\n`)
  return `${paint('bold', model)} ${paint('dim', engine)}\n${lines.join('')}`
}
