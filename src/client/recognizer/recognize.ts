import type { Slots } from '../../protocol/session-event.js'
import { checkProxy } from '../../proxy/proxy.js'
import { traceparentHeader } from '../../tracing/traceparent.js'
import { dialWebSocket } from '../../transport/websocket/client.js'
import { openSession, type Recognition, type RecognizeChannel } from '../session.js'
import { atEachUrl, type WithUrls } from '../failover/failover.js'
import { sessionParts } from '../session-parts.js'
import { recognizeOn, type RecognizeOptions, type RecognizeParts, type RecognizePlatform } from './recognize-on.js'
import { presentToken } from './present-token.js'
import { RecognizerProtocol } from './protocol.js'
import { recognizeStereo } from './recognize-stereo.js'
import { traceable } from '../traced-session.js'
import { recognizeRequestOf } from './request.js'

const parts: RecognizeParts = {
  dialSocket: dialWebSocket,
  presentToken,
  recognizeRequestOf,
  RecognizerProtocol,
  sessionParts,
}

/** The platform whose connections send a `traceparent`. */
const platformWith = (traceparent: string | undefined): RecognizePlatform => {
  if (traceparent === undefined) return platform
  const dialSocket: RecognizeParts['dialSocket'] = (options) =>
    dialWebSocket({ ...options, headers: { ...options.headers, [traceparentHeader]: traceparent } })
  return { ...platform, loadParts: () => ({ ...parts, dialSocket }) }
}

const platform: RecognizePlatform = {
  loadParts: () => parts,
  recognizeStereo: (format, planOf) => {
    const { scheduler } = planOf(0).settings
    const stereoOf = (channelOf: RecognizeChannel): Recognition => recognizeStereo(format, channelOf, scheduler)
    const recognizeChannel: RecognizeChannel = (source, channel, abort$) => openSession(planOf(channel, abort$), source)
    return Object.assign(stereoOf(recognizeChannel), { planOf, stereoOf })
  },
}

/**
 * Streaming recognition over a WebSocket (PROTOCOL 4). A socket carries one channel of PCM: G.711 is decoded before it is
 * sent, and stereo runs as two recognitions, one per channel, each on its own socket.
 *
 * Each subscription runs one session, which subscribes to the source once, immediately. An iterable or a stream is pulled as
 * fast as the service accepts its audio. A session that did not connect has read nothing of it, so that the next one within a
 * minute has all of the audio, for example by `retry`; one that was read before is the error `already-started`.
 *
 * The session lasts as long as its source: when the service ends a recognition by itself, the session emits its `final` and
 * starts the next recognition with the next sound (`continuous`). So a channel can have several finals; only completion is
 * the end.
 *
 * When the source completes, the session sends the buffered audio, waits for the final and completes; without a final in
 * time it fails with `finalize-timeout`. `stop$` drops pending audio and results. Unsubscribing closes the socket at once.
 * An error is one `SpeechError`, after all events that arrived before it.
 *
 * Several addresses (`url: [first, second]`) are those of services that take the same options, as with `failover`.
 *
 * @throws SpeechError `invalid-options` or `invalid-format`, when called with invalid options.
 * @example
 * audio$
 *   .pipe(recognize({ url: 'wss://speech.example.com', model: 'transcribe', token, format }), accumulateMilestones())
 *   .subscribe(({ text }) => console.log(text))
 */
export const recognize = <S extends Slots = Slots>(options: WithUrls<RecognizeOptions>): Recognition<S> =>
  atEachUrl(options, recognizeAt) as Recognition<S>

const recognizeAt = (given: RecognizeOptions): Recognition =>
  traceable(given, (options, traceparent) => {
    const recognition = recognizeOn(platformWith(traceparent), options)
    checkProxy(options.proxy)
    return recognition
  })
