import type { Slots } from '../../protocol/session-event.js'
import { dialBrowserSocket } from '../../transport/websocket/browser-client.js'
import { atEachUrl, type WithUrls } from '../failover/failover.js'
import type { PlannedRecognition } from '../session.js'
import { recognizeOn, type RecognizeOptions } from './recognize-on.js'

/** `recognize` with the WebSocket of a browser, which sends no header, so that its sessions cannot be traced. */
export const recognize = <S extends Slots = Slots>(options: WithUrls<RecognizeOptions>): PlannedRecognition<S> =>
  atEachUrl(options, (given) => recognizeOn(dialBrowserSocket, given)) as PlannedRecognition<S>
