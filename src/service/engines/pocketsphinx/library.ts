import type { DecodedWord } from '../decoded-words.js'

/** A decoder of the library: an address, of which only the library knows more. */
export type DecoderPointer = object

/**
 * What is used of libpocketsphinx 5 (0.8+5prealpha, `libpocketsphinx.so.3`). What takes long runs in a thread and gives
 * a promise; one decoder takes one call at a time. `false` and `undefined` are the library's -1 and NULL, of which it
 * gives no reason.
 */
export interface SphinxLibrary {
  /** Settings by their names in the library, such as `hmm` and `samprate`. */
  make(settings: Readonly<Record<string, string>>): Promise<DecoderPointer | undefined>
  free(decoder: DecoderPointer): void
  isKnown(decoder: DecoderPointer, word: string): boolean
  /** `isLast` takes all that were added into use. */
  addWord(decoder: DecoderPointer, word: string, phones: string, isLast: boolean): boolean
  setLanguageModel(decoder: DecoderPointer, path: string): Promise<boolean>
  setGrammar(decoder: DecoderPointer, jsgf: string): Promise<boolean>
  /** The mean cepstrum that the decoder takes off at this moment: the color of the line and of the voice. */
  mean(decoder: DecoderPointer): Float32Array
  /** Begins an utterance that knows nothing of those before, with this mean. */
  begin(decoder: DecoderPointer, mean: Float32Array): boolean
  process(decoder: DecoderPointer, samples: Int16Array): Promise<boolean>
  /** What was said so far, without silences and noises. */
  text(decoder: DecoderPointer): string
  end(decoder: DecoderPointer): Promise<boolean>
  /** After the end: words with their posteriors, silences and noises among them. */
  words(decoder: DecoderPointer): Promise<readonly DecodedWord[]>
}
