import { createHash } from 'node:crypto'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'

/** How much audio of a conversation is kept, some 8 minutes at 16 kHz; of more only the count and the hash of all. */
const maxKeptBytes = 16 * 1_048_576

/** The audio of one conversation, as 16-bit samples of one channel, whatever the client's encoding was. */
export interface ReceivedAudio {
  /** In Hz; 0 before the first sample. */
  readonly sampleRateHz: number
  /** How many samples arrived. */
  readonly samples: number
  /** The SHA-256 of all samples (little-endian), in hexadecimal digits. */
  readonly sha256: string
  /**
   * The SHA-256 of a range of samples. Throws `invalid-options` for one that did not
   * arrive, or is not kept: the first 16 MiB of each conversation of the last 50 sessions are.
   *
   * @example
   * expect(session.audio.hash(0, 16_000)).toBe(createHash('sha256').update(pcm.subarray(0, 32_000)).digest('hex'))
   */
  hash(fromSample: number, toSample: number): string
  /** Where the client has asked for what is final: a commit, a finalize, or the end of its audio. */
  readonly finalizes: readonly FinalizeRequest[]
}

/** A request for what is final. */
export interface FinalizeRequest {
  /** How many samples had arrived. */
  readonly sample: number
  /** Milliseconds since the session began. */
  readonly atMs: number
}

const bytesPerSample = 2

export class AudioTrack implements ReceivedAudio {
  readonly #hash = createHash('sha256')
  readonly #finalizes: FinalizeRequest[] = []
  #parts: Uint8Array[] = []
  #keptBytes = 0
  #bytes = 0
  #isForgotten = false
  sampleRateHz = 0

  get samples(): number {
    return Math.floor(this.#bytes / bytesPerSample)
  }

  get sha256(): string {
    return this.#hash.copy().digest('hex')
  }

  get finalizes(): readonly FinalizeRequest[] {
    return this.#finalizes
  }

  take(bytes: Uint8Array): void {
    this.#hash.update(bytes)
    this.#bytes += bytes.length
    const isWhole = !this.#isForgotten && this.#keptBytes === this.#bytes - bytes.length
    if (!isWhole || this.#keptBytes + bytes.length > maxKeptBytes) return
    this.#parts.push(bytes)
    this.#keptBytes += bytes.length
  }

  finalize(atMs: number): void {
    this.#finalizes.push({ sample: this.samples, atMs })
  }

  /** Keeps the counts and the hash of all, without the audio. */
  forget(): void {
    this.#parts = []
    this.#keptBytes = 0
    this.#isForgotten = true
  }

  hash(fromSample: number, toSample: number): string {
    const isRange = Number.isInteger(fromSample) && fromSample >= 0 && toSample >= fromSample
    if (!isRange || toSample * bytesPerSample > this.#keptBytes) {
      const kept =
        this.#keptBytes < this.#bytes ? `; of those the first ${this.#keptBytes / bytesPerSample} are kept` : ''
      throw new SpeechError('invalid-options', `There are samples 0 to ${this.samples}${kept}.`)
    }
    const [whole = new Uint8Array()] = (this.#parts = [Buffer.concat(this.#parts)])
    return createHash('sha256')
      .update(whole.subarray(fromSample * bytesPerSample, toSample * bytesPerSample))
      .digest('hex')
  }
}
