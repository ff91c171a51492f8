import { isMainThread, parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { sayBusyTime } from '../pool/busy-time.js'
import { Shelf } from '../pool/resource-pool.js'
import { badGrammar, unknownPhone, unknownWords } from '../models/grammar-file.js'
import { LentSegment, type SegmentAnswer } from '../pool/leased-segment.js'
import { takeNextOf } from '../pool/take-next.js'
import type { FromWorker, ToWorker } from '../pool/worker-messages.js'
import { SegmentDecoder } from './segment-decoder.js'
import { decoderRateHz, type WorkerSettings } from './worker-settings.js'
import { loadSoundswallower, type Decoder } from './package.js'

/** Wider than the package's own: with those, a rule of many digits pushes the right words out after 100 ms. */
const beams = { beam: 1e-64, pbeam: 1e-64, wbeam: 1e-48 }

const addWords = (decoder: Decoder, { dictionary }: WorkerSettings): string | undefined => {
  const failed = dictionary.find((entry) => {
    try {
      decoder.add_words(entry)
      return false
    } catch {
      return true
    }
  })
  return failed && unknownPhone(failed[0])
}

const lookUpWords = (decoder: Decoder, { words }: WorkerSettings): string | undefined => {
  const unknown = words.filter((word) => decoder.lookup_word(word) === null)
  return unknown.length === 0 ? undefined : unknownWords(unknown)
}

/** Why the decoder can't take the model, as a sentence; nothing when it can. */
const takeModel = (decoder: Decoder, settings: WorkerSettings): string | undefined => {
  const refusal = addWords(decoder, settings) ?? lookUpWords(decoder, settings)
  if (refusal !== undefined) return refusal
  try {
    decoder.set_grammar(settings.grammar)
    return undefined
  } catch {
    return badGrammar
  }
}

/** A trap leaves the memory of all decoders in doubt: the worker ends. */
const endThreadOnTrap = (error: unknown): void => {
  if (!(error instanceof WebAssembly.RuntimeError)) return
  setImmediate(() => {
    throw error
  })
}

/** The segments of one worker, and the decoders that they share. */
class Segments {
  private readonly running = new Map<number, LentSegment>()

  constructor(
    private readonly decoders: Shelf<SegmentDecoder>,
    private readonly say: (message: FromWorker) => void,
    private readonly takeNext: () => ToWorker | undefined,
  ) {}

  /** Takes all that was sent so far, so that an abort overtakes the audio before it that is not read yet. */
  receive(message: ToWorker): void {
    this.take(message)
    this.takeRest()
  }

  private takeRest(): void {
    for (let next = this.takeNext(); next !== undefined; next = this.takeNext()) this.take(next)
  }

  private take(message: ToWorker): void {
    const { type, segment } = message
    if (type === 'open') {
      this.running.set(segment, new LentSegment(message.startMs, this.decoders, this.answerOf(segment)))
    } else if (type === 'audio') {
      this.running.get(segment)?.hear(message.samples)
    } else if (type === 'close') {
      // It stays until it is answered: who leaves meanwhile needs no second reading.
      this.running.get(segment)?.close(message.endMs)
    } else {
      this.running.get(segment)?.abort()
      this.running.delete(segment)
    }
  }

  private answerOf(segment: number): SegmentAnswer {
    return {
      taken: (sampleCount, partial) => {
        this.say({ type: 'taken', segment, sampleCount, ...(partial !== undefined && { partial }) })
        this.takeRest()
      },
      decided: (words) => {
        this.running.delete(segment)
        this.say({ type: 'decided', segment, words })
      },
      failed: () => {
        this.running.delete(segment)
        this.say({ type: 'failed', segment })
      },
      broke: endThreadOnTrap,
    }
  }
}

const start = async (port: MessagePort, settings: WorkerSettings): Promise<void> => {
  const say = sayBusyTime((message) => port.postMessage(message))
  const working = (): void => say({ type: 'working' })
  const soundswallower = await loadSoundswallower(settings.modelBase, settings.language)
  const make = async (): Promise<Decoder> => {
    const decoder = new soundswallower.Decoder({ samprate: decoderRateHz, loglevel: 'FATAL', ...beams })
    await decoder.initialize()
    return decoder
  }
  const first = await make()
  const refusal = takeModel(first, settings)
  if (refusal !== undefined) {
    say({ type: 'refused', sentence: refusal })
    return
  }
  const decoders = new Shelf(settings.maxDecoders, async () => {
    const decoder = await make()
    takeModel(decoder, settings)
    return new SegmentDecoder(decoder, working)
  })
  decoders.add(new SegmentDecoder(first, working))
  const segments = new Segments(decoders, say, takeNextOf(port))
  port.on('message', (message: ToWorker) => segments.receive(message))
  say({ type: 'ready' })
}

const isSettings = (data: unknown): data is WorkerSettings =>
  typeof data === 'object' && data !== null && 'type' in data && data.type === 'rxspeech-soundswallower'

// Only a thread that was started with settings of ours does anything; to import this file does nothing
if (!isMainThread && parentPort !== null && isSettings(workerData)) void start(parentPort, workerData)
