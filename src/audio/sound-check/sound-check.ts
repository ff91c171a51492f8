import { bytesPerFrame, type AudioFormat } from '../format.js'
import { aLawSamples, muLawSamples } from '../g711.js'
import { machineIsLittleEndian } from '../pcm.js'
import { EncodingCheck } from './encoding-check.js'
import { findWavHeader, headBytes, headerAt, isText } from './file-header.js'
import { RateCheck } from './rate-check.js'
import { Scratch } from './scratch.js'
import { minBlockPower, pointsPerBlock, SignalCheck } from './signal-check.js'
import { messageOf, uncompressed, type FoundFault, type SoundWarning } from './sound-warning.js'
import { StereoCheck } from './stereo-check.js'

/** The first blocks with sound, of 100 ms, are all examined; after them `burstBlocks` of each `cycleBlocks`. */
const firstBlocks = 40
const burstBlocks = 20
const cycleBlocks = 120
/** In a channel without a signal, one in this many samples is examined. */
const rangeStep = 5
/** Once the encoding is known to be right, one in this many blocks is examined for another one. */
const settledEncodingBlocks = 10

const leftScratch = new Scratch((length) => new Int16Array(length))
const rightScratch = new Scratch((length) => new Int16Array(length))
const mixScratch = new Scratch((length) => new Int16Array(length))
/** In place of a second channel: no read is out of bounds, which would be slow. */
const noSamples = new Int16Array(48 * pointsPerBlock)

/**
 * Examines the audio of a session for what is wrong with the audio itself: bytes in, warnings out, each kind once per
 * channel, and a channel without a signal again when it has one. The bytes are copied to blocks of 100 ms, and nothing
 * is allocated per call. After the first seconds with sound it examines a sixth of the audio, so that a chunk costs
 * less than a microsecond on average.
 */
export class SoundCheck {
  readonly #format: AudioFormat
  readonly #report: (warning: SoundWarning) => void
  readonly #block: Uint8Array
  /** The block as samples, if it is that already. */
  readonly #view: Int16Array | undefined
  /** Frames of a block. */
  readonly #frames: number
  readonly #encoding: EncodingCheck
  /** Undefined after its verdict: the rate of a stream does not change. */
  #rate: RateCheck | undefined
  readonly #signals: readonly SignalCheck[]
  readonly #stereo = new StereoCheck()
  readonly #warned = new Set<string>()
  /** Reported when all bytes of a call are examined, because the receiver may call again. */
  readonly #due: SoundWarning[] = []
  #filled = 0
  #blocks = 0
  #soundBlocks = 0
  /** Blocks since the first ones with sound. */
  #cycle = 0
  #isHeadExamined = false
  /** The bytes are not what the format says, so that their samples mean nothing. */
  #isBroken = false

  constructor(format: AudioFormat, report: (warning: SoundWarning) => void) {
    const { sampleRateHz, channels, encoding } = format
    this.#format = format
    this.#report = report
    this.#frames = pointsPerBlock * Math.floor(sampleRateHz / 1000)
    this.#block = new Uint8Array(this.#frames * bytesPerFrame(format))
    const isView = encoding === 'pcm' && channels === 1 && machineIsLittleEndian
    this.#view = isView ? new Int16Array(this.#block.buffer) : undefined
    this.#encoding = new EncodingCheck(format, this.#block.length)
    this.#rate = new RateCheck(sampleRateHz)
    this.#signals = Array.from({ length: channels }, () => new SignalCheck(sampleRateHz))
  }

