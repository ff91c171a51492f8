import { stateAt } from '../cassette/cassette-player.js'
import type { Job } from '../jobs/job.js'
import { wavOf, type Playback } from '../session/playback.js'
import { Player } from '../session/player.js'
import { clock } from '../state/sentences.js'
import type { StudioState } from '../state/state.js'
import type { TranscriptDocument } from '../state/transcript.js'
import { audioOf, neighborOf, wordAtMs, type WordAt } from '../state/word-cursor.js'
import { element, elementOf, setText } from './page.js'

/** What follows the cursor. */
interface CursorViews {
  readonly playback: Playback
  readonly timeline: { readonly reveal: (ms: number) => void }
  readonly draw: () => void
}

/** The place in the session that is shown: a word, a position on the timeline, and what is heard there. */
export class Cursor {
  readonly #views: CursorViews
  readonly #words = new Player()
  #job: Job | undefined
  #ms: number | undefined
  #scrubbed: StudioState | undefined
  #playingWord: WordAt | undefined
  word: WordAt | undefined

  constructor(views: CursorViews) {
    this.#views = views
    const slider = elementOf(HTMLInputElement, 'scrub')
    slider.addEventListener('input', () => this.#scrub(slider.valueAsNumber))
  }

  /** The state at the position of a cassette. */
  get scrubbed(): StudioState | undefined {
    return this.#scrubbed
  }

  get ms(): number | undefined {
    const { playback } = this.#views
    return playback.isPlaying ? playback.positionMs : this.#ms
  }

  /** The word that is heard now. */
  heardIn(document: TranscriptDocument): WordAt | undefined {
    const { playback } = this.#views
    return this.#playingWord ?? (playback.isPlaying ? wordAtMs(document, playback.positionMs) : undefined)
  }

  /** Begins with another session, or none: nothing is heard any more. */
  show(job: Job | undefined): void {
    this.#job = job
    this.#scrubbed = undefined
    this.#ms = undefined
    this.word = undefined
    this.#playingWord = undefined
    this.#words.stop()
    this.#views.playback.open(undefined)
    const { played } = job?.run ?? {}
    if (played === undefined) return
    elementOf(HTMLInputElement, 'scrub').max = String(Math.ceil(played.durationMs))
    this.#scrub(played.durationMs)
  }

  /** Opens the recording of the session once there is one. */
  openPlayback(): void {
    const { audio, tracks = [] } = this.#job ?? {}
    this.#views.playback.open(audio, tracks.length === 0 ? undefined : () => wavOf(tracks))
  }

  /** Plays from a word on; only the word where there is no recording yet. */
  seek(word: WordAt): void {
    const { playback, draw } = this.#views
    const part = this.#job && audioOf(this.#job.document, word)
    if (part === undefined) return
    this.word = word
    this.#ms = part.fromMs
    if (!playback.hasAudio || this.#job?.origin === 'cassette') return this.playWord()
    playback.positionMs = part.fromMs
    playback.play()
    draw()
  }

  playWord(): void {
    if (this.word !== undefined) void this.#play(this.word)
  }

  place(ms: number): void {
    const { playback, draw } = this.#views
    const job = this.#job
    if (job === undefined) return
    this.#ms = ms
    this.word = wordAtMs(job.document, ms)
    if (job.run?.played !== undefined) this.#scrub(Math.min(ms, job.run.played.durationMs))
    if (playback.hasAudio) playback.positionMs = ms
    draw()
  }

  move(step: 1 | -1): void {
    const { playback, timeline, draw } = this.#views
    const next = this.#job && neighborOf(this.#job.document, this.word, step)
    if (next === undefined) return
    this.word = next
    this.#ms = next.startMs
    timeline.reveal(next.startMs)
    if (!playback.isPlaying) playback.positionMs = next.startMs
    draw()
  }

  async #play(word: WordAt): Promise<void> {
    const { playback, timeline, draw } = this.#views
    const job = this.#job
    const part = job && audioOf(job.document, word)
    if (job === undefined || part === undefined) return
    playback.pause()
    this.#playingWord = word
    this.#ms = part.fromMs
    timeline.reveal(part.fromMs)
    draw()
    const ended = (): void => {
      this.#playingWord = undefined
      draw()
    }
    const track = (await job.readTracks())[part.channel]
    const samples = await track?.read(part.fromMs, part.toMs)
    if (job !== this.#job || word !== this.#playingWord) return
    if (track === undefined || samples === undefined) {
      ended()
      return
    }
    this.#words.play({ sampleRateHz: track.sampleRateHz, channels: [samples] }, ended)
  }

  #scrub(ms: number): void {
    const { played } = this.#job?.run ?? {}
    if (played === undefined) return
    this.#ms = ms
    this.#scrubbed = stateAt(played, ms)
    elementOf(HTMLInputElement, 'scrub').value = String(ms)
    setText(element('scrub-time'), clock(Math.round(ms / 100) * 100))
    this.#views.timeline.reveal(ms)
    this.#views.draw()
  }
}
