import { setTimeout as sleep } from 'node:timers/promises'
import { Subject } from 'rxjs'
import { bytesForMs, msForBytes, type AudioFormat } from 'rxspeech/internal/audio/format'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import type { SessionEvent } from 'rxspeech/internal/protocol/session-event'
import type { Access } from '../service/access.js'
import { openSession } from '../service/open-session.js'
import type { CallFault, MeasuredSegment } from './step-verdict.js'

/** A recording that calls repeat, in whole chunks. */
export interface CallRecording {
  readonly format: AudioFormat
  readonly bytes: Uint8Array
}

/** How the calls reach the service. */
export interface CallRoute {
  readonly access: Access
  readonly over: 'grpc' | 'websocket'
  readonly language?: string | undefined
}

/** One call, at times of the clock of this process. */
export interface CallPlan {
  /** Where in the recording it begins, in milliseconds. */
  readonly fromMs: number
  readonly beginsAtMs: number
  /** Segments that end from then on count. */
  readonly countsFromMs: number
  readonly endsAtMs: number
  /** How long its last results may take. */
  readonly finalWithinMs: number
}

export interface CallListener {
  readonly segment: (segment: MeasuredSegment) => void
  readonly fault: (fault: CallFault) => void
}

/** The usual length of a message of audio (PROTOCOL 3.2). */
export const chunkMs = 20

/** A model may have to be loaded by the first call. */
const startTimeoutMs = 120_000

const maxReasonLength = 200

/**
 * Makes one call in real time: the recording again and again from its place, then the last results. Resolves when it
 * has ended in any way; what was lost is a fault.
 */
export const makeCall = async (
  { format, bytes }: CallRecording,
  { access, over, language }: CallRoute,
  plan: CallPlan,
  listener: CallListener,
  signal: AbortSignal,
): Promise<void> => {
  const { fromMs, beginsAtMs, countsFromMs, endsAtMs, finalWithinMs } = plan
  const recordingMs = msForBytes(format, bytes.length)
  let beganAtMs = 0
  const receive = (event: SessionEvent): void => {
    const fault = faultOf(event)
    if (fault !== undefined) listener.fault(fault)
    if (event.type !== 'milestone' || event.endMs === undefined) return
    const dueMs = beganAtMs + event.endMs
    // What the end of the audio cuts off is no segment of the recording.
    if (dueMs < countsFromMs || dueMs > endsAtMs - 3 * chunkMs) return
    listener.segment({
      channel: event.channel ?? 0,
      positionMs: (fromMs + event.endMs) % recordingMs,
      lengthMs: event.endMs - (event.startMs ?? event.endMs),
      delayMs: performance.now() - dueMs,
    })
  }
  async function* audio(): AsyncGenerator<Uint8Array, undefined> {
    beganAtMs = performance.now()
    const stepBytes = bytesForMs(format, chunkMs)
    let at = bytesForMs(format, fromMs)
    // As from a microphone: a chunk can be sent when all of it was spoken.
    for (let spokenMs = chunkMs; beganAtMs + spokenMs <= endsAtMs; spokenMs += chunkMs) {
      const waitMs = beganAtMs + spokenMs - performance.now()
      if (waitMs > 0) await sleep(waitMs)
      if (signal.aborted) return undefined
      yield bytes.subarray(at, at + stepBytes)
      at = (at + stepBytes) % bytes.length
    }
    return undefined
  }
  const untilBegin = beginsAtMs - performance.now()
  if (untilBegin > 0) await sleep(untilBegin, undefined, { signal }).catch(() => undefined)
  if (signal.aborted) return
  const timeoutMs = startTimeoutMs
  const open = await openSession({ access, over, format, language, timeoutMs, finalize$: new Subject<void>() })
  await new Promise<void>((resolve) => {
    const subscription = open(audio()).subscribe({
      next: receive,
      error: (error: unknown) => {
        listener.fault(faultOfError(error))
        resolve()
      },
      complete: () => {
        if (performance.now() < endsAtMs - chunkMs) {
          listener.fault({ kind: 'failed', reason: 'the service ended the session before its audio' })
        }
        resolve()
      },
    })
    const deadline = setTimeout(
      () => {
        listener.fault({ kind: 'unfinished', reason: `no last results within ${finalWithinMs / 1000} s` })
        subscription.unsubscribe()
        resolve()
      },
      endsAtMs + finalWithinMs - performance.now(),
    )
    const abort = (): void => {
      subscription.unsubscribe()
      resolve()
    }
    signal.addEventListener('abort', abort)
    subscription.add(() => {
      clearTimeout(deadline)
      signal.removeEventListener('abort', abort)
    })
  })
}

/** Audio or results that a call lost, or a connection that was lost. */
const faultOf = (event: SessionEvent): CallFault | undefined => {
  switch (event.type) {
    case 'gap':
      if (event.cause === 'silence') return undefined
      return { kind: 'gap', reason: `audio without results (${event.cause})` }
    case 'connection':
      if (event.state !== 'reconnecting') return undefined
      return event.cause === 'overloaded'
        ? { kind: 'refused', reason: event.cause }
        : { kind: 'reconnected', reason: `the connection was lost (${event.cause})` }
    case 'final':
      return event.error === undefined ? undefined : { kind: 'failed', reason: reasonOf(event.error) }
    default:
      return undefined
  }
}

const faultOfError = (error: unknown): CallFault => {
  if (!isSpeechError(error)) return { kind: 'failed', reason: reasonOf(String(error)) }
  const reason = reasonOf(error.message)
  return { kind: error.code === 'overloaded' ? 'refused' : 'failed', reason: `${error.code}: ${reason}` }
}

const reasonOf = (message: string): string => message.slice(0, maxReasonLength)
