import type { MelSpectrum } from './cepstral-mean.js'

/** A word as the package gives it: text, begin and duration in seconds, posterior. */
export interface AlignedWord {
  readonly t: string
  readonly b: number
  readonly d: number
  readonly p: number
}

/** The part of a decoder of the package `soundswallower` that is used here. All but two calls are synchronous. */
export interface Decoder {
  initialize(): Promise<void>
  /** Takes the settings up again and forgets what was heard before. */
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

export interface SoundswallowerModule {
  readonly Decoder: new (settings: Readonly<Record<string, string | number | boolean>>) => Decoder
}

type CreateModule = (settings: {
  readonly modelBase: string
  readonly defaultModel: string
  readonly print: (line: string) => void
  readonly printErr: (line: string) => void
}) => Promise<SoundswallowerModule>

/**
 * Loads the package and its WebAssembly. It installs handlers for the whole process's uncaught exceptions, so load it
 * in a worker only. Its own log is dropped: what matters of it is thrown.
 */
export const loadSoundswallower = async (modelBase: string, language: string): Promise<SoundswallowerModule> => {
  const { default: createModule } = (await import('soundswallower')) as unknown as { readonly default: CreateModule }
  const drop = (): void => undefined
  return createModule({ modelBase, defaultModel: language, print: drop, printErr: drop })
}
