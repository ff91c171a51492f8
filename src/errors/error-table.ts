import { isRetryable, type ErrorCode } from './error-code.js'

export { isErrorCode, type ErrorCode } from './error-code.js'

/** How an error ends a WebSocket and a gRPC stream, whether trying again can help, and what to do. */
export interface ErrorRow {
  /** The close code of a WebSocket: of RFC 6455 section 7.4, or 4000 plus the HTTP status if there is one. */
  readonly closeCode: number
  /** The number of the gRPC status; never 2 (UNKNOWN). */
  readonly grpcStatus: number
  /** Whether another attempt can succeed, unless the peer says otherwise. */
  readonly retryable: boolean
  /** One sentence that says what to do. */
  readonly help: string
}

type Ending = Omit<ErrorRow, 'retryable'>

const row = (closeCode: number, grpcStatus: number, help: string): Ending => ({ closeCode, grpcStatus, help })

const endings: Readonly<Record<ErrorCode, Ending>> = {
  // Input of the caller
  'invalid-options': row(1008, 3, 'Correct the option that the message names.'),
  'invalid-format': row(1008, 3, 'Use an encoding, a sample rate and a channel count that the message allows.'),
  'invalid-wav': row(
    1003,
    3,
    'Use a RIFF/WAVE file with PCM, float, µ-law or A-law samples; convert other files first.',
  ),
  'invalid-model': row(1011, 9, 'Correct the model folder as the message says.'),
  'invalid-project': row(1011, 9, 'Correct the project file as the message says.'),
  'source-failed': row(1011, 10, 'The audio source ended with an error; see its cause.'),
  'missing-dependency': row(1011, 9, 'Install the package that the message names.'),
  'listen-failed': row(1011, 14, 'Choose a free port and an address of this machine.'),

  // Microphone
  'microphone-denied': row(1011, 7, 'Allow the use of the microphone in the settings of the browser or the system.'),
  'microphone-missing': row(1011, 5, 'Connect a microphone, or choose another device.'),
  'microphone-busy': row(1011, 14, 'Close the program that uses the microphone, then try again.'),
  'microphone-lost': row(1011, 14, 'Connect the microphone again or choose another one, then start a new session.'),
  'microphone-unsupported': row(1011, 12, 'Use a current browser and a page with https, or commandMicrophone in Node.'),

  // Network and peer
  'connection-failed': row(1006, 14, 'Check the address, the port and the CA certificate, and that the service runs.'),
  'connection-lost': row(
    1006,
    14,
    'The connection broke and could not be restored in time, or resumption is off; start a new session.',
  ),
  'connect-timeout': row(
    1006,
    4,
    'The service did not accept the connection in time; check the address and the network.',
  ),
  'start-timeout': row(1008, 4, 'The service did not answer the start in time; try again or raise timeouts.startMs.'),
  'finalize-timeout': row(1008, 4, 'The final result did not arrive in time; results received before remain valid.'),
  'stop-timeout': row(1008, 4, 'The service did not confirm the stop in time; nothing more was delivered.'),
  'protocol-violation': row(1002, 3, 'The peer broke the protocol; check that the address is a speech service.'),
  refused: row(1008, 9, 'The service refused; its own message follows.'),

  // Token endpoint (RFC 6749 section 5.2, RFC 6585 section 4)
  'invalid-request': row(1008, 3, 'The token request was malformed; check client id, secret and scope.'),
  'invalid-client': row(4401, 16, 'Check the client id and the client secret.'),
  'invalid-grant': row(4401, 16, 'The service did not accept the grant; use client credentials.'),
  'unauthorized-client': row(4403, 7, 'The subscription has expired or was cancelled; renew it.'),
  'unsupported-grant-type': row(1008, 3, 'The address is not a token endpoint for client credentials; check it.'),
  'invalid-scope': row(4403, 7, 'Request the scope Ldm_Integration.'),
  'too-many-attempts': row(4429, 8, 'Wait for the time that the message names, then try again.'),
  'token-endpoint-failed': row(1011, 14, 'The token endpoint sent an unusable answer; check the address or try later.'),
  'token-timeout': row(1008, 4, 'The token endpoint did not answer in time; check the address or try later.'),

  // Authorization
  unauthenticated: row(4401, 16, 'Present a valid bearer token from the token endpoint.'),
  'tenant-denied': row(4403, 7, 'Use a tenant that the subscription grants.'),
  'project-denied': row(4403, 7, 'Use a project that the subscription grants and the tenant has.'),
  'model-denied': row(4403, 7, 'Use a model that the subscription grants and the tenant has.'),

  // Messages
  'invalid-json': row(1007, 3, 'Send one JSON object as text.'),
  'invalid-field': row(1008, 3, 'Correct the field that the message names.'),
  'unknown-message': row(1003, 3, 'Send a message of the protocol.'),
  'unknown-content-type': row(1003, 3, 'Send REQUEST with JSON or AUDIO with bytes.'),
  'empty-audio': row(1003, 3, 'Put the samples of an AUDIO message in binary_content.'),
  'cut-sample': row(1003, 3, 'Send whole samples of every channel in each message.'),
  'message-too-big': row(1009, 8, 'Send smaller messages; 20 ms of audio is the suggested length.'),
  'not-started': row(1008, 9, 'Send the start message first and wait for its response.'),
  'already-started': row(1008, 9, 'Open another session with audio of its own; this one was used already.'),
  'no-recognition': row(1008, 9, 'Start a recognition first.'),
  'model-mismatch': row(1008, 3, 'Name one model; the address and the message must agree.'),

  // Load and lifetime
  overloaded: row(4429, 8, 'Try again later; the service has reached its limit of sessions, or is too busy.'),
  'too-many-requests': row(4429, 8, 'Send fewer requests; change many settings by one Update.'),
  'too-fast': row(4429, 8, 'Send audio at the pace of real time.'),
  'going-away': row(1001, 14, 'The service is closing; start a new session.'),
  'engine-failed': row(1011, 14, 'The recognition engine failed; try again.'),
  'node-failed': row(1011, 14, 'A node of the project failed; try again, or tell the operator of the service.'),
  internal: row(1011, 13, 'The service failed; try again, and tell its operator.'),
}

const rowOf = ([code, ending]: [string, Ending]): [string, ErrorRow] => [
  code,
  { ...ending, retryable: isRetryable(code as ErrorCode) },
]

/**
 * Every error of the library and of the service, by its stable code. A test compares the table with `docs/ERRORS.md`. A
 * client in a browser contains only the codes.
 *
 * @example
 * const { retryable, help } = errorTable['connection-failed']
 */
export const errorTable = Object.fromEntries(Object.entries(endings).map(rowOf)) as Readonly<
  Record<ErrorCode, ErrorRow>
>
