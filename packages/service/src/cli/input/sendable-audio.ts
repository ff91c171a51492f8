import { setTimeout as sleep } from 'node:timers/promises'
import { decodeSamples } from 'rxspeech/internal/audio/codec'
import { type AudioFormat, bytesForMs, msForBytes } from 'rxspeech/internal/audio/format'
import { bytesOf } from 'rxspeech/internal/audio/pcm'
import { createResampler } from 'rxspeech-server/recognition/resampler'

export interface SendableAudio {
  readonly format: AudioFormat
  readonly audio: AsyncIterable<Uint8Array>
}

/** The sample rates that services accept (PROTOCOL 3.2 and 4.2). */
const takenRatesHz: readonly number[] = [8000, 16_000]
const resampledHz = 16_000

/** The audio as services accept it: unchanged at 8000 or 16000 Hz, otherwise resampled to 16000 Hz PCM. */
export const atTakenRate = (audio: SendableAudio): SendableAudio =>
  takenRatesHz.includes(audio.format.sampleRateHz) ? audio : atRate(audio, resampledHz)

/** The audio at a rate: unchanged if it has it, otherwise resampled to PCM. */
export const atRate = ({ format, audio }: SendableAudio, sampleRateHz: number): SendableAudio =>
  format.sampleRateHz === sampleRateHz
    ? { format, audio }
    : { format: { ...format, encoding: 'pcm', sampleRateHz }, audio: resampled(format, audio, sampleRateHz) }

async function* resampled(
  format: AudioFormat,
  audio: AsyncIterable<Uint8Array>,
  toHz: number,
): AsyncGenerator<Uint8Array, undefined> {
  const { encoding, sampleRateHz, channels } = format
  const resampler = await createResampler({ fromHz: sampleRateHz, toHz, channels })
  try {
    for await (const piece of audio) {
      const samples = resampler.process(decodeSamples(piece, encoding))
      if (samples.length > 0) yield bytesOf(samples)
    }
    const tail = resampler.flush()
    if (tail.length > 0) yield bytesOf(tail)
  } finally {
    resampler.free()
  }
  return undefined
}

/** How fast audio is sent. */
export interface Pace {
  /** Times real time; `Infinity` for as fast as the service reads. */
  readonly speed: number
  /** How much audio may be sent ahead of that pace, in milliseconds. @default 0 */
  readonly burstMs?: number
}

export interface Delivery {
  readonly pace: Pace
  /** Resolves when more may be sent; undefined when it may be now. */
  readonly whenWritable: () => Promise<void> | undefined
  /** Called with the length of the audio that has been sent, in milliseconds. */
  readonly sent: (audioMs: number) => void
}

/** The usual length of a message of audio (PROTOCOL 3.2). */
const chunkMs = 20
/** Long enough for a low overhead, and short enough that little audio waits in buffers. */
const unpacedChunkMs = 100
/** How much of a stall is caught up immediately. */
const maxCatchUpMs = 500

/**
 * Emits the audio in small chunks, each one when it is requested, the link accepts it, and its time has come: at
 * `speed`, counted from the first chunk, so that delays do not add up. Nothing is lost, because nothing is pushed.
 */
export async function* delivered(
  { format, audio }: SendableAudio,
  { pace: { speed, burstMs = 0 }, whenWritable, sent }: Delivery,
): AsyncGenerator<Uint8Array, undefined> {
  const isPaced = speed !== Infinity
  const stepBytes = bytesForMs(format, isPaced ? chunkMs * Math.max(1, speed) : unpacedChunkMs)
  let sentBytes = 0
  let startMs = performance.now()
  for await (const piece of audio) {
    for (let from = 0; from < piece.length; from += stepBytes) {
      await whenWritable()
      if (isPaced) {
        const aheadMs = startMs + (msForBytes(format, sentBytes) - burstMs) / speed - performance.now()
        if (aheadMs > 0) await sleep(aheadMs)
        else startMs += Math.max(0, -aheadMs - burstMs / speed - maxCatchUpMs)
      }
      const chunk = piece.subarray(from, from + stepBytes)
      sentBytes += chunk.length
      sent(msForBytes(format, sentBytes))
      yield chunk
    }
  }
  return undefined
}
