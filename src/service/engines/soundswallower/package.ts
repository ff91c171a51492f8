import { dirname, join, sep } from 'node:path'
import { loadOptional, resolveOptional } from '../../threads/load-optional.js'
import type { MelSpectrum } from './cepstral-mean.js'

/** A word as the package returns it: text, begin and duration in seconds, posterior. */
export interface AlignedWord {
  readonly t: string
  readonly b: number
  readonly d: number
  readonly p: number
}

/** The part of a decoder of the package `soundswallower` that is used here. All calls but two are synchronous. */
export interface Decoder {
  initialize(): Promise<void>
  /** Applies changed settings and forgets earlier audio. */
  reinitialize_audio(): Promise<void>
  set_config(key: string, value: string | number): boolean
  set_grammar(jsgf: string): void
  add_words(...words: readonly (readonly [string, string])[]): void
  lookup_word(word: string): string | null
  start(): void
  process_audio(samples: Float32Array): number
  stop(): void
  get_text(): string
  get_alignment(): { readonly w?: readonly AlignedWord[] }
  spectrogram(samples: Float32Array): MelSpectrum
  delete(): void
}

export interface SoundswallowerPackage {
  readonly Decoder: new (settings: Readonly<Record<string, string | number | boolean>>) => Decoder
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
  const { default: createPackage } = await loadOptional<{ readonly default: CreatePackage }>(
    'soundswallower',
    'This engine',
  )
  const drop = (): void => undefined
  return createPackage({ modelBase, defaultModel: language, print: drop, printErr: drop })
}

/**
 * Where the package keeps its acoustic models, with the trailing slash that it expects. Loads nothing. Throws
 * `missing-dependency`.
 */
export const findSoundswallowerModels = (): string =>
  join(dirname(resolveOptional('soundswallower', 'This engine')), 'model') + sep
