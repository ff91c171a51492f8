import { defaultMaxLagMs } from 'rxspeech-engines/lag'
import type { ConnectionLimits } from 'rxspeech-server/listen/connection-gate'
import type { LoadLimits } from 'rxspeech-server/operations/service-load'
import type { AdmissionLimits } from 'rxspeech-server/sessions/admissions'
import { defaultSessionLimits, type SessionLimits } from 'rxspeech-server/sessions/session-context'
import { maxTimerMs } from 'rxspeech/internal/kernel/timers'
import { optionsCodec, wholeNumber } from 'rxspeech/internal/protocol/validation'
import { setting, wholeFrom, type Setting } from './settings.js'

export type Limits = SessionLimits & AdmissionLimits & ConnectionLimits & LoadLimits

/** What has a limit of its own: the service is all machines together. */
export type LimitScope = 'session' | 'connection' | 'token, in each process' | 'process' | 'machine' | 'service'

interface LimitRow {
  readonly scope: LimitScope
  readonly min: number
  readonly max: number
  readonly byDefault: number
  /** For a service with a single developer. @default `byDefault` */
  readonly development?: number | undefined
  readonly help: string
}

type Defaults = readonly [byDefault: number, development?: number]

const count = (
  scope: LimitScope,
  [byDefault, development]: Defaults,
  help: string,
  [min, max] = [1, 1_000_000],
): LimitRow => ({
  scope,
  min,
  max,
  byDefault,
  development,
  help,
})

const durationMs = (scope: LimitScope, min: number, defaults: Defaults, help: string): LimitRow =>
  count(scope, defaults, help, [min, maxTimerMs])

const session = defaultSessionLimits

/**
 * All limits, in the order of the documentation. The development defaults are enough for experiments on one machine,
 * such as thousands of idle sockets.
 */
const limitTable: Readonly<Record<keyof Limits, LimitRow>> = {
  sessions: count('machine', [200, 4_000], 'Sessions at the same time.'),
  sessionsPerTenant: count(
    'service',
    [200, 4_000],
    'Sessions of one tenant at the same time, on all machines together; the default is for each machine.',
  ),
  sessionsPerToken: count(
    'service',
    [50, 4_000],
    'Sessions of one token at the same time, on all machines together; the default is for each machine.',
  ),
  reservePercent: count(
    'machine',
    [10],
    'The part of `limits.sessions`, of the load, and of the places of engine processes that a tenant above its share leaves to others, which were there within an hour; 0 is none.',
    [0, 50],
  ),
  connections: count('machine', [5_000, 20_000], 'Connections at the same time.'),
  connectionsPerAddress: count('machine', [2_500, 10_000], 'Connections of one address at the same time.'),
  unstarted: count('machine', [2_500, 10_000], 'gRPC streams without a Start at the same time.'),
  unstartedPerAddress: count('machine', [250, 10_000], 'Those of one address.'),
  streamsPerConnection: count(
    'connection',
    [100, 4_000],
    'Streams of one gRPC connection at the same time; clients wait with more, or open another connection.',
  ),
  connectionAgeMs: durationMs(
    'connection',
    0,
    [3_600_000],
    'The age at which a gRPC connection gets a GOAWAY, so that clients spread over all processes again; 0 is never.',
  ),
  // Longer than the longest session, so that no session ends because of its connection's age.
  connectionGraceMs: durationMs('connection', 0, [4 * 3_600_000 + 60_000], 'How long its streams can continue then.'),
  maxLoadPercent: count(
    'process',
    [85, 0],
    'The share of its thread that the sessions may use before new ones are refused; 0 is without limit.',
    [0, 100],
  ),
  maxLoopDelayMs: durationMs(
    'process',
    0,
    [100, 1_000],
    'A longer delay of the event loop for half a second refuses new sessions and thins partials; 0 is without limit.',
  ),
  maxEngineDelayMs: durationMs(
    'process',
    0,
    [defaultMaxLagMs, 0],
    'New sessions of a model are refused, and partials thinned, while half of its open segments are behind by more, until by less than half of it for 5 s. A model that reads segments as a whole gets no session with which its results would wait longer. 0 is without limit.',
  ),
  startWithinMs: durationMs('session', 1, [session.startWithinMs], 'From the opening of a stream to its Start.'),
  openWithinMs: durationMs('session', 1, [session.openWithinMs], 'How long a token, a project and a model may take.'),
  flushWithinMs: durationMs('session', 1, [session.flushWithinMs], 'How long the last results may take.'),
  maxSessionMs: durationMs('session', 1, [session.maxSessionMs], 'The longest session.'),
  idleMs: durationMs('session', 0, [session.idleMs], 'A session without audio for this long is finalized; 0 is never.'),
  // Engines read audio in steps of 100 ms; a session with a smaller buffer would stall.
  maxPendingAudioMs: durationMs(
    'session',
    500,
    [session.maxPendingAudioMs],
    'Audio of a session that was received and not yet consumed.',
  ),
  maxPacePercent: count(
    'session',
    [session.maxPacePercent, 0],
    'How fast audio may arrive, in percent of real time; 0 is without limit.',
    [0, 1_000_000],
  ),
  paceBurstMs: durationMs('session', 0, [session.paceBurstMs], 'Audio that may arrive ahead of that pace.'),
  maxRequestsPerSecond: count(
    'token, in each process',
    [session.maxRequestsPerSecond, 200],
    'Requests of all sessions and sockets of a token per second, starts included and audio not.',
  ),
  requestBurst: count(
    'token, in each process',
    [session.requestBurst, 1_000],
    'Requests of a token that may arrive at once; at twice as many of a session it ends.',
  ),
}

const mapLimits = <A>(to: (row: LimitRow) => A): Readonly<Record<keyof Limits, A>> =>
  Object.fromEntries(Object.entries(limitTable).map(([name, row]) => [name, to(row)])) as Readonly<
    Record<keyof Limits, A>
  >

export const limitsOption = optionsCodec(
  {},
  mapLimits(({ min }) => wholeNumber({ min, max: maxTimerMs })),
)

/** The limits as keys of the configuration file. */
export const limitKeys = mapLimits(({ min, max, byDefault, help }): Setting<number> =>
  setting(wholeFrom(min, max), String(byDefault), help),
)

/** What has each of the limits. A test compares it with `docs/SCALING.md`. */
export const limitScopes = mapLimits(({ scope }) => scope)

export const defaultLimits = mapLimits(({ byDefault }) => byDefault)
export const developmentLimits = mapLimits(({ byDefault, development = byDefault }) => development)
