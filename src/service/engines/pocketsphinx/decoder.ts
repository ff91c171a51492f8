import { SpeechError } from '../../../errors/speech-error.js'
import type { Word } from '../../../protocol/session-event.js'
import { spokenWords, textOf } from '../decoded-words.js'
import type { ModelDescription } from '../engine.js'
import { badGrammar, unknownPhone, unknownWords } from '../models/grammar.js'
import { invalidModel } from '../models/model-json.js'
import type { DecodedSegment, SegmentDecoder, SegmentSpan } from '../pool/leased-segment.js'
import type { DecoderPointer, SphinxLibrary } from './library.js'
import type { SphinxModel } from './model.js'
import { aptCommand } from './native-library.js'

const decoderFailed = (step: string): Error => new Error(`The decoder could not ${step}.`)

/**
 * A decoder with its language model. Its calls run one at a time; `free` waits for the call that runs, and calls after
 * it reject.
 */
export class SphinxDecoder implements SegmentDecoder {
  readonly #library: SphinxLibrary
  readonly #pointer: DecoderPointer
  readonly #initialMean: Float32Array
  readonly #hasGrammar: boolean
  #lastCall: Promise<unknown> = Promise.resolve()
  #state: 'idle' | 'open' | 'freed' = 'idle'
  #text = ''
  #sampleCount = 0

  constructor(library: SphinxLibrary, pointer: DecoderPointer, { search }: SphinxModel) {
    this.#library = library
    this.#pointer = pointer
    this.#hasGrammar = search.type === 'grammar'
    this.#initialMean = library.mean(pointer)
  }

  /**
   * Begins a segment as if it were the decoder's first. The mean cepstrum that the segment before has left behind belongs to
   * another session, and contains its silence.
   */
  begin(): Promise<void> {
    return this.#call(() => {
      this.#text = ''
      this.#sampleCount = 0
      if (!this.#library.begin(this.#pointer, this.#initialMean)) throw decoderFailed('begin a segment')
      this.#state = 'open'
    })
  }

  process(samples: Int16Array): Promise<string | undefined> {
    return this.#call(async () => {
      this.#sampleCount += samples.length
      if (!(await this.#library.process(this.#pointer, samples))) throw decoderFailed('decode')
      const text = this.#library.text(this.#pointer)
      if (text === this.#text) return undefined
      this.#text = text
      return text
    })
  }

  /**
   * At the end of the audio the library has no words if they are no whole sentence of the grammar, or if no word of the language
   * model ends there, as within a word. If the audio was cut, those count that it had before; those of a language model with a
   * confidence of 0, because the library knows none before the end.
   */
  async end({ startMs, endMs, isCut }: SegmentSpan, isCancelled: () => boolean): Promise<DecodedSegment> {
    const read = async (): Promise<readonly Word[]> =>
      spokenWords(await this.#call(() => this.#library.words(this.#pointer)), startMs, endMs)
    const hasAudio = this.#sampleCount > 0 && !isCancelled()
    const open = hasAudio && isCut ? await read() : []
    await this.cancel()
    if (isCancelled() || !hasAudio) return { words: [] }
    const words = await read()
    if (words.length > 0 || open.length === 0) return { words }
    const kept = this.#hasGrammar ? open : open.map((word) => ({ ...word, confidence: 0 }))
    return { words: kept, text: { text: textOf(open), isIncomplete: true } }
  }

  /** Ends the segment if one is open. */
  cancel(): Promise<void> {
    return this.#call(async () => {
      if (this.#state !== 'open') return
      this.#state = 'idle'
      if (!(await this.#library.end(this.#pointer))) throw decoderFailed('end a segment')
    })
  }

  /** Idempotent. */
  free(): Promise<void> {
    const free = (): void => {
      if (this.#state !== 'freed') this.#library.free(this.#pointer)
      this.#state = 'freed'
    }
    const freed = this.#lastCall.then(free, free)
    this.#lastCall = freed
    return freed
  }

  #call<T>(step: () => T | Promise<T>): Promise<T> {
    const run = (): T | Promise<T> => {
      if (this.#state === 'freed') throw decoderFailed('continue: it was freed')
      return step()
    }
    const result = this.#lastCall.then(run, run)
    this.#lastCall = result.catch(() => undefined)
    return result
  }
}

/** Adds the words of the model. Returns why the library refuses one, as a sentence. */
const addWords = (library: SphinxLibrary, decoder: DecoderPointer, { words }: SphinxModel): string | undefined => {
  const refused = words.find(([word, phones], at) => !library.addWord(decoder, word, phones, at === words.length - 1))
  return refused && unknownPhone(refused[0])
}

/** Gives the decoder its model. Returns why it refuses the model, as a sentence. */
const setModel = async (
  library: SphinxLibrary,
  decoder: DecoderPointer,
  model: SphinxModel,
): Promise<string | undefined> => {
  const { search } = model
  if (search.type === 'languageModel') {
    // The words follow, because adding a word adds it to the language model, too.
    if (await library.setLanguageModel(decoder, search.path)) return addWords(library, decoder, model)
    return 'the file that "languageModel" names is not an n-gram model, ARPA or binary, that the engine accepts.'
  }
  const refused = addWords(library, decoder, model)
  if (refused !== undefined) return refused
  const unknown = search.grammar.words.filter((word) => !library.isKnown(decoder, word))
  if (unknown.length > 0) return unknownWords(unknown)
  return (await library.setGrammar(decoder, search.grammar.jsgf)) ? undefined : badGrammar
}

/** Creates a decoder with its model. Rejects with `invalid-model` or `missing-dependency`. */
export const createSphinxDecoder = async (
  library: SphinxLibrary,
  description: ModelDescription,
  model: SphinxModel,
): Promise<SphinxDecoder> => {
  const decoder = await library.createDecoder(model.settings)
  if (decoder === undefined) {
    const sentence = `The acoustic model or the dictionary can't be used; install them again: ${aptCommand}.`
    throw new SpeechError('missing-dependency', sentence)
  }
  try {
    const refusal = await setModel(library, decoder, model)
    if (refusal !== undefined) throw invalidModel(description, refusal)
    return new SphinxDecoder(library, decoder, model)
  } catch (error) {
    library.free(decoder)
    throw error
  }
}
