import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { isResult } from 'rxspeech/internal/operators/results/transcript'
import { decodeText } from 'rxspeech-engines/models/decode-text'
import type { InputFile } from '../input/recordings-in-folder.js'
import { usageError } from '../process/failure.js'
import { Segments } from '../view/segments.js'
import type { View } from '../view/view.js'
import type { ComparedText } from '../view/word-errors-view.js'
import { comparedWords } from 'rxspeech-engines/word-errors'

/** What was said in a recording: a text for each speaker, or one for the whole recording. */
export interface Reference {
  /** Undefined for the text of the whole recording. */
  readonly speaker?: string | undefined
  readonly text: string
}

/**
 * Reads what is said in each recording: the file of `--reference`, or the `.txt` files of that folder with the names of
 * the recordings. Rejects if one is missing, before anything is transcribed.
 */
export const readReferences = async (path: string, files: readonly InputFile[]): Promise<readonly string[]> => {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (isFolder) return Promise.all(files.map(({ stem }) => readReference(join(path, `${stem}.txt`))))
  if (files.length === 1) return [await readReference(path)]
  throw usageError(
    '--reference of several recordings must be a folder with a text for each, such as call.txt for call.wav.',
  )
}

/** Rejects with `source-failed` if the file cannot be read, is not text, or has no words. */
export const readReference = async (path: string): Promise<string> => {
  const bytes = await readFile(path).catch((error: unknown) => {
    const sentence = `${path} cannot be read (${codeOf(error) ?? 'unknown'}); choose another file for --reference.`
    throw new SpeechError('source-failed', sentence)
  })
  const text = decodeText(bytes)
  if (text === undefined) throw new SpeechError('source-failed', `${path} is not text in UTF-8; save it as UTF-8.`)
  if (comparedWords(text).length > 0) return text
  throw new SpeechError('source-failed', `${path} has no words; write what is said in the recording.`)
}

/**
 * The text of a transcript. Its lines may have the form of `transcribe`, `[mm:ss.s] speaker: text`, also with hours; if
 * any line names a speaker, lines without a name continue the one before.
 */
export const parseReference = (text: string, speakers: readonly string[]): readonly Reference[] => {
  const lines = text.split(/\r?\n/).map((line) => line.replace(/^\[(?:\d+:)?\d+:\d\d(?:[.,]\d+)?\]\s*/, ''))
  const bySpeaker = new Map<string, string[]>()
  const whole: string[] = []
  let current: string[] = whole
  for (const line of lines) {
    const speaker = speakers.find((name) => line.startsWith(`${name}:`))
    if (speaker !== undefined) {
      current = bySpeaker.get(speaker) ?? []
      bySpeaker.set(speaker, current)
    }
    current.push(speaker === undefined ? line : line.slice(speaker.length + 1))
  }
  if (bySpeaker.size === 0) return [{ text: whole.join(' ') }]
  return speakers.map((speaker) => ({ speaker, text: (bySpeaker.get(speaker) ?? []).join(' ') }))
}

/** Compares the text of a session with a reference. */
export class ReferenceComparison {
  readonly #reference: string
  readonly #read = new Segments()
  #speakers: readonly string[] = []

  constructor(reference: string) {
    this.#reference = reference
  }

  /** The same view, whose events are compared; `speakers` are the names of the channels. */
  watch(view: View, speakers: readonly string[]): View {
    this.#speakers = speakers
    return {
      ...view,
      event: (event, transcript) => {
        if (isResult(event)) this.#read.take(event)
        view.event(event, transcript)
      },
    }
  }

  /** What was said beside what was read, of each speaker. */
  texts(): readonly ComparedText[] {
    return parseReference(this.#reference, this.#speakers).map(({ speaker, text }) => ({
      speaker,
      said: text,
      read: this.#read.text(speaker === undefined ? undefined : this.#speakers.indexOf(speaker)),
    }))
  }
}
