import { basename } from 'node:path'
import { languageRefusal } from 'rxspeech-engines/session-language'
import { readSessionPhrases, requirePhrases } from 'rxspeech-engines/session-phrases'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { primaryLanguage } from 'rxspeech/internal/protocol/language'
import { expandFiles } from '../input/file-names.js'
import { modelAt, modelFolders, namedModelFlags } from '../input/find-models.js'
import { openInput, type AudioInput } from '../input/open-input.js'
import { rawFlags, rawFormat } from '../input/raw-flags.js'
import type { CommandCall } from '../parsing/command.js'
import { wrapText } from '../parsing/help-text.js'
import { phraseFlags, typedPhrases } from '../input/phrase-flags.js'
import { jsonFlag, languageFlags } from '../parsing/service-flags.js'
import { exitCode, failureOf, SilentExit } from '../process/failure.js'
import { acquire, watchInterruption } from '../process/interruption.js'
import { hear, type Heard } from '../transcription/hear.js'
import { defaultColumns } from '../view/live-screen.js'
import { paintFor, type Paint, type TextStyle } from '../view/paint.js'
import { plainText } from '../view/plain-text.js'
import { clockText } from '../view/transcript-line.js'

/** In errors, as of a service. */
const phrasesName = 'Phrases'

export const hearFlags = { ...namedModelFlags, ...rawFlags, ...languageFlags, ...phraseFlags, json: jsonFlag }

/** Recognizes recordings with a model in this process, and shows each segment. Exit code 3 if a file cannot be read. */
export const hearFiles = async (
  { argument: typed, flags, host, output }: CommandCall<typeof hearFlags, readonly string[]>,
  name: string,
): Promise<void> => {
  const { models, json } = flags
  const raw = rawFormat(flags)
  const phrases = readSessionPhrases(typedPhrases(flags), phrasesName)
  const language = flags.language === undefined ? undefined : primaryLanguage(flags.language)
  const folders = modelFolders(models, host)
  const model = modelAt(name, folders)
  const kind = folders.kinds.find((one) => one.name === model.options.engine)
  if (kind === undefined) throw new SpeechError('invalid-model', `No engine here is called ${model.options.engine}.`)
  const files = (await expandFiles(typed)).map(({ file }) => file)
  const { signal, release } = watchInterruption(host, { also: output.closed })
  let hasFailed = false
  try {
    const engine = await acquire(kind.open(model), signal)
    try {
      const refusal = languageRefusal(engine, language, '--language')
      if (refusal !== undefined) throw refusal
      await requirePhrases(engine, phrases, phrasesName)
      const style = { paint: paintFor(host.stdout, host.env), columns: output.terminal.columns ?? defaultColumns }
      for (const file of files) {
        try {
          const input = await openInput({ file, raw }, host, { signal })
          const heard = await hear(engine, input, signal, { language, phrases }).finally(input.close)
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

/** Columns of the times, the channel and the confidence before a text. */
const clock = ({ startMs, endMs }: Heard): string => `${clockText(startMs)} – ${clockText(endMs)}`

const textOf = (file: string, input: AudioInput, heard: readonly Heard[], { paint, columns }: TextStyle): string => {
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
  return `${paint('dim', place)}${confidence?.toFixed(2) ?? ' –  '}  ${said}\n${tags.join('')}`
}

const jsonOf = (file: string, { format, durationMs }: AudioInput, heard: readonly Heard[]): unknown => ({
  file,
  format,
  durationMs: durationMs ?? null,
  segments: heard.map((segment) => {
    const { type, channel, startMs, endMs } = segment
    if (segment.type === 'no-match') return { type, channel, startMs, endMs }
    const { text, confidence, words, slots = null, isIncomplete = false } = segment
    return { type, channel, startMs, endMs, text: text.trim(), confidence, words, slots, isIncomplete }
  }),
})
