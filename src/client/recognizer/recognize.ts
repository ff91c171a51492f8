import { checkProxy } from '../../proxy/proxy.js'
import { dialWebSocket } from '../../transport/websocket/client.js'
import { sessionParts } from '../session-parts.js'
import {
  recognizeOn,
  type Recognition,
  type RecognizeOptions,
  type RecognizeParts,
  type RecognizePlatform,
} from './recognize-on.js'
import { presentToken } from './present-token.js'
import { RecognizerProtocol } from './protocol.js'
import { recognizeStereo } from './recognize-stereo.js'
import { recognizeRequestOf } from './request.js'

const parts: RecognizeParts = {
  dialSocket: dialWebSocket,
  presentToken,
  recognizeRequestOf,
  RecognizerProtocol,
  sessionParts,
}

const platform: RecognizePlatform = { loadParts: () => parts, recognizeStereo }

/**
 * Streaming recognition over a WebSocket (PROTOCOL 4). The socket carries one channel of PCM, so G.711 is decoded
 * on the way, and stereo runs as two recognitions, one a channel, each on a socket of its own.
 *
 * The source is subscribed once a session, at once; an iterable or a stream is pulled as the service takes it.
 * Lasts as long as its source: where the service ends a recognition by itself, its `final` is emitted and the next recognition
 * begins with the next sound (`continuous`). So there may be several finals a channel, and completion is the end.
 * Complete: the audio is flushed and the final awaited, then completion; `finalize-timeout` when it does not come.
 * `stop$`: pending audio and results are dropped. Unsubscribe: the socket is closed at once. Error: one
 * `SpeechError`, after everything that had arrived before it. A second subscription is a second session.
 *
 * @throws SpeechError `invalid-options` or `invalid-format`, when called, for options that cannot be right.
 * @example
 * audio$
 *   .pipe(recognize({ url: 'wss://speech.example.com', model: 'transcribe', token, format }), accumulateMilestones())
 *   .subscribe(({ text }) => console.log(text))
 */
export const recognize = (options: RecognizeOptions): Recognition => {
  checkProxy(options.proxy)
  return recognizeOn(platform, options)
}
