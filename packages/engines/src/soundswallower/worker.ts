import { isMainThread, parentPort, workerData, type MessagePort } from 'node:worker_threads'
import type { RejectLevel } from 'rxspeech/internal/protocol/recognition-parameters'
import { withSlots } from '../decoded-words.js'
import { badGrammar, unknownPhone, unknownWords, type Pronunciation } from '../models/grammar.js'
import { createSlotReader, type SlotReader } from '../models/slots.js'
import { LeasedSegment, type LeasedSegmentListener } from '../pool/leased-segment.js'
import { ResourcePool } from '../pool/resource-pool.js'
import { reportBusyTime, takeNextFrom, type FromWorker, type ToWorker } from '../pool/worker-messages.js'
import { createDecoder, loadSoundswallower, type Decoder } from './package.js'
import { WorkerRejection } from './rejection.js'
import { TwoPassDecoder } from './segment-decoder.js'
import { WorkerGrammars } from './worker-grammars.js'

/** The `workerData` of this worker. */
export interface WorkerSettings {
  readonly type: 'rxspeech-soundswallower'
  /** The folder of the acoustic models, with a trailing slash. */
  readonly modelBase: string
  readonly language: 'en-us' | 'fr-fr'
  /** In JSGF. */
  readonly grammar: string
  /** The words of the grammar, which are looked up before it is used. */
  readonly words: readonly string[]
  readonly dictionary: readonly Pronunciation[]
  /** How readily foreign speech is rejected, unless a session sets another value. */
  readonly reject: RejectLevel
  readonly maxDecoders: number
}

const addWords = (decoder: Decoder, { dictionary }: WorkerSettings): string | undefined => {
  const refused = dictionary.find((entry) => {
    try {
      decoder.add_words(entry)
      return false
    } catch {
      return true
    }
  })
  return refused && unknownPhone(refused[0])
}

const lookUpWords = (decoder: Decoder, { words }: WorkerSettings): string | undefined => {
  const unknown = words.filter((word) => decoder.lookup_word(word) === null)
  return unknown.length === 0 ? undefined : unknownWords(unknown)
}

/** After a trap the memory of all decoders may be damaged, so the worker ends. */
const endThreadOnTrap = (error: unknown): void => {
  if (!(error instanceof WebAssembly.RuntimeError)) return
  setImmediate(() => {
    throw error
  })
}

/** The segments of this worker, which share its decoders. */
class WorkerSegments {
  readonly #segments = new Map<number, LeasedSegment<TwoPassDecoder>>()
  readonly #decoders: ResourcePool<TwoPassDecoder>
  readonly #post: (message: FromWorker) => void
  readonly #takeNext: () => ToWorker | undefined
  readonly #grammars: WorkerGrammars
  readonly #readSlots: SlotReader | undefined

  constructor(
    decoders: ResourcePool<TwoPassDecoder>,
    grammars: WorkerGrammars,
    readSlots: SlotReader | undefined,
    post: (message: FromWorker) => void,
    takeNext: () => ToWorker | undefined,
  ) {
    this.#decoders = decoders
    this.#grammars = grammars
    this.#readSlots = readSlots
    this.#post = post
    this.#takeNext = takeNext
  }

  /** Takes all messages that were sent so far, so that an abort precedes audio that was not decoded yet. */
  receive(message: ToWorker): void {
    this.#take(message)
    this.#takeRest()
  }

  #takeRest(): void {
    for (let next = this.#takeNext(); next !== undefined; next = this.#takeNext()) this.#take(next)
  }

  #take(message: ToWorker): void {
    if (message.type === 'check-phrases') {
      const { check, phrases } = message
      this.#post({ type: 'phrases-checked', check, faults: this.#grammars.faultsOf(phrases) })
      return
    }
    const { type, segment } = message
    if (type === 'open') {
      this.#open(message)
    } else if (type === 'audio') {
      this.#segments.get(segment)?.write(message.samples)
    } else if (type === 'check') {
      this.#segments.get(segment)?.check()
    } else if (type === 'close') {
      // It stays in the map until it is decided, so that an abort can still cancel the second pass.
      this.#segments.get(segment)?.close(message.endMs, message.isCut)
    } else {
      this.#segments.get(segment)?.abort()
      this.#segments.delete(segment)
    }
  }

  #open({ segment, startMs, settings = {} }: Extract<ToWorker, { readonly type: 'open' }>): void {
    // They were checked by the dictionary of another process, which may differ.
    if (settings.phrases !== undefined && this.#grammars.faultsOf(settings.phrases).length > 0) {
      this.#post({ type: 'failed', segment })
      return
    }
    const leased = new LeasedSegment(startMs, this.#decoders, this.#listenerOf(segment), settings)
    this.#segments.set(segment, leased)
  }

  #listenerOf(segment: number): LeasedSegmentListener {
    return {
      progress: (sampleCount, partial) => {
        this.#post({ type: 'progress', segment, sampleCount, partial })
        this.#takeRest()
      },
      checked: (isComplete) => this.#post({ type: 'checked', segment, isComplete }),
      decided: ({ words, text }) => {
        this.#segments.delete(segment)
        this.#post({ type: 'decided', segment, words, text: withSlots(words, text, this.#readSlots) })
      },
      failed: () => {
        this.#segments.delete(segment)
        this.#post({ type: 'failed', segment })
      },
      broke: endThreadOnTrap,
    }
  }
}

const start = async (port: MessagePort, settings: WorkerSettings): Promise<void> => {
  const post = reportBusyTime((message) => port.postMessage(message))
  const reportWorking = (): void => post({ type: 'working' })
  const soundswallower = await loadSoundswallower(settings.modelBase, settings.language)
  const first = await createDecoder(soundswallower)
  const refuse = (sentence: string): void => post({ type: 'refused', sentence })
  const refusal = addWords(first, settings) ?? lookUpWords(first, settings)
  if (refusal !== undefined) {
    refuse(refusal)
    return
  }
  const grammars = new WorkerGrammars(soundswallower, settings.grammar, (word) => first.lookup_word(word) !== null)
  // The weights of its features are those of the English model.
  const rejection = settings.language === 'en-us' ? new WorkerRejection(soundswallower, settings.reject) : undefined
  const twoPass = (decoder: Decoder): TwoPassDecoder =>
    new TwoPassDecoder(decoder, reportWorking, grammars, rejection?.for(decoder))
  const firstTwoPass = twoPass(first)
  try {
    firstTwoPass.useGrammar()
  } catch {
    refuse(badGrammar)
    return
  }
  const decoders = new ResourcePool({
    max: settings.maxDecoders,
    create: async () => {
      const decoder = await createDecoder(soundswallower)
      addWords(decoder, settings)
      return twoPass(decoder)
    },
  })
  decoders.add(firstTwoPass)
  const segments = new WorkerSegments(decoders, grammars, createSlotReader(settings.grammar), post, takeNextFrom(port))
  port.on('message', (message: ToWorker) => segments.receive(message))
  post({ type: 'ready' })
  if (settings.reject !== 'off') await rejection?.warm()
}

const isSettings = (data: unknown): data is WorkerSettings =>
  typeof data === 'object' && data !== null && 'type' in data && data.type === 'rxspeech-soundswallower'

// Importing this file has no effect unless the thread was started with settings of this worker.
if (!isMainThread && parentPort !== null && isSettings(workerData)) void start(parentPort, workerData)