  /** Examines the next bytes of the audio, which can be cut anywhere. Calls `report` before it returns. */
  push(bytes: Uint8Array): void {
    const block = this.#block
    if (this.#isHeadExamined) this.#examineHeader(bytes, bytes.length, false)
    let at = 0
    while (at < bytes.length) {
      const count = Math.min(bytes.length - at, block.length - this.#filled)
      if (count === bytes.length) block.set(bytes, this.#filled)
      else for (let i = 0; i < count; i++) block[this.#filled + i] = bytes[at + i] ?? 0
      this.#filled += count
      at += count
      if (this.#filled === block.length) {
        this.#examineBlock()
        this.#filled = 0
        this.#blocks += 1
      } else if (!this.#isHeadExamined) this.#examineHead()
    }
    for (let due = this.#due.shift(); due !== undefined; due = this.#due.shift()) this.#report(due)
  }

  /** The beginning of the stream is examined with the first message, and again when there is more of it. */
  #examineHead(): void {
    this.#examineHeader(this.#block, this.#filled, true)
    if (this.#filled >= Math.min(headBytes, this.#block.length)) this.#isHeadExamined = true
  }

  #examineHeader(bytes: Uint8Array, to: number, isStart: boolean): void {
    const found = headerAt(bytes, 0, to, isStart)
    if (found !== undefined) this.#foundHeader(found)
  }

  #foundHeader(found: string): void {
    this.#isHeadExamined = true
    this.#warn({ kind: 'file-header', found })
    if (!uncompressed.has(found)) this.#isBroken = true
  }

  #examineBlock(): void {
    const block = this.#block
    if (!this.#isHeadExamined) this.#examineHead()
    if (findWavHeader(block, block.length) >= 0) this.#foundHeader('WAV')
    else if (isText(block, 0, block.length)) this.#foundHeader('text')
    if (this.#isBroken) return
    if (!this.#isDue()) {
      this.#examineSilentChannels(false)
      return
    }
    const left = this.#view ?? this.#decode(0, leftScratch)
    const right = this.#format.channels === 1 ? noSamples : this.#decode(1, rightScratch)
    const [leftSignal, rightSignal] = this.#signals
    leftSignal?.examine(left)
    rightSignal?.examine(right)
    const isQuiet = leftSignal?.measure.isQuiet !== false && rightSignal?.measure.isQuiet !== false
    if (!isQuiet) this.#examineEncoding()
    if (this.#isBroken) return
    this.#examineSignals(left, right)
    if (!isQuiet) this.#examineRate(left, right)
  }

  /** Whether this block is examined; forgets what was measured before a gap. */
  #isDue(): boolean {
    if (this.#soundBlocks < firstBlocks) return true
    const at = this.#cycle % cycleBlocks
    this.#cycle += 1
    if (at === 0) for (const signal of this.#signals) signal.reset()
    return at < burstBlocks
  }

  /**
   * A channel without a signal is examined in every block, by some of its samples. Whether the other one has sound is
   * known of blocks that were examined, which stand for those between them.
   */
  #examineSilentChannels(isDue: boolean): void {
    for (let channel = 0; channel < this.#signals.length && this.#signals.length > 1; channel++) {
      if (!this.#stereo.isSilent(channel)) continue
      const hasOtherSound = isDue && (this.#signals[1 - channel]?.measure.power ?? 0) >= minBlockPower
      const blocks = this.#cycle > 0 ? cycleBlocks / burstBlocks : 1
      const fault = this.#stereo.examineSilent(channel, this.#rangeOf(channel), hasOtherSound, blocks)
      if (fault !== undefined) this.#warn(fault)
    }
  }

  #rangeOf(channel: number): number {
    let [min, max] = [Infinity, -Infinity]
    for (let frame = 0; frame < this.#frames; frame += rangeStep) {
      const sample = this.#sampleAt(frame, channel)
      min = Math.min(min, sample)
      max = Math.max(max, sample)
    }
    return max - min
  }

  #sampleAt(frame: number, channel: number): number {
    const { encoding, channels } = this.#format
    const block = this.#block
    const at = frame * channels + channel
    if (encoding === 'pcm') return (((block[2 * at + 1] ?? 0) << 24) >> 16) | (block[2 * at] ?? 0)
    return (encoding === 'ulaw' ? muLawSamples() : aLawSamples())[block[at] ?? 0] ?? 0
  }

  #examineEncoding(): void {
    if (this.#encoding.isSettled && this.#blocks % settledEncodingBlocks !== 0) return
    const fault = this.#encoding.examine(this.#block)
    if (fault === undefined) return
    this.#isBroken = true
    this.#warn(fault)
  }

  #decode(channel: number, scratch: Scratch<Int16Array>): Int16Array {
    const { encoding, channels } = this.#format
    const block = this.#block
    const samples = scratch.take(this.#frames)
    if (encoding === 'pcm') {
      for (let i = 0, at = 2 * channel; i < this.#frames; i++, at += 2 * channels) {
        samples[i] = (((block[at + 1] ?? 0) << 24) >> 16) | (block[at] ?? 0)
      }
      return samples
    }
    const table = encoding === 'ulaw' ? muLawSamples() : aLawSamples()
    for (let i = 0, at = channel; i < this.#frames; i++, at += channels) samples[i] = table[block[at] ?? 0] ?? 0
    return samples
  }

  #examineSignals(left: Int16Array, right: Int16Array): void {
    const [leftSignal, rightSignal] = this.#signals
    if (this.#signals.some(({ measure }) => measure.power >= minBlockPower)) this.#soundBlocks += 1
    // The samples of a wrong encoding are loud and have an offset: the verdict on the encoding comes first.
    if (this.#encoding.isInDoubt) return
    this.#examineSilentChannels(true)
    for (let channel = 0; channel < this.#signals.length; channel++) this.#examineSignal(channel)
    if (leftSignal === undefined || rightSignal === undefined) return
    if (this.#stereo.areSame(left, right, this.#frames, leftSignal.measure, rightSignal.measure)) {
      this.#warn({ kind: 'equal-channels' })
    }
  }

  #examineSignal(channel: number): void {
    const signal = this.#signals[channel]
    if (signal === undefined) return
    if (signal.isClipped) {
      this.#warn({ kind: 'clipping', channel })
      // Clipping changes the spectrum.
      this.#rate = undefined
    }
    if (signal.hasOffset) this.#warn({ kind: 'dc-offset', channel })
    const { humHz } = signal
    if (humHz !== undefined) this.#warn({ kind: 'mains-hum', found: `${humHz} Hz`, channel })
  }

  #examineRate(left: Int16Array, right: Int16Array): void {
    const rate = this.#rate
    if (rate === undefined || this.#encoding.isInDoubt) return
    const [leftSignal, rightSignal] = this.#signals
    const power = (leftSignal?.measure.power ?? 0) + (rightSignal?.measure.power ?? 0)
    const fault = rate.examine(rightSignal === undefined ? left : this.#mix(left, right), power)
    if (fault !== undefined) this.#warn(fault)
    if (fault !== undefined || rate.isOver) this.#rate = undefined
  }

  #mix(left: Int16Array, right: Int16Array): Int16Array {
    const mix = mixScratch.take(this.#frames)
    for (let i = 0; i < this.#frames; i++) mix[i] = ((left[i] ?? 0) + (right[i] ?? 0)) >> 1
    return mix
  }

  #warn(fault: FoundFault): void {
    const key = `${fault.kind} ${fault.channel ?? ''} ${fault.isOver ?? ''}`
    if (this.#warned.has(key)) return
    this.#warned.add(key)
    const frames = (this.#blocks * this.#block.length + this.#filled) / bytesPerFrame(this.#format)
    const atMs = Math.round((frames * 1000) / this.#format.sampleRateHz)
    this.#due.push({ ...fault, atMs, message: messageOf(fault, this.#format) })
  }
}
