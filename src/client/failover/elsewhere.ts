import type { ErrorCode } from '../../errors/error-table.js'

/**
 * Whether a session tries another service after an error, by its code. Not if the cause is the request, the token or the
 * client itself: another service would refuse it as well, or would hide a mistake in the options of the first.
 */
const isServiceSpecific: Readonly<Record<ErrorCode, boolean>> = {
  // Input of the caller
  'invalid-options': false,
  'invalid-format': false,
  'invalid-wav': false,
  'invalid-model': true,
  'invalid-project': true,
  'source-failed': false,
  'missing-dependency': false,
  'listen-failed': false,

  // Microphone
  'microphone-denied': false,
  'microphone-missing': false,
  'microphone-busy': false,
  'microphone-lost': false,
  'microphone-unsupported': false,

  // Network and peer
  'connection-failed': true,
  'connection-lost': true,
  'connect-timeout': true,
  'start-timeout': true,
  'finalize-timeout': true,
  'stop-timeout': false,
  'protocol-violation': true,
  refused: false,

  // Token endpoint: it is away, or it refuses the client
  'invalid-request': false,
  'invalid-client': false,
  'invalid-grant': false,
  'unauthorized-client': false,
  'unsupported-grant-type': false,
  'invalid-scope': false,
  'too-many-attempts': true,
  'token-endpoint-failed': true,
  'token-timeout': true,

  // Authorization
  unauthenticated: false,
  'tenant-denied': false,
  'project-denied': false,
  'model-denied': false,

  // Messages
  'invalid-json': false,
  'invalid-field': false,
  'unknown-message': false,
  'unknown-content-type': false,
  'empty-audio': false,
  'cut-sample': false,
  'message-too-big': false,
  'not-started': false,
  'already-started': false,
  'no-recognition': false,
  'model-mismatch': false,

  // Load and lifetime
  overloaded: true,
  'too-many-requests': false,
  'too-fast': false,
  'going-away': true,
  'engine-failed': true,
  'node-failed': true,
  internal: true,
}

/** The errors after which another service is tried. */
export const triedElsewhere: ReadonlySet<ErrorCode> = new Set(
  (Object.keys(isServiceSpecific) as ErrorCode[]).filter((code) => isServiceSpecific[code]),
)
