import { dialBrowserSocket } from '../transport/browser-websocket.js'
import { recognizeBy, type RecognizeOptions, type Recognition } from './recognize.js'

/** `recognize` of a browser, which has a WebSocket of its own and needs nothing of Node. */
export const recognizeInBrowser = (options: RecognizeOptions): Recognition => recognizeBy(dialBrowserSocket, options)
