import type { ProxyOption } from '../protocol/proxy-option.js'
import { checkOption, durationMs, wholeNumber } from '../protocol/validation.js'

/** CA certificates in PEM. */
export type Certificates = string | Uint8Array | readonly (string | Uint8Array)[]

/** How a connection is made and kept, on every transport. */
export interface ConnectionOptions {
  /**
   * CA certificates in PEM, instead of those of the system. Browsers use their own certificates; there this option is
   * refused with `invalid-options`. @default the certificates of the system
   */
  readonly ca?: Certificates | undefined
  /** Allows a connection without TLS to another machine; the token travels there in clear text. @default false */
  readonly insecure?: boolean | undefined
  /**
   * The HTTP proxy of the connection, such as `http://user:password@proxy.example.com:3128`; `false` for none. Browsers
   * use their own settings; there this option is refused with `invalid-options`.
   * @default the proxy that `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` of the environment define
   */
  readonly proxy?: ProxyOption | undefined
  /**
   * The interval of pings (WebSocket or HTTP/2) that check the connection, in milliseconds; 0 for no pings. A service
   * that does not answer is detected before the second interval ends. A gRPC service that asks for fewer pings gets
   * none. Browsers cannot send pings. @default 4500
   */
  readonly heartbeatMs?: number | undefined
}

/** The limits of the link that a connection carries, on every transport. */
export interface LinkLimits {
  /**
   * The largest message accepted from the peer, in bytes; a larger one ends the link with `message-too-big`.
   * @default 1_048_576
   */
  readonly maxMessageBytes?: number | undefined
  /**
   * Sending pauses when more bytes than this wait for the transport. The default is 8 s of PCM at 16 kHz.
   * @default 262_144
   */
  readonly highWaterMarkBytes?: number | undefined
  /** Sending continues when at most this many bytes wait. @default a quarter of the high-water mark */
  readonly lowWaterMarkBytes?: number | undefined
  /**
   * How long closing waits for the bytes that were sent before, and for the peer, in milliseconds, before the
   * connection is terminated. The default of a session is 500, that of a listener 2000. @default 500
   */
  readonly closeTimeoutMs?: number | undefined
}

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
export const lowWaterMarkOf = (
  { highWaterMarkBytes = defaultHighWaterMarkBytes, lowWaterMarkBytes }: LinkLimits,
  name = 'lowWaterMarkBytes',
): number =>
  checkOption(
    name,
    wholeNumber({ min: 0, max: highWaterMarkBytes }),
    lowWaterMarkBytes ?? Math.floor(highWaterMarkBytes / 4),
  )

/** Fills in the defaults of checked limits. Throws `invalid-options` for water marks that do not fit together. */
export const resolveLimits = ({
  maxMessageBytes = defaultMaxMessageBytes,
  highWaterMarkBytes = defaultHighWaterMarkBytes,
  lowWaterMarkBytes,
  closeTimeoutMs = defaultCloseTimeoutMs,
}: LinkLimits): Resolved<LinkLimits> => {
  const lowWaterMark = lowWaterMarkOf({ highWaterMarkBytes, lowWaterMarkBytes })
  return { maxMessageBytes, highWaterMarkBytes, lowWaterMarkBytes: lowWaterMark, closeTimeoutMs }
}
