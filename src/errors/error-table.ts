/** How an error ends a WebSocket and a gRPC stream, what client and service make of it, and what to do. */
export interface ErrorRow {
  /** The close code of a WebSocket: of RFC 6455 section 7.4, or 4000 plus the HTTP status if there is one. */
  readonly closeCode: number
  /** The number of the gRPC status; never 2 (UNKNOWN). */
  readonly grpcStatus: number
  /** One sentence that says what to do. */
  readonly help: string
  /** Whether another attempt can succeed, unless the peer says otherwise. */
  readonly retryable: boolean
  /** All its properties. */
  readonly traits: readonly ErrorTrait[]
}

/**
 * A property of an error:
 * - `retryable`: another attempt can succeed.
 * - `temporary`: the service is available and speaks the protocol, but has not decided on the request. The first
 *   connection of a session is retried only after these; a wrong address fails at once (PROTOCOL 5.13).
 * - `failover`: another service may succeed. Not if the request, the token or the client is the cause: another service
 *   would refuse it as well, or hide a mistake in the options of the first.
 * - `for-clients`: the service sends its code and message. All others concern the service's own files, options and
 *   peers; clients get `internal` instead.
 * - `unreadable`: the peer sent a message that cannot be read, or too many. It can still receive an answer.
 * - `engine-loss`: the engine is gone. Its segment is retried on another engine, or when this one is back.
 */
export type ErrorTrait = 'retryable' | 'temporary' | 'failover' | 'for-clients' | 'unreadable' | 'engine-loss'

const row = (closeCode: number, grpcStatus: number, traits: readonly ErrorTrait[], help: string): ErrorRow => ({
  closeCode,
  grpcStatus,
  help,
  retryable: traits.includes('retryable'),
  traits,
})

