import { checkOption, durationMs, wholeNumber } from '../protocol/validation.js'

/** The limits of a link, for every transport. */
export interface LinkLimits {
  /**
   * The largest message accepted from the peer, in bytes; a larger one ends the link with `message-too-big`.
   * @default 1_048_576
   */
  readonly maxMessageBytes?: number | undefined
  /**
   * `isCongested` is true when more bytes than this wait for the transport. The default is 8 s of PCM at 16 kHz.
   * @default 262_144
   */
  readonly highWaterMarkBytes?: number | undefined
  /** `drain$` emits when at most this many bytes wait. @default a quarter of the high-water mark */
  readonly lowWaterMarkBytes?: number | undefined
  /**
   * How long `close` waits for the bytes that were sent before, and for the peer, in milliseconds, before it terminates
   * the connection. A dialed connection waits 500 ms by default.
   * @default 2000
   */
  readonly closeTimeoutMs?: number | undefined
}

/** CA certificates in PEM. */
export type Certificates = string | Uint8Array | readonly (string | Uint8Array)[]

/** Options with their defaults filled in. */
export type Resolved<Options> = { readonly [Key in keyof Options]-?: Exclude<Options[Key], undefined> }

export const defaultMaxMessageBytes = 1_048_576
const defaultHighWaterMarkBytes = 262_144
const defaultCloseTimeoutMs = 2_000
export const defaultDialCloseTimeoutMs = 500
export const defaultConnectTimeoutMs = 10_000
/** The limit of both the WebSocket and the gRPC package. */
const maxMaxMessageBytes = 0x7fff_ffff

/** The codecs of the limits. Whether the water marks fit together is for `lowWaterMarkOf`. */
export const linkLimitCodecs = {
  maxMessageBytes: wholeNumber({ min: 1, max: maxMaxMessageBytes }),
  highWaterMarkBytes: wholeNumber({ min: 1 }),
  lowWaterMarkBytes: wholeNumber({ min: 0 }),
  closeTimeoutMs: durationMs(1),
}

/** The low-water mark, at most the high-water mark; throws `invalid-options`. */
export const lowWaterMarkOf = ({
  highWaterMarkBytes = defaultHighWaterMarkBytes,
  lowWaterMarkBytes,
}: LinkLimits): number =>
  checkOption(
    'lowWaterMarkBytes',
    wholeNumber({ min: 0, max: highWaterMarkBytes }),
    lowWaterMarkBytes ?? Math.floor(highWaterMarkBytes / 4),
  )

/** Fills in the defaults of limits that `linkLimitCodecs` accepted; throws `invalid-options` if the water marks do not fit together. */
export const resolveLimits = ({
  maxMessageBytes = defaultMaxMessageBytes,
  highWaterMarkBytes = defaultHighWaterMarkBytes,
  lowWaterMarkBytes,
  closeTimeoutMs = defaultCloseTimeoutMs,
}: LinkLimits): Resolved<LinkLimits> => {
  const lowWaterMark = lowWaterMarkOf({ highWaterMarkBytes, lowWaterMarkBytes })
  return { maxMessageBytes, highWaterMarkBytes, lowWaterMarkBytes: lowWaterMark, closeTimeoutMs }
}
