import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { bandFrame, bandRateHz } from './telephone-band.js'

/** The functions used of the WebAssembly build of WebRTC's voice activity detector. */
interface FvadModule {
  _fvad_new(): number
  _fvad_free(handle: number): void
  _fvad_set_mode(handle: number, mode: number): number
  _fvad_set_sample_rate(handle: number, sampleRateHz: number): number
  _fvad_process(handle: number, samples: number, count: number): number
  _malloc(bytes: number): number
  /** Replaced whenever the module's memory grows, so it must not be kept. */
  readonly HEAP16: Int16Array
}

/** The detector of one channel. */
export interface Fvad {
  /** WebRTC's verdict on a frame of 10 ms at 8 kHz. It stays true for some frames after the voice. */
  process(frame: Int16Array): boolean
  /** 0 (easiest to trigger) to 3. Keeps the detector's history. */
  setMode(mode: number): void
  free(): void
}

interface LoadedModule {
  readonly wasm: FvadModule
  /** Memory for one frame, shared by all channels, because no call leaves data in it. */
  readonly frameAddress: number
}

const frameBytes = bandFrame * 2

const loadModule = async (): Promise<LoadedModule> => {
  // @ts-expect-error: the package has no declarations
  const { default: create } = (await import('@echogarden/fvad-wasm')) as { readonly default: () => Promise<FvadModule> }
  const wasm = await create()
  return { wasm, frameAddress: wasm._malloc(frameBytes) }
}

let loading: Promise<LoadedModule> | undefined

/** Loads the module once for the process; after a failure the next call tries again. */
const loadOnce = (): Promise<LoadedModule> => {
  loading ??= loadModule().catch((error: unknown) => {
    loading = undefined
    throw error
  })
  return loading
}

/** Loads the detector ahead of the first session. */
export const loadVoiceActivity = async (): Promise<void> => {
  await loadOnce()
}

/** Opens a detector for one channel. `mode` is 0 (easiest to trigger) to 3. */
export const openFvad = async (mode: number): Promise<Fvad> => {
  const { wasm, frameAddress } = await loadOnce()
  const handle = wasm._fvad_new()
  if (handle === 0)
    throw new SpeechError('overloaded', 'There is no memory for another voice detector; try again later.')
  wasm._fvad_set_mode(handle, mode)
  wasm._fvad_set_sample_rate(handle, bandRateHz)
  let isOpen = true
  return {
    process(frame) {
      if (!isOpen) return false
      wasm.HEAP16.set(frame, frameAddress >> 1)
      return wasm._fvad_process(handle, frameAddress, frame.length) === 1
    },
    setMode(mode) {
      if (isOpen) wasm._fvad_set_mode(handle, mode)
    },
    free() {
      if (isOpen) wasm._fvad_free(handle)
      isOpen = false
    },
  }
}