// prettier-ignore
const rows = {
  // Input of the caller
  'invalid-options': row(1008, 3, [], 'Correct the option that the message names.'),
  'invalid-format': row(1008, 3, ['for-clients'],
    'Use an encoding, a sample rate and a channel count that the message allows.'),
  'invalid-wav': row(1003, 3, [],
    'Use a RIFF/WAVE file with PCM, float, µ-law or A-law samples; convert other files first.'),
  'invalid-model': row(1011, 9, ['failover'], 'Correct the model folder as the message says.'),
  'invalid-project': row(1011, 9, ['failover'], 'Correct the project file as the message says.'),
  'source-failed': row(1011, 10, [], 'The audio source ended with an error; see its cause.'),
  'missing-dependency': row(1011, 9, [], 'Install the package that the message names.'),
  'listen-failed': row(1011, 14, [], 'Choose a free port and an address of this machine.'),
  'write-failed': row(1011, 14, ['retryable'], 'Check the folder of the file, its permissions and the free space.'),

  // Microphone
  'microphone-denied': row(1011, 7, [],
    'Allow the use of the microphone in the settings of the browser or the system.'),
  'microphone-missing': row(1011, 5, [], 'Connect a microphone, or choose another device.'),
  'microphone-busy': row(1011, 14, ['retryable'], 'Close the program that uses the microphone, then try again.'),
  'microphone-lost': row(1011, 14, ['retryable'],
    'Connect the microphone again or choose another one, then start a new session.'),
  'microphone-unsupported': row(1011, 12, [],
    'Use a current browser and a page with https, or commandMicrophone in Node.'),

  // Network and peer
  'connection-failed': row(1006, 14, ['retryable', 'failover', 'engine-loss'],
    'Check the address, the port and the CA certificate, and that the service runs.'),
  'connection-lost': row(1006, 14, ['retryable', 'temporary', 'failover', 'engine-loss'],
    'The connection broke and could not be restored in time, or resumption is off; start a new session.'),
  'connect-timeout': row(1006, 4, ['retryable', 'failover', 'engine-loss'],
    'The service did not accept the connection in time; check the address and the network.'),
  'start-timeout': row(1008, 4, ['retryable', 'failover', 'engine-loss'],
    'The service did not answer the start in time; try again or raise timeouts.startMs.'),
  'finalize-timeout': row(1008, 4, ['retryable', 'failover'],
    'The final result did not arrive in time; results received before remain valid.'),
  'stop-timeout': row(1008, 4, ['retryable'],
    'The service did not confirm the stop in time; nothing more was delivered.'),
  'protocol-violation': row(1002, 3, ['failover', 'for-clients', 'unreadable'],
    'The peer broke the protocol; check that the address is a speech service.'),
  refused: row(1008, 9, [], 'The service refused; its own message follows.'),

  // Token endpoint (RFC 6749 section 5.2, RFC 6585 section 4)
  'invalid-request': row(1008, 3, [], 'The token request was malformed; check client id, secret and scope.'),
  'invalid-client': row(4401, 16, [], 'Check the client id and the client secret.'),
  'invalid-grant': row(4401, 16, [], 'The service did not accept the grant; use client credentials.'),
  'unauthorized-client': row(4403, 7, [], 'The subscription has expired or was cancelled; renew it.'),
  'unsupported-grant-type': row(1008, 3, [], 'The address is not a token endpoint for client credentials; check it.'),
  'invalid-scope': row(4403, 7, [], 'Request the scope Ldm_Integration.'),
  'too-many-attempts': row(4429, 8, ['retryable', 'temporary', 'failover'],
    'Wait for the time that the message names, then try again.'),
  'token-endpoint-failed': row(1011, 14, ['retryable', 'failover'],
    'The token endpoint sent an unusable answer; check the address or try later.'),
  'token-timeout': row(1008, 4, ['retryable', 'failover'],
    'The token endpoint did not answer in time; check the address or try later.'),

  // Authorization
  unauthenticated: row(4401, 16, ['for-clients'], 'Present a valid bearer token from the token endpoint.'),
  'tenant-denied': row(4403, 7, ['for-clients'], 'Use a tenant that the subscription grants.'),
  'project-denied': row(4403, 7, ['for-clients'], 'Use a project that the subscription grants and the tenant has.'),
  'model-denied': row(4403, 7, ['for-clients'], 'Use a model that the subscription grants and the tenant has.'),

  // Messages
  'invalid-json': row(1007, 3, ['for-clients', 'unreadable'], 'Send one JSON object as text.'),
  'invalid-field': row(1008, 3, ['for-clients'], 'Correct the field that the message names.'),
  'unknown-message': row(1003, 3, ['for-clients'], 'Send a message of the protocol.'),
  'unknown-content-type': row(1003, 3, ['for-clients'], 'Send REQUEST with JSON or AUDIO with bytes.'),
  'empty-audio': row(1003, 3, ['for-clients'], 'Put the samples of an AUDIO message in binary_content.'),
  'cut-sample': row(1003, 3, ['for-clients'], 'Send whole samples of every channel in each message.'),
  'message-too-big': row(1009, 8, ['for-clients', 'unreadable'],
    'Send smaller messages; 20 ms of audio is the suggested length.'),
  'not-started': row(1008, 9, ['for-clients'], 'Send the start message first and wait for its response.'),
  'already-started': row(1008, 9, ['for-clients'],
    'Open another session with audio of its own; this one was used already.'),
  'no-recognition': row(1008, 9, ['for-clients'], 'Start a recognition first.'),
  'model-mismatch': row(1008, 3, ['for-clients'], 'Name one model; the address and the message must agree.'),

  // Load and lifetime
  overloaded: row(4429, 8, ['retryable', 'temporary', 'failover', 'for-clients'],
    'Try again later; the service has reached its limit of sessions, or is too busy.'),
  'too-many-requests': row(4429, 8, ['retryable', 'for-clients', 'unreadable'],
    'Send fewer requests; change many settings by one Update.'),
  'too-fast': row(4429, 8, ['retryable', 'for-clients'], 'Send audio at the pace of real time.'),
  'going-away': row(1001, 14, ['retryable', 'temporary', 'failover', 'for-clients', 'engine-loss'],
    'The service is closing; start a new session.'),
  'engine-failed': row(1011, 14, ['retryable', 'failover', 'for-clients'], 'The recognition engine failed; try again.'),
  'node-failed': row(1011, 14, ['retryable', 'failover', 'for-clients'],
    'A node of the project failed; try again, or tell the operator of the service.'),
  internal: row(1011, 13, ['retryable', 'failover'], 'The service failed; try again, and tell its operator.'),
} satisfies Record<string, ErrorRow>

/** The stable name of an error; see `docs/ERRORS.md`. */
export type ErrorCode = keyof typeof rows

/**
 * Every error of the library and of the service, by its stable code. A test compares the table with `docs/ERRORS.md`.
 *
 * @example
 * const { retryable, help } = errorTable['connection-failed']
 */
export const errorTable: Readonly<Record<ErrorCode, ErrorRow>> = rows

export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(errorTable, code)

/** The codes that have all of these traits. */
export const codesWith = (...traits: readonly ErrorTrait[]): ReadonlySet<ErrorCode> =>
  new Set(
    Object.keys(errorTable)
      .filter(isErrorCode)
      .filter((code) => traits.every((trait) => errorTable[code].traits.includes(trait))),
  )
