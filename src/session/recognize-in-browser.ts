import { dialBrowserSocket } from '../transport/websocket/browser-websocket.js'
import { recognizeBy, type Recognition, type RecognizeOptions } from './recognize-by.js'

/**
 * `recognize` of a browser: over its own WebSocket, and of one channel, for a page has one microphone; stereo is refused
 * with `invalid-format`.
 */
export const recognizeInBrowser = (options: RecognizeOptions): Recognition =>
  recognizeBy({ dialSocket: dialBrowserSocket }, options)
