// The code of the microphone that runs in the audio thread of a browser. It is a file of its own without imports,
// because bundlers copy the file of an AudioWorklet as it is. It registers a processor if there is such a thread, and
// does nothing elsewhere.

/** The name of the processor. `microphone-in-browser.ts` has the same. */
const processorName = 'rxspeech-microphone'

/** Images and aliases are this many decibels lower. */
const stopbandDb = 75
/** How much of the band below half of the lower rate passes: up to 3500 Hz of 8 kHz audio, and to 7000 Hz of 16 kHz. */
const passband = 0.875
/** More are needed only by odd rates, whose samples are then at most 1/2048 of a sample early. */
const maxPhases = 1024
const pieceMs = 20

const greatestCommonDivisor = (first: number, second: number): number =>
  second === 0 ? first : greatestCommonDivisor(second, first % second)

/** The modified Bessel function of order 0, which a Kaiser window consists of. */
const bessel = (x: number): number => {
  let sum = 1
  for (let term = 1, k = 1; term > sum * 1e-9; k += 1) {
    term *= (x / (2 * k)) ** 2
    sum += term
  }
  return sum
}

interface Filter {
  /** How many samples before and after an output it covers. */
  readonly half: number
  /** The coefficients for each fraction of a sample at which an output can be. */
  readonly phases: readonly Float32Array[]
}

/** A low pass below half of the lower rate: a sinc with a Kaiser window, sampled at each phase (a polyphase filter). */
const createFilter = (fromHz: number, toHz: number, phaseCount: number): Filter => {
  const nyquistHz = Math.min(fromHz, toHz) / 2
  const transition = ((1 - passband) * nyquistHz) / fromHz
  // Kaiser's formulas for the length and the shape of the window.
  const half = Math.ceil((stopbandDb - 8) / (2.285 * 2 * Math.PI * transition) / 2)
  const beta = 0.1102 * (stopbandDb - 8.7)
  const cutoff = (((1 + passband) / 2) * nyquistHz) / fromHz
  const coefficient = (distance: number): number => {
    if (Math.abs(distance) >= half) return 0
    const angle = 2 * Math.PI * cutoff * distance
    const sinc = angle === 0 ? 1 : Math.sin(angle) / angle
    return sinc * bessel(beta * Math.sqrt(1 - (distance / half) ** 2))
  }
  const phases = Array.from({ length: phaseCount }, (_, phase) => {
    const taps = Float32Array.from({ length: 2 * half }, (_tap, tap) =>
      coefficient(tap - half + 1 - phase / phaseCount),
    )
    const sum = taps.reduce((total, tap) => total + tap, 0)
    return taps.map((tap) => tap / sum)
  })
  return { half, phases }
}

/**
 * Resamples audio from any rate to another, and cuts it into pieces of 20 ms of 16-bit samples, which are interleaved.
 * The delay of the filter is removed: frame `k` of the output has the time `k / toHz`. The position is counted in whole
 * numbers, so that the output does not drift from the input.
 */
export class PieceMaker {
  readonly #emit: (piece: Int16Array<ArrayBuffer>) => void
  readonly #pieceSamples: number
  readonly #filter: Filter
  /** Each output is `#step / #steps` samples of the input after the one before. */
  readonly #step: number
  readonly #steps: number
  /** The input that the next output needs and what follows, for each channel. */
  readonly #windows: readonly Float32Array[]
  #filled: number
  /** The first sample in the windows that the next output needs, and its fraction in `#steps`. */
  #position = 0
  #fraction = 0
  #piece: Int16Array<ArrayBuffer>
  #written = 0

  constructor(fromHz: number, toHz: number, channels: number, emit: (piece: Int16Array<ArrayBuffer>) => void) {
    const divisor = greatestCommonDivisor(fromHz, toHz)
    this.#emit = emit
    this.#pieceSamples = ((toHz * pieceMs) / 1000) * channels
    this.#piece = new Int16Array(this.#pieceSamples)
    this.#step = fromHz / divisor
    this.#steps = toHz / divisor
    // Equal rates need no filter: one coefficient.
    const isUnchanged = fromHz === toHz
    this.#filter = isUnchanged
      ? { half: 0.5, phases: [Float32Array.of(1)] }
      : createFilter(fromHz, toHz, Math.min(this.#steps, maxPhases))
    // Silence before the first sample.
    this.#filled = isUnchanged ? 0 : this.#filter.half - 1
    this.#windows = Array.from({ length: channels }, () => new Float32Array(2 * this.#filter.half + 128))
  }

  /** Takes a block of each channel; a channel that is absent is silent. */
  process(block: readonly Float32Array[], frames: number): void {
    for (let from = 0; from < frames; from += 128) {
      const length = Math.min(128, frames - from)
      this.#windows.forEach((window, channel) => {
        const samples = block[channel]?.subarray(from, from + length)
        if (samples === undefined) window.fill(0, this.#filled, this.#filled + length)
        else window.set(samples, this.#filled)
      })
      this.#filled += length
      this.#resample()
    }
  }

  #resample(): void {
    const { half, phases } = this.#filter
    while (this.#position + 2 * half <= this.#filled) {
      const at = this.#position
      const taps = phases[Math.floor((this.#fraction * phases.length) / this.#steps)] ?? new Float32Array()
      for (const window of this.#windows) {
        let sum = 0
        for (let tap = 0; tap < taps.length; tap += 1) sum += (taps[tap] ?? 0) * (window[at + tap] ?? 0)
        this.#write(sum)
      }
      this.#fraction += this.#step
      this.#position += Math.floor(this.#fraction / this.#steps)
      this.#fraction %= this.#steps
    }
    for (const window of this.#windows) window.copyWithin(0, this.#position, this.#filled)
    this.#filled -= this.#position
    this.#position = 0
  }

  /** Louder samples than a 16-bit sample can be are clipped. */
  #write(sample: number): void {
    this.#piece[this.#written] = Math.max(-32768, Math.min(32767, Math.round(sample * 32768)))
    this.#written += 1
    if (this.#written < this.#pieceSamples) return
    const piece = this.#piece
    this.#piece = new Int16Array(this.#pieceSamples)
    this.#written = 0
    this.#emit(piece)
  }
}

/** What `processorOptions` of the node contain. */
export interface WorkletOptions {
  readonly sampleRateHz: number
  readonly channels: number
}

// The parts of AudioWorkletGlobalScope (https://www.w3.org/TR/webaudio/#AudioWorkletGlobalScope) that are used.
declare const sampleRate: number
declare const AudioWorkletProcessor: new () => { readonly port: MessagePort }
declare const registerProcessor: (name: string, processor: unknown) => void

if ('registerProcessor' in globalThis) {
  registerProcessor(
    processorName,
    class extends AudioWorkletProcessor {
      readonly #maker: PieceMaker
      #isStopped = false

      constructor({ processorOptions }: { readonly processorOptions: WorkletOptions }) {
        super()
        const { sampleRateHz, channels } = processorOptions
        this.#maker = new PieceMaker(sampleRate, sampleRateHz, channels, ({ buffer }) => {
          this.port.postMessage(buffer, [buffer])
        })
        // Any message ends it: a processor that still returns true would run as long as its context.
        this.port.onmessage = () => {
          this.#isStopped = true
        }
      }

      /** A source that is muted can have no channels: then the audio continues as silence. The output stays silent. */
      process([input]: readonly (readonly Float32Array[])[], [output]: readonly (readonly Float32Array[])[]): boolean {
        this.#maker.process(input ?? [], (input?.[0] ?? output?.[0])?.length ?? 0)
        return !this.#isStopped
      }
    },
  )
}
