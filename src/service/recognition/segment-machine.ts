import { SampleQueue } from './sample-queue.js'
import { createForcedCut, type ForcedCut } from './forced-cut.js'
import type { SegmenterOutput } from './segmenter-output.js'
import type { SegmenterParameters } from './segmenter-parameters.js'

/** The length of a frame. A coarser hop would join speech that a pause of 400 ms parts. */
export const frameMs = 10

/** Silence is told when it has lasted so long, and again each time that it has lasted as long again. */
const silenceMs = 30_000

/** An `audio` part holds at most so much, so that an engine takes long audio in steps. */
const longestPartMs = 200

/** The segment that is open. Positions are samples since the channel's first. */
interface OpenSegment {
  readonly start: number
  /** Where its speech began; the longest speech counts from here. */
  readonly onset: number
  lastSpeechEnd: number
}

type State =
  | { readonly type: 'idle' }
  /** Speech frames without a break since `onset`, too few yet to believe. */
  | { readonly type: 'onset'; readonly onset: number }
  | { readonly type: 'speech'; readonly segment: OpenSegment }
  /** Silence, not long enough yet to end the segment. */
  | { readonly type: 'trail'; readonly segment: OpenSegment }
  /** Silence was long enough, but the post-speech buffer isn't full yet. */
  | { readonly type: 'post'; readonly segment: OpenSegment }
  /** A segment was closed at `cut` although someone may speak on; the next frame tells. */
  | { readonly type: 'carry'; readonly cut: number }

const idle: State = { type: 'idle' }

/** The parameters in samples. */
interface Rules {
  readonly preSpeech: number
  readonly postSpeech: number
  readonly silenceTrigger: number
  readonly gracefulSilence: number
  readonly onsetRun: number
  readonly forcedCut: ForcedCut
}

const rulesOf = (parameters: SegmenterParameters, samplesPerMs: number, firstFrame: number): Rules => ({
  preSpeech: parameters.preSpeechMs * samplesPerMs,
  postSpeech: parameters.postSpeechMs * samplesPerMs,
  silenceTrigger: parameters.silenceTriggerMs * samplesPerMs,
  gracefulSilence: parameters.gracefulSilenceMs === 0 ? Infinity : parameters.gracefulSilenceMs * samplesPerMs,
  onsetRun: parameters.onsetMs * samplesPerMs,
  forcedCut: createForcedCut(parameters, samplesPerMs, firstFrame),
})
const none: readonly SegmenterOutput[] = []

/**
 * Cuts the audio of one channel into segments by a verdict a frame. The clock is the audio: position = samples received.
 * A verdict holds for its whole frame and is judged at the frame's end. What was said since is taken with `takeOutputs`.
 */
export class SegmentMachine {
  private state: State = idle
  private outputs: SegmenterOutput[] = []
  /** Up to here all is told: where the last segment ended, or the last silence that was told. No segment begins before. */
  private toldEnd = 0
  private quietSince = 0
  private silentSince = 0
  private gracefulRaised = false
  private drains = false

  private readonly tail: SampleQueue
  private readonly samplesPerMs: number
  private readonly longestPart: number
  private rules: Rules

  constructor(parameters: SegmenterParameters, sampleRateHz: number) {
    const samplesPerMs = sampleRateHz / 1000
    this.samplesPerMs = samplesPerMs
    this.longestPart = longestPartMs * samplesPerMs
    this.rules = rulesOf(parameters, samplesPerMs, 0)
    this.tail = new SampleQueue(2 * (this.rules.preSpeech + this.rules.onsetRun) + this.longestPart)
  }

  /** Whether someone speaks, as far as is confirmed. */
  get speaking(): boolean {
    return this.state.type === 'speech'
  }

  /** Whether neither a segment nor an onset is open, so that other parameters harm nothing that has begun. */
  get idle(): boolean {
    return this.state.type === 'idle'
  }

  /** Other parameters, from the next frame on; only while idle. The ring has kept what the former ones asked for. */
  setParameters(parameters: SegmenterParameters): void {
    this.rules = rulesOf(parameters, this.samplesPerMs, this.tail.end / (frameMs * this.samplesPerMs))
  }

  /** Takes in one frame of 10 ms; it may be used again afterwards. */
  step(speech: boolean, frame: Int16Array): void {
    const frameStart = this.tail.end
    this.tail.append(frame)
    this.rules.forcedCut.observe(speech, frame)
    this.state = speech ? this.afterSpeech(this.state, frameStart) : this.afterSilence(this.state)
    this.state = this.afterLimit(this.state)
    if (this.state.type === 'idle') this.rest()
    this.tellPause()
  }

  /** All that was said since the last call, with the audio that may leave by now. */
  takeOutputs(): readonly SegmenterOutput[] {
    if ('segment' in this.state) this.release(this.state.segment, this.releasable(this.state.type, this.state.segment))
    if (this.outputs.length === 0) return none
    const said = this.outputs
    this.outputs = []
    return said
  }

  /** The audio ended; `remainder` is the begun frame behind the last whole one. It has no verdict and follows the state. */
  finish(remainder: Int16Array): readonly SegmenterOutput[] {
    this.tail.append(remainder)
    if ('segment' in this.state) this.close(this.state.segment, this.audibleEnd(this.state.type, this.state.segment))
    this.state = idle
    return this.takeOutputs()
  }

