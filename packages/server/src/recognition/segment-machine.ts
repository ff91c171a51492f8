import type { SegmentPart } from 'rxspeech-engines/engine'
import { createForcedCut, type ForcedCut } from './forced-cut.js'
import { SampleQueue } from './sample-queue.js'
import type { SegmenterParameters } from './segmenter-parameters.js'

/** The length of a frame. With a coarser hop, speech that is separated by a pause of 400 ms would be joined. */
export const frameMs = 10

/**
 * Frames wait until there are this many of them, unless one of them may end a segment. So the end of speech is decided
 * without a delay, its begin is soon enough, and the processor loads the state of a session once for all of them.
 */
export const framesAtOnce = 6

/** Silence is reported each time that it has lasted this long. */
const silenceMs = 30_000

/** The maximum length of an `audio` part, so that an engine takes in long audio in steps. */
const maxPartMs = 200

/** A change of the voice of one channel. Times are milliseconds of audio since its first sample. */
export type VoiceEvent =
  /** A segment begins at `startMs`, including its pre-speech buffer; this was decided at `atMs`. */
  | { readonly type: 'speech-started'; readonly startMs: number; readonly atMs: number }
  /** The segment `[startMs, endMs)` is closed. */
  | { readonly type: 'speech-ended'; readonly startMs: number; readonly endMs: number }

/** No speech in `[startMs, endMs)`, and no later segment begins before `endMs`. */
export interface Silence {
  readonly type: 'silence'
  readonly startMs: number
  readonly endMs: number
}

/**
 * The outputs of a segmenter, in order. For each segment: `speech-started`, `open`, `audio`…, `speech-ended`, `close`.
 * Between segments: `silence` for each 30 s of it, and `graceful-silence` once for each silence that reaches the
 * threshold. After `drain`: `pause` once, when no segment is open. If the engine checks: `check` within a segment,
 * after which nothing follows before `answer`.
 */
export type SegmenterOutput =
  | SegmentPart
  | VoiceEvent
  | Silence
  | { readonly type: 'graceful-silence'; readonly atMs: number }
  | { readonly type: 'pause'; readonly atMs: number }

/** The segment that is open. Positions are samples since the channel's first. */
interface OpenSegment {
  readonly start: number
  /** Where its speech began; the limit of its length counts from here. */
  readonly onset: number
  lastSpeechEnd: number
  /** Where the engine was asked last. */
  askedAt: number
}

type State =
  | { readonly type: 'idle' }
  /** Speech frames without a break since `onset`, too few to open a segment. */
  | { readonly type: 'onset'; readonly onset: number }
  /** Enough speech frames since `onset` to open a segment, of sound that may still prove to be noise. */
  | { readonly type: 'doubt'; readonly onset: number; readonly lastSpeechEnd: number }
  | { readonly type: 'speech'; readonly segment: OpenSegment }
  /** Silence that is too short to end the segment. */
  | { readonly type: 'trail'; readonly segment: OpenSegment }
  /** Silence that ends the segment if the engine answers that its sentence is complete. No frame may follow. */
  | { readonly type: 'asking'; readonly segment: OpenSegment }
  /** Silence that is long enough, while the post-speech buffer is not full. */
  | { readonly type: 'post'; readonly segment: OpenSegment }
  /** A segment was closed at `cut` although speech may continue; the next frame decides. */
  | { readonly type: 'carry'; readonly cut: number }

const idle: State = { type: 'idle' }

/** The parameters in samples. */
interface Rules {
  readonly preSpeech: number
  readonly postSpeech: number
  readonly silenceTrigger: number
  /** Infinity without checks by the engine. */
  readonly completeSilence: number
  readonly gracefulSilence: number
  readonly onsetRun: number
  readonly forcedCut: ForcedCut
}

/** A pause of this length discards doubtful sound, which then opens no segment. */
const doubtMs = 200

/** Audio between two checks by the engine in one silence. Decoders work in steps of up to 100 ms. */
const askAgainMs = 50

const rulesOf = (
  parameters: SegmenterParameters,
  samplesPerMs: number,
  firstFrame: number,
  asksEngine: boolean,
): Rules => ({
  preSpeech: parameters.preSpeechBufferMs * samplesPerMs,
  postSpeech: parameters.postSpeechBufferMs * samplesPerMs,
  silenceTrigger: parameters.silenceTriggerMs * samplesPerMs,
  completeSilence:
    asksEngine && parameters.completeSilenceMs > 0 ? parameters.completeSilenceMs * samplesPerMs : Infinity,
  gracefulSilence:
    parameters.gracefulSilenceThresholdMs === 0 ? Infinity : parameters.gracefulSilenceThresholdMs * samplesPerMs,
  onsetRun: parameters.onsetMs * samplesPerMs,
  forcedCut: createForcedCut(parameters, samplesPerMs, firstFrame),
})
const none: readonly SegmenterOutput[] = []

