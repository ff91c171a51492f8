import { dirname, join, sep } from 'node:path'
import { resolveOptional } from '../threads/load-optional.js'
import type { GrammarGraph } from '../models/grammar-graph.js'
import type { MelSpectrum } from './cepstral-mean.js'

/** A word as the package returns it: text, begin and duration in seconds, posterior. */
export interface AlignedWord {
  readonly t: string
  readonly b: number
  readonly d: number
  readonly p: number
}

/**
 * Of `p`, which is 1.0001 to the power of a score and has three decimals. It is no posterior: longer words have a lower
 * one.
 */
const scoreBase = Math.log(1.0001)
const smallestP = 0.0005

/** The acoustic score of a word, relative to the best states of the acoustic model: 0 or less. */
export const alignedScore = ({ p }: Pick<AlignedWord, 'p'>): number => Math.log(Math.max(p, smallestP)) / scoreBase

/** The part of a decoder of the package `soundswallower` that is used here. All calls but two are synchronous. */
export interface Decoder {
  initialize(): Promise<void>
  /** Applies changed settings and forgets earlier audio. */
  reinitialize_audio(): Promise<void>
  set_config(key: string, value: string | number): boolean
  set_grammar(jsgf: string): void
  /** Words of the dictionary, between which silence is allowed. */
  set_align_text(text: string): void
  add_words(...words: readonly (readonly [string, string])[]): void
  lookup_word(word: string): string | null
  start(): void
  process_audio(samples: Float32Array): number
  stop(): void
  get_text(): string
  get_alignment(): { readonly w?: readonly AlignedWord[] }
  spectrogram(samples: Float32Array): MelSpectrum
  delete(): void
  /** Its address in the memory of the module. */
  readonly cdecoder: number
}

/**
 * The last six are functions and memory of the WebAssembly module, which the decoders of the package use themselves.
 */
export interface SoundswallowerPackage {
  readonly Decoder: new (settings: Readonly<Record<string, string | number | boolean>>) => Decoder
  readonly HEAPU8: Uint8Array
  readonly _malloc: (byteCount: number) => number
  readonly _free: (address: number) => void
  readonly _s3file_init: (address: number, byteCount: number) => number
  readonly _s3file_free: (file: number) => number
  readonly _decoder_init_grammar_s3file: (decoder: number, graph: number, jsgf: number) => number
}

/**
 * The decoder raises the probabilities of a graph to this power, unlike those of a grammar. It is the default of the
 * package.
 */
const languageWeight = 6.5

/**
 * A graph in the format of the package, with a zero at its end. `variantsOf` are the names of the other pronunciations
 * of a word. The package would find them itself, with every state of the graph for each: for 1,000 sentences that takes
 * a second.
 */
export const graphText = (
  { stateCount, final, arcs }: GrammarGraph,
  variantsOf: (word: string) => readonly string[],
): Uint8Array => {
  const lines = ['FSG_BEGIN grammar', `NUM_STATES ${stateCount}`, 'START_STATE 0', `FINAL_STATE ${final}`]
  for (const { from, to, word, weight } of arcs) {
    const arc = `TRANSITION ${from} ${to} ${Math.exp(weight / languageWeight).toFixed(9)}`
    if (word === undefined) lines.push(arc)
    else for (const name of [word, ...variantsOf(word)]) lines.push(`${arc} ${name}`)
  }
  return Buffer.from(`${lines.join('\n')}\nFSG_END\n\0`)
}

/** Gives a decoder a graph instead of a grammar, by its text. Throws if the package does not accept it. */
export const setGraph = (soundswallower: SoundswallowerPackage, decoder: Decoder, text: Uint8Array): void => {
  decoder.set_config('fsgusealtpron', 0)
  const address = soundswallower._malloc(text.length)
  if (address === 0) throw new Error('There is no memory for the graph.')
  soundswallower.HEAPU8.set(text, address)
  const file = soundswallower._s3file_init(address, text.length - 1)
  const result = soundswallower._decoder_init_grammar_s3file(decoder.cdecoder, file, 0)
  // The decoder has copied what it needs; its former graph is freed, too.
  soundswallower._s3file_free(file)
  soundswallower._free(address)
  if (result < 0) throw new Error('The package does not accept the graph.')
}

/** The rate of the audio that decoders get. */
export const decoderRateHz = 8000

/** Wider than the defaults of the package, with which a rule of many digits loses the right words after 100 ms. */
const beams = { beam: 1e-64, pbeam: 1e-64, wbeam: 1e-48 }

/** A decoder of the sentences of a grammar, which it does not have yet. */
export const createDecoder = async (soundswallower: SoundswallowerPackage): Promise<Decoder> => {
  const decoder = new soundswallower.Decoder({
    samprate: decoderRateHz,
    loglevel: 'FATAL',
    lw: languageWeight,
    ...beams,
  })
  await decoder.initialize()
  return decoder
}

type CreatePackage = (settings: {
  readonly modelBase: string
  readonly defaultModel: string
  readonly print: (line: string) => void
  readonly printErr: (line: string) => void
}) => Promise<SoundswallowerPackage>

/**
 * Loads the package and its WebAssembly. It handles uncaught exceptions of its whole process, so it is loaded only in a
 * worker. Its log is dropped, because errors are thrown.
 */
export const loadSoundswallower = async (modelBase: string, language: string): Promise<SoundswallowerPackage> => {
  const { default: createPackage } = (await import('soundswallower')) as unknown as { readonly default: CreatePackage }
  const drop = (): void => undefined
  return createPackage({ modelBase, defaultModel: language, print: drop, printErr: drop })
}

/**
 * Where the package keeps its acoustic models, with the trailing slash that it expects. Loads nothing. Throws
 * `missing-dependency`.
 */
export const findSoundswallowerModels = (): string =>
  join(dirname(resolveOptional('soundswallower', 'This engine', __filename)), 'model') + sep
