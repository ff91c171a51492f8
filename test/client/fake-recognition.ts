/** Loud enough not to count as silence. */
export const loudness = 1_000

/** A chunk lasts 20 ms. It is silent, or each of its samples is `loudness + n`, and it is the word `a<n>` or `b<n>`. */
export const chunkMs = 20
const chunkSamples = chunkMs * 8
/** The word in a chunk on each channel: its number, or undefined for silence. */
export type Spoken = readonly (number | undefined)[]

/** Joins several chunks to one message. */
export const chunksOf = (spoken: readonly Spoken[]): Uint8Array => {
  const channels = spoken[0]?.length ?? 1
  const samples = new Int16Array(chunkSamples * channels * spoken.length)
  for (const [nth, item] of spoken.entries()) {
    for (const [channel, word] of item.entries()) {
      if (word === undefined) continue
      const begin = nth * chunkSamples * channels
      for (let at = channel; at < chunkSamples * channels; at += channels) samples[begin + at] = loudness + word
    }
  }
  return new Uint8Array(samples.buffer)
}

/** The chunk with the same word on every channel. */
export const chunkOf = (word: number, channels: 1 | 2 = 1): Uint8Array =>
  chunksOf([Array.from({ length: channels }, () => word)])

export const wordOf = (channel: number, word: number): string => `${'ab'[channel] ?? '?'}${word}`

/** When a recognition has milestones: after this many words on each channel, and where a silence follows a word. */
export interface Milestones {
  /** @default [10, 10] */
  readonly milestoneWords?: readonly [number, number]
}

export type Times = readonly [fromMs: number, toMs: number]

export interface FakeResult {
  readonly kind: 'partial' | 'milestone'
  readonly channel: number
  readonly text: string
  readonly times: Times | undefined
}

interface Word {
  readonly text: string
  readonly at: number
}

class FakeChannel {
  readonly #channel: number
  readonly #maxWords: number
  /** The words without a milestone. */
  #open: Word[] = []
  #reportedText = ''
  #fromMs: number | undefined
  #toMs: number | undefined
  silentChunks = 0

  constructor(channel: number, maxWords: number) {
    this.#channel = channel
    this.#maxWords = maxWords
  }

  receive(word: number | undefined, at: number): readonly FakeResult[] {
    this.silentChunks = word === undefined ? this.silentChunks + 1 : 0
    if (word === undefined) return this.rest()
    this.#open.push({ text: wordOf(this.#channel, word), at })
    this.#fromMs ??= at * chunkMs
    this.#toMs = (at + 1) * chunkMs
    return this.#open.length >= this.#maxWords ? this.rest() : []
  }

  partial(): readonly FakeResult[] {
    return this.#open.length === 0 ? [] : [this.#result('partial', this.#openText())]
  }

  rest(): readonly FakeResult[] {
    if (this.#open.length === 0) return []
    const words = this.#openText()
    const milestone = this.#result('milestone', this.#reportedText === '' ? words : ` ${words}`)
    this.#reportedText += milestone.text
    this.#open = []
    return [milestone]
  }

  /** All text, and its times; without a word these are all of the audio. */
  final(receivedMs: number): Omit<FakeResult, 'kind'> {
    const left = this.#openText()
    const text = this.#reportedText === '' || left === '' ? this.#reportedText + left : `${this.#reportedText} ${left}`
    return { channel: this.#channel, text, times: [this.#fromMs ?? 0, this.#toMs ?? receivedMs] }
  }

  #openText(): string {
    return this.#open.map(({ text }) => text).join(' ')
  }

  #result(kind: FakeResult['kind'], text: string): FakeResult {
    const [first, last] = [this.#open[0]?.at ?? 0, this.#open.at(-1)?.at ?? 0]
    return { kind, channel: this.#channel, text, times: [first * chunkMs, (last + 1) * chunkMs] }
  }
}

/** One recognition of a fake service: chunks become words. */
export class FakeRecognition {
  readonly #channels: readonly FakeChannel[]
  #receivedChunks = 0
  #rest = new Uint8Array(0)

  constructor(channels: 1 | 2, { milestoneWords = [10, 10] }: Milestones) {
    this.#channels = Array.from({ length: channels }, (_none, channel) => {
      return new FakeChannel(channel, milestoneWords[channel] ?? milestoneWords[0])
    })
  }

  get receivedMs(): number {
    return this.#receivedChunks * chunkMs
  }

  /** The silence at the end of all channels. */
  get silentMs(): number {
    return Math.min(...this.#channels.map(({ silentChunks }) => silentChunks)) * chunkMs
  }

  /** The whole chunks after a message. The rest waits for the next one. */
  *chunksIn(bytes: Uint8Array): Generator<Spoken> {
    const size = chunkSamples * 2 * this.#channels.length
    const all = new Uint8Array(this.#rest.length + bytes.length)
    all.set(this.#rest)
    all.set(bytes, this.#rest.length)
    const view = new DataView(all.buffer)
    const whole = all.length - (all.length % size)
    this.#rest = all.slice(whole)
    for (let at = 0; at < whole; at += size) {
      // Replayed audio may begin within a chunk: the word is that of the chunk that fills most of the time.
      yield this.#channels.map((_channel, index) => {
        const sample = view.getInt16(at + size / 2 + 2 * index, true)
        return sample === 0 ? undefined : sample - loudness
      })
    }
  }

  receive(spoken: Spoken): readonly FakeResult[] {
    const at = this.#receivedChunks++
    return this.#channels.flatMap((channel, index) => channel.receive(spoken[index], at))
  }

  partials(): readonly FakeResult[] {
    return this.#channels.flatMap((channel) => channel.partial())
  }

  rest(): readonly FakeResult[] {
    return this.#channels.flatMap((channel) => channel.rest())
  }

  finals(): readonly Omit<FakeResult, 'kind'>[] {
    return this.#channels.map((channel) => channel.final(this.receivedMs))
  }
}
