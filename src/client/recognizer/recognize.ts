import type { Slots } from '../../protocol/session-event.js'
import { checkProxy } from '../../proxy/proxy.js'
import { traceparentHeader } from '../../tracing/traceparent.js'
import { dialWebSocket } from '../../transport/websocket/client.js'
import type { WebSocketDialOptions } from '../../transport/websocket/dial.js'
import type { PlannedRecognition } from '../session.js'
import { withoutTracing } from '../recognition.js'
import { recognizeOn, type RecognizeOptions } from './recognize-on.js'

/**
 * Streaming recognition over a WebSocket (PROTOCOL 4). A socket carries one channel of PCM: G.711 is decoded before it
 * is sent, and stereo runs as two recognitions, one per channel, each on its own socket.
 *
 * Each subscription runs one session, which subscribes to the source once, immediately. An iterable or a stream is
 * pulled as fast as the service accepts its audio. The session lasts as long as its source: when the service ends a
 * recognition by itself, the session emits its `final` and starts the next recognition with the next sound
 * (`continuous`). So a channel can have several finals; only completion is the end.
 *
 * When the source completes, the session sends the buffered audio, waits for the final and completes; without a final
 * in time it fails with `finalize-timeout`. `stop$` drops pending audio and results. Unsubscribing closes the socket at
 * once. An error is one `SpeechError`, after all events that arrived before it.
 *
 * @throws SpeechError `invalid-options` or `invalid-format`, when called with invalid options.
 * @example
 * audio$
 *   .pipe(recognize({ url: 'wss://speech.example.com', model: 'transcribe', token, format }), transcript())
 *   .subscribe(({ text }) => console.log(text))
 */
export const recognize = <S extends Slots = Slots>(given: RecognizeOptions): PlannedRecognition<S> => {
  const { options, openTelemetry } = withoutTracing(given)
  const recognition = recognizeOn(dialTraced, options, openTelemetry)
  checkProxy(options.connection?.proxy, 'connection.proxy')
  return recognition as PlannedRecognition<S>
}

const dialTraced = (options: WebSocketDialOptions, traceparent: string | undefined) =>
  dialWebSocket(
    traceparent === undefined
      ? options
      : { ...options, headers: { ...options.headers, [traceparentHeader]: traceparent } },
  )