/**
 * Cuts the audio of one channel into segments, given one speech verdict a frame (PROTOCOL 7). Its clock is the audio: a
 * position is the number of samples received. A verdict holds for its whole frame and is applied at the frame's end.
 * The outputs collect until `takeOutputs`.
 */
export class SegmentMachine {
  #state: State = idle
  #outputs: SegmenterOutput[] = []
  /** The end of the last segment or reported silence. No segment begins before it. */
  #reportedEnd = 0
  #quietSince = 0
  #silentSince = 0
  #isGracefulReported = false
  #isDraining = false

  readonly #queue: SampleQueue
  readonly #samplesPerMs: number
  readonly #maxPart: number
  readonly #asksEngine: boolean
  readonly #context: number
  #isDoubtful = false
  /** Samples since the sound began that the newest frame belongs to, or that paused shortly before it. */
  #sound = 0
  #rules: Rules

  /**
   * With `asksEngine`, `check` is put out, and `answer` must be called before the next frame. `contextMs` is that of
   * the engine's capabilities.
   */
  constructor(parameters: SegmenterParameters, sampleRateHz: number, asksEngine = false, contextMs = 0) {
    const samplesPerMs = sampleRateHz / 1000
    this.#context = contextMs * samplesPerMs
    this.#samplesPerMs = samplesPerMs
    this.#asksEngine = asksEngine
    this.#maxPart = maxPartMs * samplesPerMs
    this.#rules = rulesOf(parameters, samplesPerMs, 0, asksEngine)
    const waiting = this.#rules.preSpeech + this.#rules.onsetRun + framesAtOnce * frameMs * samplesPerMs
    this.#queue = new SampleQueue(waiting, this.#context)
  }

  /** Whether a confirmed segment is in speech. */
  get isSpeaking(): boolean {
    return this.#state.type === 'speech'
  }

  /** Whether `answer` is awaited. */
  get isAsking(): boolean {
    return this.#state.type === 'asking'
  }

  /** Whether neither a segment nor an onset is open, so that the parameters can change. */
  get isIdle(): boolean {
    return this.#state.type === 'idle'
  }

