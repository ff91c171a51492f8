import type { StartPoolWorker } from '../../../../src/service/engines/pool/worker-pool.js'
import type { SherpaHost } from '../../../../src/service/engines/sherpa-onnx/sherpa-onnx.js'
import type {
  SherpaSettings,
  SherpaRecognizer,
  SherpaResult,
  SherpaStream,
} from '../../../../src/service/engines/sherpa-onnx/package.js'
import { SherpaSegments } from '../../../../src/service/engines/sherpa-onnx/segments.js'
import type { FromWorker, ToWorker } from '../../../../src/service/engines/pool/worker-messages.js'

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
  #hasSpeech = false

  acceptWaveform({ samples }: { readonly samples: Float32Array }): void {
    this.waiting += samples.length
    this.#hasSpeech ||= samples.some((sample) => Math.abs(sample) > loud)
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

/** A recognizer that finds "ten of clubs" in any speech, with one more word every second step, in the format of the package. */
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

export interface FakeThread extends SherpaHost {
  /** The settings of each worker that was started. */
  readonly settings: SherpaSettings[]
  /** Ends all running workers, as a crash does. */
  readonly crash: () => void
}

/** Workers in this thread: messages are copied and arrive asynchronously, as between threads. */
export const fakeThreads = (make: () => SherpaRecognizer = fakeRecognizer): FakeThread => {
  const settings: SherpaSettings[] = []
  const running = new Set<() => void>()
  const start =
    (given: SherpaSettings): StartPoolWorker =>
    ({ message, ended }) => {
      settings.push(given)
      const inbox: ToWorker[] = []
      let alive = true
      const later = (work: () => void): void => {
        setImmediate(() => {
          if (alive) work()
        })
      }
      const post = (found: FromWorker): void => later(() => message(found))
      const segments = new SherpaSegments(make(), given.sampleRateHz, post, () => inbox.shift())
      const end = (): void => {
        if (!alive) return
        alive = false
        running.delete(end)
        setImmediate(() => ended(undefined))
      }
      running.add(end)
      post({ type: 'ready' })
      return {
        post: (sent) => {
          inbox.push(structuredClone(sent))
          later(() => {
            const next = inbox.shift()
            if (next !== undefined) segments.receive(next)
          })
        },
        setBusy: () => undefined,
        terminate: async () => {
          end()
          await new Promise((resolve) => setImmediate(resolve))
        },
      }
    }
  return { check: () => Promise.resolve(), start, settings, crash: () => [...running].forEach((end) => end()) }
}
