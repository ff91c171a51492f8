/** A moment of speech: where in the audio, and when it was found. */
interface Found {
  readonly audioMs: number
  readonly atMs: number
}

/** A channel whose results never come must not grow. */
const mostUnanswered = 64

/** What an event of a channel says of its speech; times are milliseconds of audio. */
export interface SpeechMark {
  readonly type: 'speech-started' | 'speech-ended' | 'partial' | 'milestone'
  readonly startMs: number
  readonly endMs: number
}

/** How long the results of one channel's speech take: segments are told apart by their place in the audio. */
export class SpeechTimes {
  #started: Found[] = []
  #ended: Found[] = []

  /** At `atMs` of the wall clock. Returns how long what was waited for took, if this is it. */
  mark({ type, startMs, endMs }: SpeechMark, atMs: number): number | undefined {
    switch (type) {
      case 'speech-started':
        this.#started = [...this.#started.slice(1 - mostUnanswered), { audioMs: startMs, atMs }]
        return undefined
      case 'speech-ended':
        this.#ended = [...this.#ended.slice(1 - mostUnanswered), { audioMs: endMs, atMs }]
        return undefined
      case 'partial': {
        const found = this.#started.findLast(({ audioMs }) => audioMs <= startMs)
        this.#started = this.#started.filter(({ audioMs }) => audioMs > startMs)
        return found && atMs - found.atMs
      }
      case 'milestone': {
        const found = this.#ended.findLast(({ audioMs }) => audioMs <= endMs)
        this.#ended = this.#ended.filter(({ audioMs }) => audioMs > endMs)
        this.#started = this.#started.filter(({ audioMs }) => audioMs >= endMs)
        return found && atMs - found.atMs
      }
    }
  }
}
