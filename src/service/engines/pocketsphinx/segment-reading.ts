import type { Word } from '../../../protocol/session-event.js'
import type { Decoding } from '../pool/leased-segment.js'
import { spokenWords } from '../decoded-words.js'
import type { SphinxDecoder } from './decoder.js'

/** One segment read by a decoder that was lent for it. */
export class SegmentReading implements Decoding {
  private text = ''
  private sampleCount = 0

  constructor(readonly decoder: SphinxDecoder) {}

  begin(): Promise<void> {
    return this.decoder.begin()
  }

  async hear(samples: Int16Array): Promise<string | undefined> {
    this.sampleCount += samples.length
    const text = await this.decoder.process(samples)
    if (text === this.text) return undefined
    this.text = text
    return text
  }

  async end(startMs: number, endMs: number, isCancelled: () => boolean): Promise<readonly Word[]> {
    await this.decoder.end()
    if (isCancelled() || this.sampleCount === 0) return []
    return spokenWords(await this.decoder.words(), startMs, endMs)
  }

  cancel(): Promise<void> {
    return this.decoder.end()
  }
}
