/** What a metric is, as Prometheus names and counts it. Its labels' values are bounded: words of ours, or configured names. */
export interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  readonly help: string
  /** Upper bounds, in seconds. */
  readonly buckets?: readonly number[]
}

/** From a prompt answer to one that people stop waiting for. */
const waits = [0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10]
/** From a message of audio to the most that a session may have under way. */
const delays = [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30]
/** From a try to the longest session. */
const lives = [1, 5, 15, 60, 300, 900, 3600, 14_400]

/** Every metric of speech; `docs/OPERATING.md` shows it, and a test holds the two equal. */
export const metricTable = {
  rxspeech_ready: { type: 'gauge', labels: [], help: '1 while new sessions are welcome, as /readyz says.' },
  rxspeech_sessions: {
    type: 'gauge',
    labels: ['interface', 'state'],
    help: 'Sessions that are there, by where they are: opened, running, flushing or idle.',
  },
  rxspeech_sessions_started_total: {
    type: 'counter',
    labels: ['interface', 'tenant', 'model'],
    help: 'Starts that were granted; on a WebSocket every recognition.',
  },
  rxspeech_sessions_ended_total: {
    type: 'counter',
    labels: ['interface', 'outcome'],
    help: 'Sessions that are over: completed, stopped, gone, refused, failed or cut.',
  },
  rxspeech_session_duration_seconds: {
    type: 'histogram',
    labels: ['interface'],
    buckets: lives,
    help: 'From the opening of a session to its end.',
  },
  rxspeech_refusals_total: {
    type: 'counter',
    labels: ['interface', 'code'],
    help: 'Errors that clients were told, by the code of ERRORS.md.',
  },
  rxspeech_auth_failures_total: {
    type: 'counter',
    labels: ['at', 'reason'],
    help: 'Tokens and secrets that were not accepted.',
  },
  rxspeech_audio_seconds_total: {
    type: 'counter',
    labels: ['interface', 'tenant', 'model'],
    help: 'Audio that came in, of one channel.',
  },
  rxspeech_chunk_lag_seconds: {
    type: 'histogram',
    labels: ['interface'],
    buckets: delays,
    help: 'How late a message of audio came by its own clock, counted from the first of its session; one message a second of audio.',
  },
  rxspeech_queued_audio_seconds: {
    type: 'histogram',
    labels: ['interface'],
    buckets: delays,
    help: 'Audio of a session that was taken in and not consumed yet, looked at once a second of audio.',
  },
  rxspeech_first_partial_seconds: {
    type: 'histogram',
    labels: ['interface', 'model'],
    buckets: waits,
    help: 'From the moment that speech was found to its first partial.',
  },
  rxspeech_milestone_seconds: {
    type: 'histogram',
    labels: ['interface', 'model'],
    buckets: waits,
    help: 'From the moment that the end of speech was found to its milestone.',
  },
  rxspeech_dropped_audio_seconds_total: {
    type: 'counter',
    labels: ['node', 'policy'],
    help: 'Audio that full wires of projects dropped, by the kind of node that they lead to and their whenFull.',
  },
  rxspeech_dropped_events_total: {
    type: 'counter',
    labels: ['node', 'policy'],
    help: 'Events that full wires of projects dropped, in the same way.',
  },
  rxspeech_node_faults_total: {
    type: 'counter',
    labels: ['node', 'cause', 'action'],
    help: 'Nodes of projects that failed, by their kind: threw, hung, flooded or blocked; failed, restarted or bypassed.',
  },
  rxspeech_faults_total: {
    type: 'counter',
    labels: ['code'],
    help: 'Faults inside, which clients learn as internal or engine-failed.',
  },
  rxspeech_log_lines_left_out_total: {
    type: 'counter',
    labels: ['line'],
    help: 'Lines of the log that were left out, because more than 60 of their kind came in a minute.',
  },
  rxspeech_engine_loads_total: {
    type: 'counter',
    labels: ['model', 'outcome'],
    help: 'Engines that were asked for: opened or failed.',
  },
  rxspeech_engine_lanes: { type: 'gauge', labels: ['model'], help: 'Channels that the engine of a model serves now.' },
  rxspeech_engine_segments: {
    type: 'gauge',
    labels: ['model'],
    help: 'Segments of speech that are open or not decided yet.',
  },
  rxspeech_engine_queued_seconds: {
    type: 'gauge',
    labels: ['model'],
    help: 'Audio that the engine was given and has not taken in yet.',
  },
  rxspeech_engine_audio_seconds_total: {
    type: 'counter',
    labels: ['model'],
    help: 'Audio that the engine has read, of all its channels.',
  },
  rxspeech_engine_busy_seconds_total: {
    type: 'counter',
    labels: ['model'],
    help: "How long the engine's threads worked for that, all together; over its audio the real-time factor. Not for engines elsewhere.",
  },
} as const satisfies Readonly<Record<string, MetricRow>>

export type MetricName = keyof typeof metricTable
