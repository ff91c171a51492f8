import { monitorEventLoopDelay } from 'node:perf_hooks'
import { tap, type Observable } from 'rxjs'
import { expect } from 'vitest'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { failover } from '../../../../src/client/failover/failover.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import type { SessionEvent } from '../../../../src/protocol/session-event.js'
import { faultProxy, type FaultProxy } from '../../../../src/testing/faults/fault-proxy.js'
import { sessionOptions, type Over, type SpokenService } from '../interop/session-options.js'
import { outcomeOf } from '../../../../test/faults/proved-session.js'
import { onceStreaming, type CallOutcome, type SpokenCall } from './spoken-call.js'

export const disturbances = ['kill', 'freeze', 'slow down'] as const
export type Disturbance = (typeof disturbances)[number]

/** A disturbance of the service that runs the session, at a position of the call. */
export interface Moment {
  readonly atMs: number
  readonly disturbance: Disturbance
}

/** How long each disturbance lasts, in milliseconds: longer than it takes to notice it. */
const lastsMs: Readonly<Record<Disturbance, number>> = { kill: 1_500, freeze: 2_500, 'slow down': 3_000 }

const disturb = (proxy: FaultProxy, disturbance: Disturbance): void => {
  if (disturbance === 'kill') proxy.outage(lastsMs.kill)
  else if (disturbance === 'freeze') proxy.halfOpen()
  else proxy.apply({ do: 'delay', delayMs: 1_500, direction: 'to-client' })
  if (disturbance !== 'kill') setTimeout(() => proxy.restore(), lastsMs[disturbance]).unref()
}

export interface DisturbedCall extends CallOutcome {
  /** How long each loss lasted, from when it was noticed until another service was ready, in milliseconds. */
  readonly switchesMs: readonly number[]
  /** The longest time for which this process, in which both ends run, was busy with other work, in milliseconds. */
  readonly busyMs: number
  /** The services that ran the session, in this order, of all channels together. */
  readonly services: readonly number[]
}

/** A call in real time over two services, each with its own address, certificate and token. */
export const disturbedCall = async (
  live: readonly [SpokenService, SpokenService],
  over: readonly [Over, Over],
  call: SpokenCall,
  moments: readonly Moment[],
): Promise<DisturbedCall> => {
  const proxies: FaultProxy[] = []
  const recognitions = []
  for (const [index, service] of live.entries()) {
    const { grpc, websocket } = sessionOptions(service, call.format, 'call')
    const isGrpc = over[index] === 'grpc'
    const { hostname, port } = new URL(isGrpc ? `https://${grpc.url}` : websocket.url)
    const proxy = await faultProxy({ target: Number(port) })
    proxies.push(proxy)
    const common = {
      resumption: { firstDelayMs: 20, maxDelayMs: 200 },
      connection: { ca: service.ca, heartbeatMs: 1_000 },
    }
    const address = `${hostname}:${proxy.port}`
    recognitions.push(
      isGrpc
        ? dataflow({ ...grpc, ...common, finalizeBy: 'request', url: address })
        : recognize({ ...websocket, ...common, url: `wss://${address}` }),
    )
  }
  const delays = monitorEventLoopDelay()
  delays.enable()
  let current = 0
  const services: number[] = []
  const switchesMs: number[] = []
  const noticedAtMs = new Map<number | undefined, number>()
  const observe = (event: SessionEvent): void => {
    if (event.type !== 'connection') return
    if (event.state === 'reconnecting') {
      if (!noticedAtMs.has(event.channel)) noticedAtMs.set(event.channel, performance.now())
      return
    }
    if (event.state !== 'streaming' || event.service === undefined) return
    current = event.service
    services.push(current)
    // An event without a channel is about all of them.
    for (const [channel, atMs] of [...noticedAtMs]) {
      if (event.channel !== undefined && event.channel !== channel) continue
      noticedAtMs.delete(channel)
      switchesMs.push(performance.now() - atMs)
    }
  }
  const disturbAt = (audio$: Observable<Uint8Array>): Observable<Uint8Array> => {
    let playedMs = 0
    const waiting = [...moments]
    return audio$.pipe(
      tap(() => {
        playedMs += 20
        const [next] = waiting
        if (next === undefined || playedMs < next.atMs) return
        waiting.shift()
        const proxy = proxies[current]
        if (proxy !== undefined) disturb(proxy, next.disturbance)
      }),
    )
  }
  const session = failover(recognitions, { slowMs: 700 })
  const outcome = await outcomeOf(onceStreaming(session)(disturbAt(call.played(1))).pipe(tap(observe)))
  delays.disable()
  await Promise.all(proxies.map((proxy) => proxy.close()))
  // With a socket in the list, each channel is a session.
  const isOneSession = over[0] === 'grpc' && over[1] === 'grpc'
  return { over: isOneSession ? 'grpc' : 'websocket', ...outcome, switchesMs, busyMs: delays.max / 1e6, services }
}

/** The other service was tried without a delay. */
export const expectNoDelays = ({ events }: DisturbedCall): void => {
  const delays = events.flatMap((event) =>
    event.type === 'connection' && event.state === 'reconnecting' && event.attempt === 1 ? [event.delayMs] : [],
  )
  expect(Math.max(...delays)).toBe(0)
}

/** The turns of a switch, each of which waits while the process is busy: connection, TLS, upgrade, and start. */
const turns = 4

/** Each loss was over within a second; later only because the machine was busy. */
export const expectQuickSwitches = ({ switchesMs, busyMs }: DisturbedCall): void => {
  expect(Math.max(0, ...switchesMs)).toBeLessThanOrEqual(1_000 + turns * busyMs)
}