  /** The position at which a segment may end, or the silence be long enough, if no speech follows. */
  get nextEnd(): number {
    if (!('segment' in this.#state)) {
      return this.#isGracefulReported ? Infinity : this.#silentSince + this.#rules.gracefulSilence
    }
    // The next frame may end it.
    if (this.#state.type === 'post') return this.#queue.end
    const { onset, lastSpeechEnd, askedAt } = this.#state.segment
    const { silenceTrigger, postSpeech, completeSilence, forcedCut } = this.#rules
    const { limit, gapAfter, gapLength } = forcedCut
    return Math.min(
      lastSpeechEnd + Math.max(silenceTrigger, postSpeech),
      Math.max(lastSpeechEnd + completeSilence, askedAt + askAgainMs * this.#samplesPerMs),
      onset + limit,
      Math.max(onset + gapAfter, lastSpeechEnd + gapLength),
    )
  }

  /** The position behind the newest frame. */
  get end(): number {
    return this.#queue.end
  }

  /** How many samples wait for their frame to be stepped. */
  get ahead(): number {
    return this.#queue.ahead
  }

  /** Takes in samples, which wait for `step`. Copies them. */
  add(samples: Int16Array): void {
    this.#queue.appendAhead(samples)
  }

  /** Copies the next frame that waits. */
  readFrame(into: Int16Array): void {
    this.#queue.readAhead(into)
  }

  /** Changes the parameters from the next frame on; only while idle. The queue holds what the former ones required. */
  setParameters(parameters: SegmenterParameters): void {
    const frameNumber = this.#queue.end / (frameMs * this.#samplesPerMs)
    this.#rules = rulesOf(parameters, this.#samplesPerMs, frameNumber, this.#asksEngine)
  }

  /**
   * Takes the next frame of 10 ms, which `readFrame` copied; the caller may reuse the array. While speech `isDoubtful`
   * it opens no segment; a segment that opens when the doubt ends begins where it would have begun without. With
   * `soundFrames` it begins before the sound, which has lasted so long by now.
   */
  step(isSpeech: boolean, frame: Int16Array, isDoubtful = false, soundFrames = 0): void {
    const frameStart = this.#queue.end
    this.#isDoubtful = isDoubtful
    this.#sound = soundFrames * frame.length
    this.#queue.advance(frame.length)
    this.#rules.forcedCut.observe(isSpeech, frame)
    this.#state = isSpeech ? this.#afterSpeech(this.#state, frameStart) : this.#afterSilence(this.#state)
    this.#state = this.#afterLimit(this.#state)
    this.#state = this.#afterCompleteSilence(this.#state)
    if (this.#state.type === 'idle') this.#afterIdleFrame()
    this.#reportPause()
  }

  /** The outputs since the last call, with the audio that may leave by now. */
  takeOutputs(): readonly SegmenterOutput[] {
    if ('segment' in this.#state)
      this.#release(this.#state.segment, this.#releasable(this.#state.type, this.#state.segment))
    if (this.#outputs.length === 0) return none
    const outputs = this.#outputs
    this.#outputs = []
    return outputs
  }

  /** The answer to `check`: a complete sentence ends its segment here. */
  answer(isComplete: boolean): void {
    if (this.#state.type !== 'asking') return
    const { segment } = this.#state
    this.#state = isComplete ? idle : { type: this.#silentState(segment), segment }
    if (!isComplete) return
    this.#close(segment, this.#audibleEnd('trail', segment))
    this.#afterIdleFrame()
    this.#reportPause()
  }

  /** The audio ended; what waits is the incomplete last frame. It has no verdict and follows the state. */
  finish(): readonly SegmenterOutput[] {
    this.#queue.advance(this.#queue.ahead)
    if ('segment' in this.#state) this.#closeAtEnd(this.#state)
    this.#state = idle
    return this.takeOutputs()
  }

  /** No audio arrived for a while: closes the open segment. Speech that continues needs no new onset. */
  interrupt(): readonly SegmenterOutput[] {
    if ('segment' in this.#state) {
      const { type } = this.#state
      const cut = this.#closeAtEnd(this.#state)
      this.#state = type === 'speech' ? { type: 'carry', cut } : idle
    }
    this.#reportPause()
    return this.takeOutputs()
  }

  /** Outputs `pause` once, now or when the open segment has ended. */
  drain(): readonly SegmenterOutput[] {
    this.#isDraining = true
    this.#reportPause()
    return this.takeOutputs()
  }

  #afterSpeech(state: State, frameStart: number): State {
    switch (state.type) {
      case 'idle':
        return this.#confirm(frameStart)
      case 'onset':
      case 'doubt':
        return this.#confirm(state.onset)
      case 'carry':
        return { type: 'speech', segment: this.#open(state.cut, state.cut) }
      case 'post':
        this.#close(state.segment, frameStart)
        return this.#confirm(frameStart)
      case 'trail':
      case 'asking':
      case 'speech':
        state.segment.lastSpeechEnd = this.#queue.end
        return state.type === 'speech' ? state : { type: 'speech', segment: state.segment }
    }
  }

  #afterSilence(state: State): State {
    if (state.type === 'doubt' && this.#queue.end - state.lastSpeechEnd < doubtMs * this.#samplesPerMs) return state
    if (!('segment' in state)) return idle
    const { segment } = state
    const silence = this.#queue.end - segment.lastSpeechEnd
    if (silence >= this.#rules.silenceTrigger && silence >= this.#rules.postSpeech) {
      this.#close(segment, segment.lastSpeechEnd + this.#rules.postSpeech)
      return idle
    }
    const type = this.#silentState(segment)
    return type === state.type ? state : { type, segment }
  }

  #silentState(segment: OpenSegment): 'post' | 'trail' {
    return this.#queue.end - segment.lastSpeechEnd >= this.#rules.silenceTrigger ? 'post' : 'trail'
  }

  /** Asks whether the sentence is complete, if the engine has all of its speech. */
  #afterCompleteSilence(state: State): State {
    if (state.type !== 'trail' && state.type !== 'post') return state
    const { segment } = state
    const now = this.#queue.end
    const isDue =
      now - segment.lastSpeechEnd >= this.#rules.completeSilence &&
      now - segment.askedAt >= askAgainMs * this.#samplesPerMs
    if (!isDue) return state
    const releasable = this.#releasable(state.type, segment)
    if (releasable < segment.lastSpeechEnd) return state
    segment.askedAt = now
    this.#release(segment, releasable)
    this.#outputs.push({ type: 'check' })
    return { type: 'asking', segment }
  }

  /** Cuts speech that is too long. */
  #afterLimit(state: State): State {
    if (state.type !== 'speech' && state.type !== 'trail') return state
    const { segment } = state
    const now = this.#queue.end
    const { limit, gapAfter, gapLength } = this.#rules.forcedCut
    if (now - segment.onset >= gapAfter && now - segment.lastSpeechEnd >= gapLength) return this.#cutInSilence(segment)
    if (now - segment.onset < limit) return state

    const cut = this.#rules.forcedCut.choose(segment.onset, now)
    if (cut.onset >= segment.lastSpeechEnd) return this.#cutInSilence(segment, cut.end)
    // The quietest gap may be the silence that the segment begins with; it would have no audio before that.
    this.#close(segment, cut.end > segment.start ? cut.end : cut.start, true)
    return { type: state.type, segment: this.#open(cut.start, cut.onset, segment.lastSpeechEnd) }
  }

  /** Cuts in silence, no later than the end of the post-speech buffer. */
  #cutInSilence(segment: OpenSegment, cut = this.#queue.end): State {
    const end = Math.min(cut, segment.lastSpeechEnd + this.#rules.postSpeech)
    this.#close(segment, end, true)
    return { type: 'carry', cut: end }
  }

  #confirm(onset: number): State {
    const now = this.#queue.end
    if (now - onset < this.#rules.onsetRun) return { type: 'onset', onset }
    if (this.#isDoubtful) return { type: 'doubt', onset, lastSpeechEnd: now }
    const begin = Math.min(onset, now - this.#sound) - this.#rules.preSpeech
    return { type: 'speech', segment: this.#open(Math.max(begin, this.#reportedEnd, this.#queue.begin), onset) }
  }

  #open(start: number, onset: number, lastSpeechEnd = this.#queue.end): OpenSegment {
    this.#queue.discardBefore(start)
    this.#isGracefulReported = false
    const startMs = this.#ms(start)
    // No audio of a result: a session that is resumed behind that result does not have it either.
    const before = Math.max(start - this.#context, this.#reportedEnd)
    const context = this.#context > 0 && { before: this.#queue.copy(before, start) }
    const atMs = this.#ms(this.#queue.end)
    this.#outputs.push({ type: 'speech-started', startMs, atMs }, { type: 'open', startMs, ...context })
    return { start, onset, lastSpeechEnd, askedAt: start }
  }

  /** Where the audio stopped, which is in mid-sentence unless there was silence. Returns the end. */
  #closeAtEnd({ type, segment }: State & { readonly segment: OpenSegment }): number {
    const end = this.#audibleEnd(type, segment)
    this.#close(segment, end, type !== 'post')
    return end
  }

  #close(segment: OpenSegment, end: number, isCut?: boolean): void {
    this.#release(segment, end)
    const startMs = this.#ms(segment.start)
    const endMs = this.#ms(end)
    const context = this.#context > 0 && { after: this.#queue.copy(end, end + this.#context) }
    this.#outputs.push({ type: 'speech-ended', startMs, endMs }, { type: 'close', endMs, isCut, ...context })
    this.#reportedEnd = end
    this.#quietSince = end
    this.#silentSince = segment.lastSpeechEnd
  }

  /** In silence: keeps the audio that a later onset may need, and measures how long it lasts. */
  #afterIdleFrame(): void {
    const now = this.#queue.end
    this.#queue.discardBefore(now - this.#rules.preSpeech - Math.max(this.#rules.onsetRun, this.#sound))
    if (now - this.#quietSince >= silenceMs * this.#samplesPerMs) this.#reportSilence()
    if (this.#isGracefulReported || now - this.#silentSince < this.#rules.gracefulSilence) return
    this.#isGracefulReported = true
    this.#outputs.push({ type: 'graceful-silence', atMs: this.#ms(now) })
  }

  /** Reports the silence up to the oldest sample that a later onset could still need. */
  #reportSilence(): void {
    const { begin, end } = this.#queue
    this.#outputs.push({ type: 'silence', startMs: this.#ms(this.#reportedEnd), endMs: this.#ms(begin) })
    this.#reportedEnd = begin
    this.#quietSince = end
  }

  #reportPause(): void {
    if (!this.#isDraining || 'segment' in this.#state) return
    this.#isDraining = false
    this.#outputs.push({ type: 'pause', atMs: this.#ms(this.#queue.end) })
  }

  #audibleEnd(type: State['type'], segment: OpenSegment): number {
    return type === 'speech'
      ? this.#queue.end
      : Math.min(this.#queue.end, segment.lastSpeechEnd + this.#rules.postSpeech)
  }

  #releasable(type: State['type'], segment: OpenSegment): number {
    return Math.min(this.#audibleEnd(type, segment), this.#rules.forcedCut.heldFrom(segment))
  }

  #release(segment: OpenSegment, until: number): void {
    let position = Math.max(segment.start, this.#queue.begin)
    while (position < until) {
      position = Math.min(position + this.#maxPart, until)
      this.#outputs.push({ type: 'audio', samples: this.#queue.take(position) })
    }
  }

  #ms(position: number): number {
    return Math.round(position / this.#samplesPerMs)
  }
}
