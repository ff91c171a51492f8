import { listOf } from 'rxspeech/internal/protocol/collections'
import { type Codec, flag, number, oneOf, optionsOf, text } from 'rxspeech/internal/protocol/validation'
import type { ServiceMonitor, SessionFacts, SessionInterface } from '../monitor/service-monitor.js'

/** A session whose results take long: the facts that find it in the log and in its trace, without any of its text. */
export interface SlowSession {
  readonly sessionId: string
  readonly interface: SessionInterface
  readonly tenant?: string | undefined
  readonly model?: string | undefined
  readonly traceId?: string | undefined
  readonly startedAtMs: number
  readonly isRunning: boolean
  /** From the end of speech to its milestone: of its last one, and of its worst one within the hour. */
  readonly lastLagMs: number
  readonly worstLagMs: number
  /** When the worst one came. */
  readonly worstAtMs: number
  /** Its audio that was received and not yet consumed, while it runs. */
  readonly queuedMs: number
}

export const slowSessionsCodec: Codec<readonly SlowSession[]> = listOf(
  optionsOf<SlowSession>()(
    {
      sessionId: text,
      interface: oneOf('grpc', 'websocket', 'http'),
      startedAtMs: number(),
      isRunning: flag,
      lastLagMs: number(),
      worstLagMs: number(),
      worstAtMs: number(),
      queuedMs: number(),
    },
    { tenant: text, model: text, traceId: text },
  ),
)

/** The sessions that run, by what is limited and billed. */
export interface RunningCount {
  readonly tenant: string | undefined
  readonly model: string | undefined
  readonly count: number
  /** How long sessions of them have run since the last call, together. */
  readonly ranMs: number
}

/** How many sessions a list has at most: the slowest now, and as many of the last hour. */
export const maxSlowSessions = 20
const periodMs = 600_000
/** The hour, and the period that has just begun. */
const maxPeriods = 7

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/**
 * The sessions that run, and the slowest of the last hour. It costs some words for each result and nothing for audio
 * messages. Of every ten minutes the slowest are kept, so that its size is bounded and an old one makes room.
 */
export class SlowSessions {
  readonly #now: () => number
  readonly #running = new Map<string, Mutable<SlowSession>>()
  /** Until they are read, each begin takes the time from its `ranMs`, and each end adds it. */
  readonly #counts = new Map<string, Mutable<RunningCount>>()
  readonly #periods = new Map<number, Map<string, SlowSession>>()

  /** @param now the clock, in milliseconds */
  constructor(now: () => number) {
    this.#now = now
  }

  readonly monitor: Pick<ServiceMonitor, 'sessionMoved' | 'milestone' | 'audio'> = {
    sessionMoved: (session, _from, to) => {
      if (to === 'running') this.#begin(session)
      else if (to !== 'flushing') this.#end(session)
    },
    milestone: ({ sessionId }, afterMs) => {
      const session = this.#running.get(sessionId)
      if (session === undefined) return
      session.lastLagMs = afterMs
      const atMs = this.#now()
      if (afterMs >= session.worstLagMs) {
        session.worstLagMs = afterMs
        session.worstAtMs = atMs
      }
      this.#keep({ ...session, worstLagMs: afterMs, worstAtMs: atMs })
    },
    audio: ({ sessionId }, { queuedMs }) => {
      const session = this.#running.get(sessionId)
      if (session !== undefined) session.queuedMs = queuedMs
    },
  }

  /** Also those that have ended since the last call. */
  running(): readonly RunningCount[] {
    const atMs = this.#now()
    return [...this.#counts].map(([key, counted]) => {
      const { tenant, model, count } = counted
      // A clock that is set back takes none away.
      const ranMs = Math.max(counted.ranMs + count * atMs, 0)
      if (count === 0) this.#counts.delete(key)
      else counted.ranMs = -count * atMs
      return { tenant, model, count, ranMs }
    })
  }

  list(): readonly SlowSession[] {
    this.#forget()
    const kept = [...this.#periods.values()].flatMap((sessions) => [...sessions.values()])
    const running = [...this.#running.values()].map((session) => ({ ...session }))
    return slowest([...kept.map((session) => ({ ...session, isRunning: false, queuedMs: 0 })), ...running])
  }

  #begin(session: SessionFacts): void {
    this.#end(session)
    const { sessionId, interface: by, tenant, model, traceId } = session
    const atMs = this.#now()
    const lags = { lastLagMs: 0, worstLagMs: 0, worstAtMs: atMs, queuedMs: 0 }
    const facts = { sessionId, interface: by, tenant, model, traceId }
    this.#running.set(sessionId, { ...facts, startedAtMs: atMs, isRunning: true, ...lags })
    this.#count({ tenant, model }, 1)
  }

  #end({ sessionId }: SessionFacts): void {
    const session = this.#running.get(sessionId)
    if (session === undefined) return
    this.#running.delete(sessionId)
    this.#count(session, -1)
  }

  #count({ tenant, model }: Pick<SessionFacts, 'tenant' | 'model'>, change: 1 | -1): void {
    const key = JSON.stringify([tenant, model])
    const { count, ranMs } = this.#counts.get(key) ?? { count: 0, ranMs: 0 }
    this.#counts.set(key, { tenant, model, count: count + change, ranMs: ranMs - change * this.#now() })
  }

  #keep(session: SlowSession): void {
    const period = Math.floor(session.worstAtMs / periodMs)
    let kept = this.#periods.get(period)
    if (kept === undefined) {
      this.#periods.set(period, (kept = new Map<string, SlowSession>()))
      this.#forget()
    }
    const before = kept.get(session.sessionId)
    if (before !== undefined && before.worstLagMs > session.worstLagMs) return
    kept.set(session.sessionId, session)
    if (kept.size <= maxSlowSessions) return
    const [least] = [...kept.values()].sort((a, b) => a.worstLagMs - b.worstLagMs)
    if (least !== undefined) kept.delete(least.sessionId)
  }

  #forget(): void {
    const oldest = Math.floor(this.#now() / periodMs) - maxPeriods + 1
    for (const period of this.#periods.keys()) if (period < oldest) this.#periods.delete(period)
  }
}

/**
 * The slowest of those that run, by what they wait for now, and of the last hour, by their worst result; each session
 * once. `sessions` may have several entries of one.
 */
export const slowest = (sessions: readonly SlowSession[]): readonly SlowSession[] => {
  const byId = new Map<string, SlowSession>()
  for (const session of sessions) {
    const other = byId.get(session.sessionId)
    byId.set(session.sessionId, other === undefined ? session : joined(other, session))
  }
  const all = [...byId.values()].sort((a, b) => b.worstLagMs - a.worstLagMs)
  const waiting = all.filter(({ isRunning }) => isRunning).sort((a, b) => waitOf(b) - waitOf(a))
  const chosen = new Set([...waiting.slice(0, maxSlowSessions), ...all.slice(0, maxSlowSessions)])
  return all.filter((session) => chosen.has(session))
}

const waitOf = ({ lastLagMs, queuedMs }: SlowSession): number => Math.max(lastLagMs, queuedMs)

const joined = (first: SlowSession, second: SlowSession): SlowSession => {
  const worst = first.worstLagMs >= second.worstLagMs ? first : second
  const latest = second.isRunning || second.worstAtMs > first.worstAtMs ? second : first
  return { ...latest, worstLagMs: worst.worstLagMs, worstAtMs: worst.worstAtMs }
}
