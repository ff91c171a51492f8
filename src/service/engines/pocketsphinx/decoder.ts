import type { DecodedWord } from '../decoded-words.js'
import type { DecoderPointer, SphinxLibrary } from './library.js'

const failed = (step: string): Error => new Error(`The decoder could not ${step}.`)

/**
 * A decoder with its language model, for one utterance after the other. Its calls run one at a time; `free` waits for
 * the one that runs, and those after it reject.
 */
export class SphinxDecoder {
  private readonly usualMean: Float32Array
  private running: Promise<unknown> = Promise.resolve()
  private state: 'idle' | 'open' | 'freed' = 'idle'

  constructor(
    private readonly library: SphinxLibrary,
    private readonly pointer: DecoderPointer,
  ) {
    this.usualMean = library.mean(pointer)
  }

  /**
   * Begins an utterance as if it were the decoder's first. What the one before left behind, the mean cepstrum of its
   * line, is another session's; and measured on one line it does harm: it is that of the silence, too.
   */
  begin(): Promise<void> {
    return this.inTurn(() => {
      if (!this.library.begin(this.pointer, this.usualMean)) throw failed('begin')
      this.state = 'open'
    })
  }

  /** Reads samples and gives the text so far. */
  process(samples: Int16Array): Promise<string> {
    return this.inTurn(async () => {
      if (!(await this.library.process(this.pointer, samples))) throw failed('read')
      return this.library.text(this.pointer)
    })
  }

  /** Ends the utterance, where one is open. */
  end(): Promise<void> {
    return this.inTurn(async () => {
      if (this.state !== 'open') return
      this.state = 'idle'
      if (!(await this.library.end(this.pointer))) throw failed('end')
    })
  }

  /** The words of the utterance that ended. */
  words(): Promise<readonly DecodedWord[]> {
    return this.inTurn(() => this.library.words(this.pointer))
  }

  /** Idempotent. */
  free(): Promise<void> {
    const release = (): void => {
      if (this.state !== 'freed') this.library.free(this.pointer)
      this.state = 'freed'
    }
    const freed = this.running.then(release, release)
    this.running = freed
    return freed
  }

  private inTurn<T>(step: () => T | Promise<T>): Promise<T> {
    const run = (): T | Promise<T> => {
      if (this.state === 'freed') throw failed('go on: it was freed')
      return step()
    }
    const result = this.running.then(run, run)
    this.running = result.catch(() => undefined)
    return result
  }
}