  /** No audio came for so long that the open segment is closed; should speech go on, it does so without a new onset. */
  interrupt(): readonly SegmenterOutput[] {
    if ('segment' in this.state) {
      const { type, segment } = this.state
      const end = this.audibleEnd(type, segment)
      this.close(segment, end)
      this.state = type === 'speech' ? { type: 'carry', cut: end } : idle
    }
    this.tellPause()
    return this.takeOutputs()
  }

  /** Whoever listens wants to leave: tells `pause` once, now or when the open segment has ended. */
  drain(): readonly SegmenterOutput[] {
    this.drains = true
    this.tellPause()
    return this.takeOutputs()
  }

  private afterSpeech(state: State, frameStart: number): State {
    switch (state.type) {
      case 'idle':
        return this.confirm(frameStart)
      case 'onset':
        return this.confirm(state.onset)
      case 'carry':
        return { type: 'speech', segment: this.open(state.cut, state.cut) }
      case 'post':
        this.close(state.segment, frameStart)
        return this.confirm(frameStart)
      case 'trail':
      case 'speech':
        state.segment.lastSpeechEnd = this.tail.end
        return state.type === 'speech' ? state : { type: 'speech', segment: state.segment }
    }
  }

  private afterSilence(state: State): State {
    if (!('segment' in state)) return idle
    const { segment } = state
    const silence = this.tail.end - segment.lastSpeechEnd
    if (silence >= this.rules.silenceTrigger && silence >= this.rules.postSpeech) {
      this.close(segment, segment.lastSpeechEnd + this.rules.postSpeech)
      return idle
    }
    const type = silence >= this.rules.silenceTrigger ? 'post' : 'trail'
    return type === state.type ? state : { type, segment }
  }

  /** Ends speech that ran too long. */
  private afterLimit(state: State): State {
    if (state.type !== 'speech' && state.type !== 'trail') return state
    const { segment } = state
    const now = this.tail.end
    const { limit, gapAfter, gapLength } = this.rules.forcedCut
    if (now - segment.onset >= gapAfter && now - segment.lastSpeechEnd >= gapLength) return this.cutInSilence(segment)
    if (now - segment.onset < limit) return state

    const cut = this.rules.forcedCut.choose(segment.onset, now)
    if (cut.onset >= segment.lastSpeechEnd) return this.cutInSilence(segment, cut.end)
    this.close(segment, cut.end)
    return { type: state.type, segment: this.open(cut.start, cut.onset, segment.lastSpeechEnd) }
  }

  /** Cuts where nothing was said since, not later than the post-speech buffer reaches. */
  private cutInSilence(segment: OpenSegment, cut = this.tail.end): State {
    const end = Math.min(cut, segment.lastSpeechEnd + this.rules.postSpeech)
    this.close(segment, end)
    return { type: 'carry', cut: end }
  }

  private confirm(onset: number): State {
    if (this.tail.end - onset < this.rules.onsetRun) return { type: 'onset', onset }
    return {
      type: 'speech',
      segment: this.open(Math.max(onset - this.rules.preSpeech, this.toldEnd, this.tail.begin), onset),
    }
  }

  private open(start: number, onset: number, lastSpeechEnd = this.tail.end): OpenSegment {
    this.tail.forgetBefore(start)
    this.gracefulRaised = false
    const startMs = this.ms(start)
    this.outputs.push({ type: 'speech-started', startMs, atMs: this.ms(this.tail.end) }, { type: 'open', startMs })
    return { start, onset, lastSpeechEnd }
  }

  private close(segment: OpenSegment, end: number): void {
    this.release(segment, end)
    const startMs = this.ms(segment.start)
    const endMs = this.ms(end)
    this.outputs.push({ type: 'speech-ended', startMs, endMs }, { type: 'close', endMs })
    this.toldEnd = end
    this.quietSince = end
    this.silentSince = segment.lastSpeechEnd
  }

  /** Nobody speaks: keeps what a later onset may claim, and watches how long it lasts. */
  private rest(): void {
    const now = this.tail.end
    this.tail.forgetBefore(now - this.rules.preSpeech - this.rules.onsetRun)
    if (now - this.quietSince >= silenceMs * this.samplesPerMs) this.tellSilence()
    if (this.gracefulRaised || now - this.silentSince < this.rules.gracefulSilence) return
    this.gracefulRaised = true
    this.outputs.push({ type: 'graceful-silence', atMs: this.ms(now) })
  }

  /** As far as nothing is kept any more that a later onset could claim. */
  private tellSilence(): void {
    const { begin, end } = this.tail
    this.outputs.push({ type: 'silence', startMs: this.ms(this.toldEnd), endMs: this.ms(begin) })
    this.toldEnd = begin
    this.quietSince = end
  }

  private tellPause(): void {
    if (!this.drains || 'segment' in this.state) return
    this.drains = false
    this.outputs.push({ type: 'pause', atMs: this.ms(this.tail.end) })
  }

  private audibleEnd(type: State['type'], segment: OpenSegment): number {
    return type === 'speech' ? this.tail.end : Math.min(this.tail.end, segment.lastSpeechEnd + this.rules.postSpeech)
  }

  private releasable(type: State['type'], segment: OpenSegment): number {
    return Math.min(this.audibleEnd(type, segment), this.rules.forcedCut.heldFrom(segment))
  }

  private release(segment: OpenSegment, until: number): void {
    let position = Math.max(segment.start, this.tail.begin)
    while (position < until) {
      position = Math.min(position + this.longestPart, until)
      this.outputs.push({ type: 'audio', samples: this.tail.take(position) })
    }
  }

  private ms(position: number): number {
    return Math.round(position / this.samplesPerMs)
  }
}
