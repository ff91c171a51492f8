import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Observable, type Subscription } from 'rxjs'
import { codeOf } from '../../src/errors/speech-error.js'
import { msForBytes } from '../../src/audio/format.js'
import type { SessionEvent } from '../../src/protocol/session-event.js'
import { faultProxy, type FaultProxy } from '../../src/testing/faults/fault-proxy.js'
import { faultScripts } from '../../src/testing/faults/named-faults.js'
import { positionAudio } from '../../src/testing/verifying/position-audio.js'
import { faultSession, audioFormat, tokenSourceOf, type FaultTarget, type Transport } from './fault-session.js'
import type { Verdict } from './judge-run.js'
import { serviceOf } from './run-fault.js'

const pushedBytes = 50_000_000
const chunkSamples = 8_000
const chunksAtOnce = 25
/** The maximum that the session buffers: its buffer and its replay buffer, a minute each. */
const boundBytes = 2 * 60 * 16_000
const allowedBytes = boundBytes + 10_000_000
const finalizeTimeoutMs = 1_000
const maxRunMs = 60_000

const megabytes = (bytes: number): string => `${(Math.max(0, bytes) / 1_000_000).toFixed(1)} MB`

/** Memory in use after garbage collection. */
const heldBytes = (): number => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

interface Flood {
  readonly source$: Observable<Uint8Array>
  /** Begins to push; when everything is pushed, reports by how much the memory has grown, and completes the source. */
  readonly begin: () => void
}

/** Pushes as fast as the process can, regardless of the consumer, and yields to the event loop between some chunks. */
const flood = (pushed: (grewBytes: number) => void): Flood => {
  let begin = (): void => undefined
  const source$ = new Observable<Uint8Array>((subscriber) => {
    let givenBytes = 0
    let beforeBytes = 0
    let next: NodeJS.Immediate | undefined
    const push = (): void => {
      for (let count = 0; count < chunksAtOnce && givenBytes < pushedBytes && !subscriber.closed; count += 1) {
        const chunk = positionAudio(givenBytes / 2, chunkSamples)
        givenBytes += chunk.length
        subscriber.next(chunk)
      }
      if (subscriber.closed) return
      next = setImmediate(givenBytes < pushedBytes ? push : finish)
    }
    const finish = (): void => {
      pushed(heldBytes() - beforeBytes)
      subscriber.complete()
    }
    begin = () => {
      beforeBytes = heldBytes()
      push()
    }
    return () => {
      if (next !== undefined) clearImmediate(next)
    }
  })
  return { source$, begin: () => begin() }
}

/**
 * Pushes 50 MB to a service that has stopped reading, and measures the memory that this process holds. Nothing else may
 * run in the process meanwhile. The service never resumes reading, so the session has to end by its deadline. Rejects
 * with the signal's reason.
 */
export const runStoppedReading = async (
  over: Transport,
  target: FaultTarget,
  signal: AbortSignal,
): Promise<Verdict> => {
  const address = over === 'grpc' ? (target.grpc ?? '') : serviceOf(target.url ?? '')
  const proxy = await faultProxy({ target: address, script: faultScripts('stopped-reading', over).proxy })
  try {
    signal.throwIfAborted()
    return judgeFlood(await pushAll(over, target, proxy, signal), target)
  } finally {
    await proxy.close()
  }
}

interface Flooded {
  readonly grewBytes: number | undefined
  readonly gapMs: number
  readonly end: string
}

const pushAll = (over: Transport, target: FaultTarget, proxy: FaultProxy, signal: AbortSignal): Promise<Flooded> =>
  new Promise((resolve, reject) => {
    let grewBytes: number | undefined
    let gapMs = 0
    const { source$, begin } = flood((grew) => {
      grewBytes = grew
    })
    const options = {
      format: audioFormat,
      token: tokenSourceOf(target.token),
      timeouts: { finalizeMs: finalizeTimeoutMs },
    }
    const session$ = faultSession(over, target, { address: proxy.address, links: undefined }, options)(source$)
    const end = (how: string): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      resolve({ grewBytes, gapMs, end: how })
    }
    const abort = (): void => {
      subscription?.unsubscribe()
      clearTimeout(timer)
      reject(signal.reason as Error)
    }
    const timer = setTimeout(() => {
      subscription?.unsubscribe()
      end('never ended')
    }, maxRunMs)
    signal.addEventListener('abort', abort, { once: true })
    const onEvent = (event: SessionEvent): void => {
      if (event.type === 'gap' && event.cause !== 'silence') gapMs += event.toMs - event.fromMs
      if (event.type !== 'connection') return
      proxy.signal(event.state)
      if (event.state === 'streaming') setImmediate(begin)
    }
    const subscription: Subscription | undefined = session$.subscribe({
      next: onEvent,
      error: (error: unknown) => end(`failed with ${codeOf(error) ?? 'an untyped error'}`),
      complete: () => end('ended with its final'),
    })
  })

const judgeFlood = ({ grewBytes, gapMs, end }: Flooded, { verifier }: FaultTarget): Verdict => {
  const sampleCount = pushedBytes / 2
  const { sampleRateHz } = audioFormat
  const proof = verifier?.verify({ sampleCount, sampleRateHz })
  const missingMs = proof && proof.missingMs + proof.unfinalizedMs
  const isReported = missingMs === undefined ? gapMs > 0 : Math.abs(missingMs - gapMs) <= 1
  const isWithin = grewBytes !== undefined && grewBytes <= allowedBytes
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`
  return {
    promise: isWithin && isReported && !end.startsWith('never') ? 'kept' : 'broken',
    inShort: grewBytes === undefined ? end : `+${Math.round(Math.max(0, grewBytes) / 1_000_000)} MB`,
    findings: [
      grewBytes === undefined
        ? 'not all audio was accepted'
        : `${megabytes(grewBytes)} of memory more, ${megabytes(allowedBytes)} allowed`,
      ...(missingMs === undefined ? [] : [`${seconds(missingMs)} without a result`]),
      `gaps of ${seconds(gapMs)} reported for ${seconds(msForBytes(audioFormat, pushedBytes))} of audio`,
      end,
    ].join(', '),
  }
}
