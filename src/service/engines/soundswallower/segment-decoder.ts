import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Word } from '../../../protocol/session-event.js'
import { spokenWords, type DecodedWord } from '../decoded-words.js'
import { speechCepstralMean } from './cepstral-mean.js'
import { decoderRateHz, hopSamples } from './worker-settings.js'
import type { AlignedWord, Decoder } from './package.js'

/** What the first pass takes for the mean cepstrum; the first coefficient carries the level, and 50 measured best. */
const usualMean = '50,3,-1'
/** Segments up to this long are read a second time; of longer ones the first pass stands, so that memory is bounded. */
const secondPassSamples = 60 * decoderRateHz
/** The second pass yields to other segments of the worker after so many samples. */
const turnSamples = 10 * hopSamples

const toFloat = (hops: readonly Int16Array[], sampleCount: number): Float32Array => {
  const samples = new Float32Array(sampleCount)
  let at = 0
  for (const hop of hops) {
    for (const sample of hop) samples[at++] = sample / 32768
  }
  return samples
}

const decodedWord = ({ t, b, d, p }: AlignedWord): DecodedWord => ({
  text: t,
  startMs: Math.round(b * 1000),
  endMs: Math.round((b + d) * 1000),
  posterior: p,
})

/**
 * One decoder, for one segment after the other. Its answer depends on the segment's samples alone: every segment
 * begins with the same state, and audio is read in hops of one length.
 *
 * The first pass gives the partials. It can't know the speaker's and the line's mean cepstrum, so the segment is read
 * a second time with its own mean when it ends: about 50 ms for a second of speech, and of 144 sentences on noisy and
 * weak lines 18 were wrong instead of 31.
 */
export class SegmentDecoder {
  private hops: Int16Array[] = []
  private sampleCount = 0
  private text = ''

  /** `onTurn` is a sign of life: a long segment's second pass takes seconds. */
  constructor(
    private readonly decoder: Decoder,
    private readonly onTurn: () => void = () => undefined,
  ) {}

  async begin(): Promise<void> {
    this.hops = []
    this.sampleCount = 0
    this.text = ''
    await this.restart(usualMean)
    this.decoder.start()
  }

  /** Reads one hop; gives the text so far when it changed. */
  hear(samples: Int16Array): string | undefined {
    this.sampleCount += samples.length
    if (this.sampleCount > secondPassSamples) this.hops = []
    else this.hops.push(samples)
    this.decoder.process_audio(toFloat([samples], samples.length))
    const text = this.decoder.get_text().trim()
    if (text === this.text) return undefined
    this.text = text
    return text
  }

  /** Ends the segment and gives its words, or none when it was cancelled meanwhile. */
  async end(startMs: number, endMs: number, isCancelled: () => boolean): Promise<readonly Word[]> {
    this.decoder.stop()
    const first = this.words()
    const second = this.hops.length === 0 ? [] : await this.readAgain(isCancelled)
    this.hops = []
    // The second pass may end short of a sentence of the grammar; what the first pass found then stands
    const spoken = spokenWords(second, startMs, endMs)
    return spoken.length > 0 ? spoken : spokenWords(first, startMs, endMs)
  }

  /** Leaves the segment as it is; `begin` may follow. */
  cancel(): void {
    this.hops = []
    this.decoder.stop()
  }

  private async readAgain(isCancelled: () => boolean): Promise<readonly DecodedWord[]> {
    const samples = toFloat(this.hops, this.sampleCount)
    await this.restart(usualMean)
    const mean = speechCepstralMean(this.decoder.spectrogram(samples))
    if (mean === undefined) return []
    await this.restart(mean.map((value) => value.toFixed(3)).join(','))
    this.decoder.start()
    for (let at = 0; at < samples.length && !isCancelled(); at += hopSamples) {
      this.decoder.process_audio(samples.slice(at, at + hopSamples))
      if (at % turnSamples === turnSamples - hopSamples) {
        await nextTurn()
        this.onTurn()
      }
    }
    this.decoder.stop()
    return isCancelled() ? [] : this.words()
  }

  private async restart(cepstralMean: string): Promise<void> {
    this.decoder.set_config('cmninit', cepstralMean)
    await this.decoder.reinitialize_audio()
  }

  private words(): readonly DecodedWord[] {
    if (this.decoder.get_text() === '') return []
    return (this.decoder.get_alignment().w ?? []).map(decodedWord)
  }
}
