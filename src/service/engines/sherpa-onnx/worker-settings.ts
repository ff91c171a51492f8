/** What a worker, and the process that tries the model before, is started with. */
export interface SherpaSettings {
  readonly type: 'rxspeech-sherpa-onnx'
  /** As the package takes it. */
  readonly config: object
  readonly sampleRateHz: number
}

export const isSherpaSettings = (data: unknown): data is SherpaSettings =>
  typeof data === 'object' && data !== null && 'type' in data && data.type === 'rxspeech-sherpa-onnx'
