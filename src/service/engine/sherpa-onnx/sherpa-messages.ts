/** What a worker is started with. */
export interface SherpaSettings {
  readonly type: 'rxspeech-sherpa-onnx'
  /** As the package takes it. */
  readonly config: object
  readonly sampleRateHz: number
}
