import { fromEvent, lastValueFrom, NEVER, takeUntil, toArray } from 'rxjs'
import { type AudioFormat, bytesForMs } from 'rxspeech/internal/audio/format'
import { refusalError } from 'rxspeech/internal/errors/refusal'
import { isResult } from 'rxspeech/internal/operators/results/transcript'
import type { Access } from '../service/access.js'
import { openSession } from '../service/open-session.js'
import { Segments } from '../view/segments.js'

export interface TriedSession {
  readonly text: (channel: number) => string
  /** From its start to its end. */
  readonly elapsedMs: number
}

export interface SampleAudio {
  readonly format: AudioFormat
  readonly samples: Uint8Array
}

const chunkMs = 100

/** Runs a real session over the audio to its end. Rejects with the error of the session. */
export const trySession = async (
  access: Access,
  over: 'grpc' | 'websocket',
  { format, samples }: SampleAudio,
  { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<TriedSession> => {
  const startedMs = performance.now()
  const session = await openSession({ access, over, format, timeoutMs, finalize$: NEVER })
  async function* audio(): AsyncGenerator<Uint8Array, undefined> {
    const step = bytesForMs(format, chunkMs)
    for (let from = 0; from < samples.length; from += step)
      yield await Promise.resolve(samples.subarray(from, from + step))
    return undefined
  }
  const events = await lastValueFrom(session(audio()).pipe(takeUntil(fromEvent(signal, 'abort')), toArray()))
  const segments = new Segments()
  for (const event of events) {
    if (!isResult(event)) continue
    segments.take(event)
    if (event.type === 'final' && event.error !== undefined) throw refusalError(event.error)
  }
  return { text: (channel) => segments.text(channel), elapsedMs: performance.now() - startedMs }
}
