import type { FromWorker, SegmentMessage, WorkerSettings } from '../pool/worker-messages.js'
import type {
  SherpaOfflineRecognizer,
  SherpaOfflineStream,
  SherpaPunctuation,
  SherpaResult,
  SherpaSettings,
} from './package.js'
import { sherpaWords } from './words.js'

/** Shorter audio is filled up with silence: the library ends its process for a few frames. */
const minMs = 1_000

/** Some models return nothing for a start that they do not like, and the text for another. */
const otherLeadMs = 100

interface Request {
  readonly segment: number
  readonly settings: WorkerSettings
  readonly chunks: Int16Array[]
  endMs: number | undefined
}

/** The audio between two silences, as the package takes it. */
const soundOf = (chunks: readonly Int16Array[], rateHz: number, leadMs: number, tailMs: number): Float32Array => {
  const count = chunks.reduce((sum, { length }) => sum + length, 0)
  const toSamples = (ms: number): number => Math.round((ms * rateHz) / 1000)
  const sound = new Float32Array(Math.max(toSamples(leadMs + tailMs) + count, toSamples(minMs)))
  let at = toSamples(leadMs)
  for (const chunk of chunks) for (const sample of chunk) sound[at++] = sample / 32_768
  return sound
}

/** The letters of phrases as the tokens of the model have them. */
const hotwordsOf = (phrases: readonly string[], letters: SherpaSettings['letters']): string => {
  const capitalized = (phrase: string): string => phrase.replaceAll(/(?<=^| )./gu, (letter) => letter.toUpperCase())
  const forms = phrases.flatMap((phrase) =>
    letters === 'upper' ? [phrase.toUpperCase()] : letters === 'lower' ? [phrase] : [phrase, capitalized(phrase)],
  )
  // A slash separates phrases, and a colon begins a weight.
  return forms.map((form) => form.replaceAll(/[/:]/g, ' ')).join('/')
}

/**
 * The segments of one process, each read as a whole, one at a time: the package's recognizer is not made for two, nor
 * for a change of its configuration meanwhile.
 */
export class SherpaReadings {
  readonly #recognizer: SherpaOfflineRecognizer
  readonly #settings: SherpaSettings
  readonly #post: (message: FromWorker) => void
  readonly #punctuation: SherpaPunctuation | undefined
  readonly #requests = new Map<number, Request>()
  /** The configuration that the recognizer has. */
  #configured = ''
  #reading: Promise<void> = Promise.resolve()

  constructor(
    recognizer: SherpaOfflineRecognizer,
    settings: SherpaSettings,
    post: (message: FromWorker) => void,
    punctuation?: SherpaPunctuation,
  ) {
    this.#recognizer = recognizer
    this.#settings = settings
    this.#post = post
    this.#punctuation = punctuation
  }

  receive(message: SegmentMessage): void {
    const { segment } = message
    const request = this.#requests.get(segment)
    if (message.type === 'open')
      this.#requests.set(segment, { segment, settings: message.settings ?? {}, chunks: [], endMs: undefined })
    else if (message.type === 'audio') request?.chunks.push(message.samples)
    else if (message.type === 'abort') this.#requests.delete(segment)
    else if (message.type === 'close' && request !== undefined) {
      request.endMs = message.endMs
      this.#reading = this.#reading.then(() => this.#answer(request))
    }
  }

  async #answer(request: Request): Promise<void> {
    const { segment, endMs = 0 } = request
    if (!this.#requests.delete(segment)) return
    try {
      if (endMs === 0) {
        this.#post({ type: 'decided', segment, words: [], text: { text: '' } })
        return
      }
      const { result, leadMs } = await this.#readAgain(request, this.#settings.leadMs)
      const text = this.#punctuation?.addPunct(result.text.trim()) ?? result.text.trim()
      const words = sherpaWords(result, 0, endMs, leadMs)
      this.#post({ type: 'decided', segment, words, text: { text } })
    } catch {
      this.#post({ type: 'failed', segment })
    }
  }

  /**
   * What has no text where Canary ends too early, or a result that is no JSON, is read once more with another start.
   */
  async #readAgain(
    request: Request,
    leadMs: number,
  ): Promise<{ readonly result: SherpaResult; readonly leadMs: number }> {
    try {
      const result = await this.#read(request, leadMs)
      if (result.text.trim() !== '' || this.#settings.key !== 'canary') return { result, leadMs }
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
    }
    return { result: await this.#read(request, leadMs + otherLeadMs), leadMs: leadMs + otherLeadMs }
  }

  async #read({ settings, chunks }: Request, leadMs: number): Promise<SherpaResult> {
    const { sampleRateHz, tailMs, letters, languageSetting } = this.#settings
    const { language: asked = this.#settings.language, phrases } = settings
    const language = asked === 'auto' ? undefined : asked
    this.#configure(language, settings.purpose ?? 'final')
    const stream =
      phrases === undefined
        ? this.#recognizer.createStream()
        : this.#recognizer.createStream(hotwordsOf(phrases, letters))
    if (languageSetting.by === 'stream' && language !== undefined) stream.setOption(languageSetting.option, language)
    stream.acceptWaveform({ samples: soundOf(chunks, sampleRateHz, leadMs, tailMs), sampleRate: sampleRateHz })
    return this.#decode(stream)
  }

  /** Only what differs between two readings is changed, which takes 0.1 ms. */
  #configure(language: string | undefined, purpose: 'final' | 'partial'): void {
    const { key, config, languageSetting, tailField } = this.#settings
    if (languageSetting.by !== 'configuration' && tailField === undefined) return
    const part = config.modelConfig[key] as Readonly<Record<string, unknown>>
    const changed = {
      ...part,
      ...(languageSetting.by === 'configuration' &&
        Object.fromEntries(languageSetting.fields.map((field) => [field, language ?? '']))),
      ...(tailField !== undefined && purpose === 'partial' && { [tailField.field]: tailField.partial }),
    }
    const text = JSON.stringify(changed)
    if (text === (this.#configured || JSON.stringify(part))) return
    this.#configured = text
    this.#recognizer.setConfig({ ...config, modelConfig: { ...config.modelConfig, [key]: changed } })
  }

  /** Both must stay reachable until it is done: the native work has no other hold of them. */
  async #decode(stream: SherpaOfflineStream): Promise<SherpaResult> {
    const recognizer = this.#recognizer
    inWork.add(recognizer).add(stream)
    try {
      return await recognizer.decodeAsync(stream)
    } finally {
      inWork.delete(stream)
    }
  }
}

/** What native work uses. */
const inWork = new Set<object>()
