/** Every error of the library and of the service, and whether trying again can help. The rest is in `errorTable`. */
const retryable = {
  // Input of the caller
  'invalid-options': false,
  'invalid-format': false,
  'invalid-wav': false,
  'invalid-model': false,
  'invalid-project': false,
  'source-failed': false,
  'missing-dependency': false,
  'listen-failed': false,

  // Microphone
  'microphone-denied': false,
  'microphone-missing': false,
  'microphone-busy': true,
  'microphone-lost': true,
  'microphone-unsupported': false,

  // Network and peer
  'connection-failed': true,
  'connection-lost': true,
  'connect-timeout': true,
  'start-timeout': true,
  'finalize-timeout': true,
  'stop-timeout': true,
  'protocol-violation': false,
  refused: false,

  // Token endpoint (RFC 6749 section 5.2, RFC 6585 section 4)
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
  'too-many-requests': true,
  'too-fast': true,
  'going-away': true,
  'engine-failed': true,
  'node-failed': true,
  internal: true,
} as const satisfies Record<string, boolean>

/** The stable name of an error; see `docs/ERRORS.md`. */
export type ErrorCode = keyof typeof retryable

export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(retryable, code)

/** Whether another attempt can succeed, unless the peer says otherwise. */
export const isRetryable = (code: ErrorCode): boolean => retryable[code]
