import type { SherpaRecognizer, SherpaResult, SherpaStream } from '../../src/sherpa-onnx/package.js'

/** A sample above this counts as speech. */
const loud = 0.01
const words = ['ten', 'of', 'clubs']
/** A streaming model decodes in steps of this many samples. */
const stepSamples = 2560

class FakeStream implements SherpaStream {
  waiting = 0
  decoded = 0
  speechSteps = 0
  finished = false
  readonly options = new Map<string, string>()
  #hasSpeech = false

  acceptWaveform({ samples }: { readonly samples: Float32Array }): void {
    this.waiting += samples.length
    this.#hasSpeech ||= samples.some((sample) => Math.abs(sample) > loud)
  }

  setOption(key: string, value: string): void {
    this.options.set(key, value)
  }

  inputFinished(): void {
    this.finished = true
  }

  step(): void {
    this.waiting = Math.max(this.waiting - stepSamples, 0)
    if (this.#hasSpeech) this.speechSteps += 1
    this.decoded += 1
  }
}

/**
 * A recognizer that finds "ten of clubs" in any speech, with one more word every second step, in the format of the
 * package.
 */
export const fakeRecognizer = (): SherpaRecognizer & { readonly streams: () => number } => {
  let streams = 0
  const fake = (stream: SherpaStream): FakeStream => {
    if (stream instanceof FakeStream) return stream
    throw new TypeError('This stream is of another recognizer.')
  }
  return {
    streams: () => streams,
    createStream: () => {
      streams += 1
      return new FakeStream()
    },
    isReady: (stream) => fake(stream).waiting >= stepSamples || (fake(stream).finished && fake(stream).waiting > 0),
    decode: (stream) => fake(stream).step(),
    getResult: (stream): SherpaResult => {
      const { speechSteps, finished } = fake(stream)
      const count = speechSteps === 0 ? 0 : finished ? words.length : Math.min(Math.ceil(speechSteps / 2), words.length)
      const found = words.slice(0, count)
      const tokens = found.flatMap((word) => [`\u2581${word.slice(0, 1)}`, word.slice(1)])
      return {
        text: ` ${found.join(' ')}`,
        tokens,
        timestamps: tokens.map((_, at) => at * 0.1),
        ys_probs: tokens.map(() => -0.1),
      }
    },
  }
}
