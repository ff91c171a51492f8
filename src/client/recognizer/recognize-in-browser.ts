import type { Slots } from '../../protocol/session-event.js'
import { dialBrowserSocket } from '../../transport/websocket/browser-client.js'
import type { PlannedRecognition } from '../session.js'
import { recognizeOn, type RecognizeOptions } from './recognize-on.js'

/** `recognize` with the WebSocket of a browser, which sends no header, so that its sessions cannot be traced. */
export const recognize = <S extends Slots = Slots>(options: RecognizeOptions): PlannedRecognition<S> =>
  recognizeOn(dialBrowserSocket, options) as PlannedRecognition<S>
