/**
 * The used part of the package, which has no types: functions of SpeexDSP in speex_resampler.h on an Emscripten heap.
 */
declare module '@echogarden/speex-resampler-wasm' {
  export interface SpeexModule {
    /** Views of the heap. They are replaced when it grows, so read them again after every allocation. */
    readonly HEAP16: Int16Array
    readonly HEAPU32: Uint32Array
    _malloc(byteCount: number): number
    _free(address: number): void
    _speex_resampler_init(channels: number, fromHz: number, toHz: number, quality: number, errorAddress: number): number
    _speex_resampler_destroy(state: number): void
    _speex_resampler_skip_zeros(state: number): number
    _speex_resampler_get_input_latency(state: number): number
    /** Frames are counted per channel; both counts are replaced by the numbers that were used. Returns 0 on success. */
    _speex_resampler_process_interleaved_int(
      state: number,
      inputAddress: number,
      inputFramesAddress: number,
      outputAddress: number,
      outputFramesAddress: number,
    ): number
  }
  export default function load(options?: { readonly printErr?: (line: string) => void }): Promise<SpeexModule>
}
