import { SpeechError } from '../errors/speech-error.js'
import { maxTimerMs } from '../kernel/timers.js'

/** The bounds of a link; every transport takes them. */
export interface LinkLimits {
  /** The largest message that is taken from the peer, in bytes; a larger one ends the link with `message-too-big`. Default 1 MiB. */
  readonly maxMessageBytes?: number
  /** Above so many bytes that the transport has not taken, `congested` is true. Default 256 KiB, 8 s of PCM at 16 kHz. */
  readonly highWaterMarkBytes?: number
  /** At or below so many bytes `room` emits. Default a quarter of the high-water mark. */
  readonly lowWaterMarkBytes?: number
  /**
   * How long `close` waits for what was sent before, and for the peer, in milliseconds, before it cuts the connection.
   * Default 2000; 500 for a connection that was dialled, whose end leaves nothing that anybody waits for.
   */
  readonly closeTimeoutMs?: number
}

export const defaultMaxMessageBytes = 1_048_576
export const defaultHighWaterMarkBytes = 262_144
export const defaultCloseTimeoutMs = 2_000
export const defaultDialCloseTimeoutMs = 500
/** The most that both the WebSocket and the gRPC package take. */
const mostMessageBytes = 0x7fff_ffff
export const defaultConnectTimeoutMs = 10_000

/** The value when it is a whole number within the range; else throws `invalid-options` with the option's name. */
export const wholeNumber = (option: string, value: number, least: number, most: number): number => {
  if (Number.isInteger(value) && value >= least && value <= most) return value
  throw new SpeechError(
    'invalid-options',
    `${option} must be a whole number from ${least} to ${most}, not ${String(value)}.`,
  )
}

/** A duration of which 0 means none; throws `invalid-options` where no timer can keep it. */
export const durationMs = (option: string, value: number): number => wholeNumber(option, value, 0, maxTimerMs)

/** A time-out option in milliseconds; throws `invalid-options` where no timer can keep it. */
export const timeoutMs = (option: string, value: number): number => wholeNumber(option, value, 1, maxTimerMs)

/** The limits with their defaults; throws `invalid-options` with the name of the one that is out of range. */
export const resolveLimits = (limits: LinkLimits): Required<LinkLimits> => {
  const most = Number.MAX_SAFE_INTEGER
  const highWaterMarkBytes = limits.highWaterMarkBytes ?? defaultHighWaterMarkBytes
  wholeNumber('highWaterMarkBytes', highWaterMarkBytes, 1, most)
  return {
    maxMessageBytes: wholeNumber(
      'maxMessageBytes',
      limits.maxMessageBytes ?? defaultMaxMessageBytes,
      1,
      mostMessageBytes,
    ),
    highWaterMarkBytes,
    lowWaterMarkBytes: wholeNumber(
      'lowWaterMarkBytes',
      limits.lowWaterMarkBytes ?? Math.floor(highWaterMarkBytes / 4),
      0,
      highWaterMarkBytes,
    ),
    closeTimeoutMs: timeoutMs('closeTimeoutMs', limits.closeTimeoutMs ?? defaultCloseTimeoutMs),
  }
}
