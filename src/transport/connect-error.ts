import { SpeechError } from '../errors/speech-error.js'

/** `connection-failed` where nothing more is known. `peer` is `host:port`, which alone of an address may stand in a message. */
export const noConnection = (peer: string, cause?: unknown): SpeechError =>
  new SpeechError('connection-failed', `No connection to ${peer}; check the address, and that the service runs.`, {
    cause,
  })

/** `connect-timeout`, naming the peer and the bound. */
export const connectTimeout = (peer: string, connectTimeoutMs: number): SpeechError =>
  new SpeechError(
    'connect-timeout',
    `${peer} did not accept the connection within ${connectTimeoutMs} ms; check the address and the network.`,
  )
