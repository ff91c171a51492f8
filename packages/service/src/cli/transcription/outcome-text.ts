import type { ModelDescription } from 'rxspeech-engines/engine'
import { isGrammarModel, whatItReads } from 'rxspeech-engines/models/what-it-reads'
import { exitCode, type SilentExit } from '../process/failure.js'
import { embeddedModel, missingEmbeddedModel } from '../process/package-files.js'
import { secondsText } from '../view/plain-text.js'
import { summaryLine } from '../view/transcript-reader.js'
import type { Outcome } from './run-recording.js'

/**
 * `interrupted at 12.9 s` of the audio, and the numbers of what was transcribed. Empty if no session had begun, or if
 * the reader of the output has enough of it.
 */
export const interruptedText = ({ counts, run, sentMs }: Outcome, exit: SilentExit): string => {
  if (exit.exitCode === exitCode.done) return ''
  if (run !== undefined) return summaryLine(counts, run).replace(/^(.*?) of audio/, 'interrupted at $1')
  return sentMs === undefined ? '' : `interrupted at ${secondsText(sentMs)}, without the results of its last audio`
}

/** Why complete recordings have no words: a grammar that is not theirs, or no speech. */
export const withoutWordsText = (
  outcomes: readonly (Outcome | undefined)[],
  model: ModelDescription | undefined,
): readonly string[] => {
  const isEmpty = outcomes.every((outcome) => outcome?.run !== undefined && outcome.counts.words === 0)
  if (!isEmpty || model === undefined) return []
  if (!isGrammarModel(model.options)) return ['rxspeech: No speech was found.']
  const install = missingEmbeddedModel() === undefined ? '' : `, after npm install ${embeddedModel.package}`
  return [
    `rxspeech: The model ${model.name} recognizes ${whatItReads(model.options)} only, and found none. ` +
      `For any English speech take --model ${embeddedModel.name}${install}.`,
  ]
}
