/** A moment of speech: its place in the audio, and when it was detected. */
interface Detection {
  readonly audioMs: number
  readonly atMs: number
}

/** Bounds the memory of a channel without results. */
const maxUnanswered = 64

/** An event of a channel's speech; times are milliseconds of audio. */
export interface SpeechMark {
  readonly type: 'speech-started' | 'speech-ended' | 'partial' | 'milestone'
  readonly startMs: number
  readonly endMs: number
}

/** Measures how long the results of one channel take. Segments are identified by their place in the audio. */
export class SpeechTimes {
  #started: Detection[] = []
  #ended: Detection[] = []

  /** Records an event at `atMs` of the wall clock. Returns the delay of the first partial or of the milestone of a segment. */
  mark({ type, startMs, endMs }: SpeechMark, atMs: number): number | undefined {
    switch (type) {
      case 'speech-started':
        this.#started = [...this.#started.slice(1 - maxUnanswered), { audioMs: startMs, atMs }]
        return undefined
      case 'speech-ended':
        this.#ended = [...this.#ended.slice(1 - maxUnanswered), { audioMs: endMs, atMs }]
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
