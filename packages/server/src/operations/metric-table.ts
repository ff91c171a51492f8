/** One metric of Prometheus. The values of its labels are bounded: fixed words, or configured names. */
export interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  readonly help: string
  /** Upper bounds, in seconds. */
  readonly buckets?: readonly number[]
  /** How the values of several processes are merged. @default 'sum' */
  readonly aggregator?: 'max'
}

/** From an immediate result to one that comes too late to be useful. */
const latencyBuckets = [0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10]
/** From one audio message to the largest buffer of a session. */
const delayBuckets = [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30]
/** From a short test to the longest session. */
const sessionBuckets = [1, 5, 15, 60, 300, 900, 3600, 14_400]

/** All metrics of the service. A test compares them with `docs/OPERATING.md`. */
export const metricTable = {
  rxspeech_build_info: {
    type: 'gauge',
    labels: ['host', 'process', 'version', 'node'],
    help: '1. The host and the number of the process, as in each line of its log, its version and that of Node.',
    aggregator: 'max',
  },
  rxspeech_ready: {
    type: 'gauge',
    labels: [],
    help: '1 while the service accepts new sessions, as /readyz reports.',
    aggregator: 'max',
  },
  rxspeech_sessions: {
    type: 'gauge',
    labels: ['interface', 'state'],
    help: 'Open sessions by phase: opened, running, flushing or idle.',
  },
  rxspeech_running_sessions: {
    type: 'gauge',
    labels: ['tenant', 'model'],
    help: 'Sessions that run or are flushing.',
  },
  rxspeech_session_seconds_total: {
    type: 'counter',
    labels: ['tenant', 'model'],
    help: 'How long sessions have run, together; its rate is how many ran on average, also those too short for a scrape.',
  },
  rxspeech_load: {
    type: 'gauge',
    labels: [],
    help: "The share of the service's thread that its sessions use; above `limits.maxLoadPercent` new ones are refused.",
    aggregator: 'max',
  },
  rxspeech_loop_delay_seconds: {
    type: 'gauge',
    labels: [],
    help: 'The shortest delay of the event loop within the last half second.',
    aggregator: 'max',
  },
  rxspeech_partials_thinned: {
    type: 'gauge',
    labels: [],
    help: '1 while the service is overloaded, or an engine is too busy for partials, and sends a channel at most one a second.',
    aggregator: 'max',
  },
  rxspeech_sessions_started_total: {
    type: 'counter',
    labels: ['interface', 'tenant', 'model', 'version'],
    help: 'Granted starts; on a WebSocket each recognition.',
  },
  rxspeech_sessions_ended_total: {
    type: 'counter',
    labels: ['interface', 'outcome'],
    help: 'Ended sessions by outcome: completed, stopped, gone, refused, failed, drained or cut.',
  },
  rxspeech_session_duration_seconds: {
    type: 'histogram',
    labels: ['interface'],
    buckets: sessionBuckets,
    help: 'From the opening of a session to its end.',
  },
  rxspeech_refusals_total: {
    type: 'counter',
    labels: ['interface', 'code'],
    help: 'Errors sent to clients, by the code of ERRORS.md.',
  },
  rxspeech_tenant_refusals_total: {
    type: 'counter',
    labels: ['tenant', 'model', 'code'],
    help: 'Starts that valid tokens were refused: with the model that had no room or could not be used, or without one for a limit of sessions or requests. Refusals for the load of the machine are not counted; beyond `limits.sessions` at most ten a second are.',
  },
  rxspeech_auth_failures_total: {
    type: 'counter',
    labels: ['at', 'reason'],
    help: 'Refused tokens and secrets.',
  },
  rxspeech_audio_seconds_total: {
    type: 'counter',
    labels: ['interface', 'tenant', 'model'],
    help: 'Received audio of one channel.',
  },
  rxspeech_audio_warnings_total: {
    type: 'counter',
    labels: ['interface', 'kind'],
    help: 'Faults of audio reported to clients, by the kind of `Audio Warning`.',
  },
  rxspeech_chunk_lag_seconds: {
    type: 'histogram',
    labels: ['interface'],
    buckets: delayBuckets,
    help: 'The delay of an audio message relative to the duration of its session so far; one sample per second of audio.',
  },
  rxspeech_queued_audio_seconds: {
    type: 'histogram',
    labels: ['interface'],
    buckets: delayBuckets,
    help: 'Audio of a session that was received and not yet consumed; one sample per second of audio.',
  },
  rxspeech_first_partial_seconds: {
    type: 'histogram',
    labels: ['interface', 'model', 'version'],
    buckets: latencyBuckets,
    help: 'From the detection of speech to its first partial.',
  },
  rxspeech_milestone_seconds: {
    type: 'histogram',
    labels: ['interface', 'model', 'version'],
    buckets: latencyBuckets,
    help: 'From the detection of the end of speech to its milestone.',
  },
  rxspeech_tenant_milestone_seconds: {
    type: 'histogram',
    labels: ['tenant'],
    buckets: latencyBuckets,
    help: 'The same by tenant.',
  },
  rxspeech_dropped_audio_seconds_total: {
    type: 'counter',
    labels: ['node', 'policy'],
    help: 'Audio that full wires of projects dropped, by the kind of the receiving node and by whenFull.',
  },
  rxspeech_dropped_events_total: {
    type: 'counter',
    labels: ['node', 'policy'],
    help: 'Events that full wires of projects dropped, by the same labels.',
  },
  rxspeech_node_faults_total: {
    type: 'counter',
    labels: ['node', 'cause', 'action'],
    help: 'Failed nodes of projects by kind; cause: threw, hung, flooded or blocked; action: failed, restarted or bypassed.',
  },
  rxspeech_faults_total: {
    type: 'counter',
    labels: ['code'],
    help: 'Internal errors, which clients see as internal or engine-failed.',
  },
  rxspeech_log_lines_left_out_total: {
    type: 'counter',
    labels: ['line'],
    help: 'Log lines that were dropped because of more than 60 of their kind within a minute.',
  },
  rxspeech_engine_loads_total: {
    type: 'counter',
    labels: ['model', 'outcome'],
    help: 'Requested engines: opened or failed.',
  },
  rxspeech_engine_faults_total: {
    type: 'counter',
    labels: ['model'],
    help: 'Attempts to recognize a segment that failed, those that were repeated included.',
  },
  rxspeech_engine_loaded: {
    type: 'gauge',
    labels: ['model'],
    help: 'Whether the model is in memory: 1, or 0 if it has left it, see `models.idleMinutes`.',
  },
  rxspeech_engine_channels: { type: 'gauge', labels: ['model'], help: 'Channels that the engine of a model serves.' },
  rxspeech_engine_segments: {
    type: 'gauge',
    labels: ['model'],
    help: 'Segments of speech that are open or have no result yet.',
  },
  rxspeech_engine_queued_seconds: {
    type: 'gauge',
    labels: ['model'],
    help: 'Audio that the engine has received and not yet read.',
  },
  rxspeech_engine_lag_seconds: {
    type: 'gauge',
    labels: ['model'],
    help: 'How far half of the open segments were behind their speakers at the worst moment of 5 s; above `limits.maxEngineDelayMs` new sessions are refused.',
    aggregator: 'max',
  },
  rxspeech_engine_audio_seconds_total: {
    type: 'counter',
    labels: ['model'],
    help: 'Audio that the engine has read, of all its channels.',
  },
  rxspeech_engine_busy_seconds_total: {
    type: 'counter',
    labels: ['model'],
    help: "The total working time of the engine's threads; divided by its audio, the real-time factor. Not for remote engines.",
  },
  rxspeech_engine_thinned_seconds_total: {
    type: 'counter',
    labels: ['model'],
    help: 'Speech for which there was no time for all partials; divided by the audio that the engine has read, the share.',
  },
  rxspeech_engine_memory_bytes: {
    type: 'gauge',
    labels: ['model'],
    help: 'Memory of the processes that have loaded the model. Only on Linux, and for engines with processes of their own.',
  },
  rxspeech_model_contents: {
    type: 'gauge',
    labels: ['model', 'digest'],
    help: 'Engine processes that serve a model with this content, as the service sees them; 1 at each of them. `digest` is the beginning, as in lists. Not for models of the service itself.',
    aggregator: 'max',
  },
  rxspeech_challenger_segments_total: {
    type: 'counter',
    labels: ['model', 'challenger', 'outcome'],
    help: 'Segments that were drawn for the challenger of a model: compared, dropped for want of a place, or failed.',
  },
  rxspeech_challenger_words_total: {
    type: 'counter',
    labels: ['model', 'challenger', 'word'],
    help: 'Words of compared segments: equal, substituted, inserted by the challenger, or deleted by it.',
  },
  rxspeech_certificate_expiry_seconds: {
    type: 'gauge',
    labels: ['listener'],
    help: 'Until the certificate of the service, or of the operations of an engine process, expires; negative then.',
    aggregator: 'max',
  },
  rxspeech_identity_age_seconds: {
    type: 'gauge',
    labels: [],
    help: 'How long ago all shared subscriptions and revocations were last known to be here; 0 without `identity.nats`.',
    aggregator: 'max',
  },
  rxspeech_nats_up: {
    type: 'gauge',
    labels: [],
    help: '1 while the connection to NATS stands.',
    aggregator: 'max',
  },
  rxspeech_nats_refused_total: {
    type: 'counter',
    labels: [],
    help: 'Messages and connections of this user that the NATS server did not accept; the log names them.',
  },
  rxspeech_engine_places: {
    type: 'gauge',
    labels: ['state'],
    help: 'Places of an engine process for segments: used, free, or behind, which are those not used while it is behind its speakers.',
    aggregator: 'max',
  },
  rxspeech_fleet_processes: {
    type: 'gauge',
    labels: [],
    help: 'Engine processes that the service sees, of any model; it stays ready at 0 and refuses sessions as overloaded.',
    aggregator: 'max',
  },
  rxspeech_fleet_clock_difference_seconds: {
    type: 'gauge',
    labels: [],
    help: 'How much the clock of an engine process and that of this service differ at most, without the time of messages.',
    aggregator: 'max',
  },
  rxspeech_fleet_engines: {
    type: 'gauge',
    labels: ['model'],
    help: 'Engine processes that serve a model, as the service sees them.',
    aggregator: 'max',
  },
  rxspeech_fleet_places: {
    type: 'gauge',
    labels: ['model', 'state'],
    help: 'Places of the engine processes of a model: used, free or behind. A process with several models counts for each.',
    aggregator: 'max',
  },
  rxspeech_fleet_waiting_segments: { type: 'gauge', labels: [], help: 'Segments that wait for a place.' },
  rxspeech_fleet_wait_seconds_total: {
    type: 'counter',
    labels: [],
    help: 'How long segments have waited for a place, in total.',
  },
  rxspeech_fleet_lost_total: {
    type: 'counter',
    labels: ['cause'],
    help: 'Segments that were read again or failed because an engine process was lost: gone, silent, bus, gap, unanswered, stalled, slow, violation or refused.',
  },
  rxspeech_fleet_full_total: {
    type: 'counter',
    labels: [],
    help: 'How often an engine process had no place for a segment after all.',
  },
  rxspeech_workers: {
    type: 'gauge',
    labels: [],
    help: 'Worker processes that serve sessions; 0 for a service of one process.',
  },
  rxspeech_worker_restarts_total: {
    type: 'counter',
    labels: [],
    help: 'Worker processes that ended by themselves and were started again.',
  },
  rxspeech_reloads_total: {
    type: 'counter',
    labels: ['outcome'],
    help: 'Reloads of models and projects by outcome: reloaded or refused.',
  },
} as const satisfies Readonly<Record<string, MetricRow>>

export type MetricName = keyof typeof metricTable
